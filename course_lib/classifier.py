"""A classifier of texts: the encoder, one vector out of many, and a linear head."""

import torch
from torch import nn

from course_lib.masks import padding_mask_from_ids
from course_lib.positions import sinusoidal_positions
from course_lib.transformer import EncoderLayer


def max_over_real_tokens(x, mask):
    """Make one vector of a text: the largest value of each feature among its tokens.

    x:       (B, T, D)    one vector per token, finite, at padding as well
    mask:    (B, T) bool  True at real tokens, which may stand anywhere
    returns: (B, D)       for each text and feature the maximum over the real tokens;
                          zeros for a text that has none

    Collobert et al. 2011, arXiv:1103.0398, "max over time";
    Kim 2014, arXiv:1408.5882, section 2.
    """
    hidden = ~mask[..., None]  # (B, T, 1)
    largest = x.masked_fill(hidden, -torch.inf).amax(dim=1)  # (B, D)
    return largest.masked_fill(hidden.all(dim=1), 0.0)  # (B, D)


class EncoderClassifier(nn.Module):
    """Sort texts into classes: an encoder, the maximum over tokens, and a linear head.

    vocab_size:  number of different tokens, padding included
    d_model:     width between the layers, even
    num_heads:   heads of each attention
    d_ff:        width of the hidden layer of the feed-forward networks
    num_layers:  number of encoder layers
    num_classes: number of logits
    dropout:     dropout probability: after embedding and positions, and in the layers
    pad_id:      the token that only fills up, on the right of a text

    Vaswani et al. 2017, arXiv:1706.03762, figure 1, left half,
    and sections 3.4 and 3.5.
    """

    def __init__(
        self,
        vocab_size,
        d_model,
        num_heads,
        d_ff,
        num_layers,
        num_classes,
        dropout=0.0,
        pad_id=0,
    ):
        super().__init__()
        self.pad_id = pad_id
        self.embed = nn.Embedding(vocab_size, d_model)
        # Times √d_model, the vectors are as large as the positions.
        nn.init.normal_(self.embed.weight, std=d_model**-0.5)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, ids):
        """Embed, add positions, let tokens read each other, take the maximum, classify.

        ids:     (B, T) integers, for any length T; padding never changes the logits
        returns: (B, num_classes) logits: head(maximum over the real tokens of what the
                 last layer returns), where the first layer reads
                 dropout(embed(ids) * sqrt(d_model) + sinusoidal positions);
                 for a text of padding alone, finite numbers without meaning
        """
        mask = padding_mask_from_ids(ids, self.pad_id)  # (B, 1, T)
        x = self.embed(ids)  # (B, T, d_model)
        x = x * x.shape[-1] ** 0.5 + sinusoidal_positions(*x.shape[1:]).to(x)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, mask)  # (B, T, d_model)
        return self.head(max_over_real_tokens(x, mask[:, 0]))  # (B, num_classes)
