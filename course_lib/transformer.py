"""The Transformer: its layers, built from attention and the wires between."""

from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.wires import FeedForward


class EncoderLayer(nn.Module):
    """One block of the encoder: every token looks around, then thinks for itself.

    d_model:   width of inputs and outputs
    num_heads: heads of the self-attention
    d_ff:      width of the hidden layer of the feed-forward network
    dropout:   share of numbers set to zero while training: after each sublayer, and inside the feed-forward network

    Vaswani et al. 2017, arXiv:1706.03762, section 3.1, "Encoder" ("post-norm"), and section 5.4 for dropout.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        """Self-attention, then feed-forward; each with skip connection, dropout and layer norm.

        x:       (B, T, d_model)
        mask:    bool (T, T), (B, T, T) or (B, 1, T); True = may attend; None where all may
        returns: (B, T, d_model)
        """
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))  # (B, T, d_model)
        return self.norm2(x + self.dropout(self.ff(x)))  # (B, T, d_model)
