"""The Transformer: its layers, built from attention and what connects it."""

from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.fused import CausalAttention
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask, padding_mask_from_ids
from course_lib.positions import cached_positions, sinusoidal_positions


class EncoderLayer(nn.Module):
    """One block of the encoder: every token looks around, then thinks for itself.

    d_model:   width of inputs and outputs
    num_heads: heads of the self-attention
    d_ff:      width of the hidden layer of the feed-forward network
    dropout:   dropout probability: after each sublayer, and in the feed-forward network

    Vaswani et al. 2017, arXiv:1706.03762, section 3.1, "Encoder" ("post-norm"),
    and section 5.4 for dropout.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        """Self-attention, then feed-forward; each with skip, dropout and layer norm.

        x:       (B, T, d_model)
        mask:    bool (T, T), (B, T, T) or (B, 1, T); True = may attend;
                 None where all may
        returns: (B, T, d_model)
        """
        # Every x is (B, T, d_model)
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.ff(x)))


class DecoderLayer(nn.Module):
    """One block of the decoder: a token looks back, then at the source, then thinks.

    d_model:   width of inputs and outputs
    num_heads: heads of each of the two attentions
    d_ff:      width of the hidden layer of the feed-forward network
    dropout:   dropout probability: after each sublayer, and in the feed-forward network

    Vaswani et al. 2017, arXiv:1706.03762, section 3.1, "Decoder" ("post-norm"),
    and section 5.4 for dropout.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        """Self-attention, cross-attention, feed-forward; each with skip, dropout, norm.

        x:           (B, Tt, d_model)  what is written
        memory:      (B, Ts, d_model)  what the encoder made of the source:
                                       keys and values of the cross-attention
        tgt_mask:    bool (Tt, Tt), (B, Tt, Tt) or (B, 1, Tt), for the self-attention;
                     True = may attend
        memory_mask: bool (Tt, Ts), (B, Tt, Ts) or (B, 1, Ts), for the cross-attention;
                     True = may attend
        returns:     (B, Tt, d_model)
        """
        # Every x is (B, Tt, d_model)
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(
            x + self.dropout(self.cross_attn(x, memory, memory, memory_mask))
        )
        return self.norm3(x + self.dropout(self.ff(x)))


class Transformer(nn.Module):
    """The whole Transformer of 2017: reads a source and predicts a target step by step.

    src_vocab:  number of different source tokens
    tgt_vocab:  number of different target tokens
    d_model:    width between the layers, even
    num_heads:  heads of each attention
    d_ff:       width of the hidden layer of the feed-forward networks
    num_layers: number of encoder layers, and of decoder layers
    dropout:    dropout probability
    pad_id:     the token that only fills up, in source and target

    Vaswani et al. 2017, arXiv:1706.03762, figure 1 and section 3;
    without its weight tying (section 3.4).
    """

    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        d_model,
        num_heads,
        d_ff,
        num_layers,
        dropout=0.0,
        pad_id=0,
    ):
        super().__init__()
        self.d_model = d_model
        self.pad_id = pad_id
        self.src_embed = nn.Embedding(src_vocab, d_model)
        self.tgt_embed = nn.Embedding(tgt_vocab, d_model)
        self.encoder = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.out = nn.Linear(d_model, tgt_vocab)
        self.dropout = nn.Dropout(dropout)

    def embed(self, ids, table):
        """Token numbers to vectors that also say where they stand.

        ids:     (B, T) integers
        table:   src_embed or tgt_embed
        returns: (B, T, d_model)  dropout(table(ids) * sqrt(d_model)
                                  + sinusoidal positions), for any length T
        """
        x = table(ids) * self.d_model**0.5  # (B, T, d_model)
        return self.dropout(x + sinusoidal_positions(ids.shape[1], self.d_model).to(x))

    def forward(self, src, tgt):
        """Encode the source, decode the target beside it.

        src:     (B, Ts) integers; padding is masked wherever the source is read
        tgt:     (B, Tt) integers, the decoder's input; a position sees itself
                 and earlier ones that are not padding
        returns: (B, Tt, tgt_vocab)  logits of the next token at every position
        """
        src_mask = padding_mask_from_ids(src, self.pad_id)  # (B, 1, Ts)
        tgt_mask = (
            padding_mask_from_ids(tgt, self.pad_id)
            & causal_mask(tgt.shape[1]).to(tgt.device)
        )  # (B, Tt, Tt)
        memory = self.embed(src, self.src_embed)  # (B, Ts, d_model)
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        x = self.embed(tgt, self.tgt_embed)  # (B, Tt, d_model)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask, src_mask)
        return self.out(x)  # (B, Tt, tgt_vocab)


class LongTransformer(Transformer):
    """The same Transformer for long sequences: it keeps no matrix of T times T.

    With the same weights it gives the same logits. Only positions that may see nothing
    but padding differ: what stands there has no meaning in either.
    """

    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        d_model,
        num_heads,
        d_ff,
        num_layers,
        dropout=0.0,
        pad_id=0,
    ):
        super().__init__(
            src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, dropout, pad_id
        )
        for layer in self.decoder:
            layer.self_attn = CausalAttention(d_model, num_heads)

    def embed(self, ids, table):
        """As in Transformer; the positions are kept from call to call."""
        x = table(ids) * self.d_model**0.5  # (B, T, d_model)
        positions = cached_positions(ids.shape[1], self.d_model, x.dtype, x.device)
        return self.dropout(x + positions)

    # Transformer.forward over again but for its masks: that one is an exercise, which a
    # learner writes in one piece.
    def forward(self, src, tgt):
        """As in Transformer; the decoder looks back by itself, masking only padding.

        src:     (B, Ts) integers
        tgt:     (B, Tt) integers
        returns: (B, Tt, tgt_vocab)
        """
        src_mask = padding_mask_from_ids(src, self.pad_id)  # (B, 1, Ts)
        tgt_mask = padding_mask_from_ids(tgt, self.pad_id)  # (B, 1, Tt)
        memory = self.embed(src, self.src_embed)  # (B, Ts, d_model)
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        x = self.embed(tgt, self.tgt_embed)  # (B, Tt, d_model)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask, src_mask)
        return self.out(x)  # (B, Tt, tgt_vocab)
