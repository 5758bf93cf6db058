"""The wires around attention: embedding, layer norm, feed-forward, skip connections.

The first makes vectors of token numbers. Each of the others keeps the shape of what
goes through it, so that they can be joined in any order and stacked to any depth.
"""

from torch import nn


def embed_tokens(ids, table):
    """Give each token its vector: its number says in which row of a table it stands.

    ids:     (B, T)     token numbers from 0 to V - 1, int32 or int64
    table:   (V, D)     one vector for each word of the vocabulary
    returns: (B, T, D)  entry [b, t] is row ids[b, t] of the table; the gradient of
                        a row is the sum over all places where its token stands

    Bengio, Ducharme, Vincent and Jauvin 2003, "A neural probabilistic language model",
    JMLR 3, section 2.
    """
    return table[ids]  # (B, T, D)


def layer_norm(x, gamma, beta, eps=1e-5):
    """Bring each position to mean 0 and variance 1, then stretch and shift as learned.

    x:       (..., D)  each position is normalised by itself, over its own D numbers
    gamma:   (D,)      learned gain, one per channel
    beta:    (D,)      learned offset, one per channel
    eps:     float     added to the variance, so that a position whose numbers are
                       all equal stays finite
    returns: (..., D)  (x - mean) / sqrt(var + eps) * gamma + beta;
                       var is the mean squared deviation (divided by D)

    Ba, Kiros and Hinton 2016, arXiv:1607.06450, equations 3 and 4.
    """
    centred = x - x.mean(dim=-1, keepdim=True)  # (..., D)
    variance = (centred**2).mean(dim=-1, keepdim=True)  # (..., 1)
    return centred / (variance + eps) ** 0.5 * gamma + beta  # (..., D)


class FeedForward(nn.Module):
    """Let every position think for itself: a wider layer, a nonlinearity, and back.

    d_model: width of inputs and outputs
    d_ff:    width of the hidden layer, four times d_model in the paper
    dropout: dropout probability of the hidden numbers

    Vaswani et al. 2017, arXiv:1706.03762, section 3.3, equation 2;
    dropout inside it as in torch's own layers.
    """

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        """Linear, ReLU, dropout, linear; the same weights at every position.

        x:       (..., d_model)
        returns: (..., d_model)  max(0, x W_1 + b_1) W_2 + b_2
        """
        hidden = self.linear1(x).relu()  # (..., d_ff)
        return self.linear2(self.dropout(hidden))  # (..., d_model)


class SublayerConnection(nn.Module):
    """Add and norm: carry x around a sublayer, add what it says, and normalise the sum.

    d_model: width
    dropout: dropout probability of the sublayer's output

    Vaswani et al. 2017, arXiv:1706.03762, sections 3.1 and 5.4 ("post-norm").
    """

    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        """Skip connection, then layer norm.

        x:        (..., d_model)
        sublayer: callable, (..., d_model) -> (..., d_model); it is called once, with x
        returns:  (..., d_model)  LayerNorm(x + Dropout(sublayer(x)))
        """
        return self.norm(x + self.dropout(sublayer(x)))  # (..., d_model)
