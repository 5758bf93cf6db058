"""Wrong answers whose mistake has a spelling in its lesson's module already: in these words it replies otherwise."""

from tests.second_spellings import lesson_06, lesson_07, lesson_08, lesson_09

SPELLINGS = {
    "MultiHeadAttention": {
        "softmax-over-heads": lesson_06.HeadsCompeteByHand,
    },
    "scaled_dot_product_attention": {
        "overflows": lesson_07.plain_exponentials,
        "not-negative-enough": lesson_07.minus_ten,
    },
    "hides_the_future": {
        "one-beginning": lesson_07.cut_off_the_last_token,
    },
    "layer_norm": {
        "fixed-eps": lesson_08.some_other_eps,
    },
    "FeedForward": {
        "gelu": lesson_08.GeluByTanh,
        "leaky-relu": lesson_08.LeakyWithAnotherSlope,
    },
    "sinusoidal_positions": {
        "fixed-width": lesson_09.as_wide_as_my_model,
    },
}
