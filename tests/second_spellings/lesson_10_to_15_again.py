"""Mistakes of lessons 10 to 15 in yet other words, where the modules of those lessons have one spelling already."""

from tests.second_spellings import lesson_10, lesson_11, lesson_12, lesson_13, lesson_14, lesson_15

SPELLINGS = {
    "EncoderLayer": {
        "feed-forward-first": lesson_10.ThinksBeforeLooking,
        "side-by-side": lesson_10.ParallelUnderOneNorm,
        "no-feed-forward": lesson_10.StopsAfterAttentionWithTheLastNorm,
    },
    "DecoderLayer": {
        "pre-norm": lesson_11.NormFirstWithNormedMemory,
        "no-cross-attention": lesson_11.WithoutCrossAttention,
        "feed-forward-between": lesson_11.ThinksBetweenWithItsNorm,
    },
    "Transformer": {
        "last-place-only": lesson_11.LastWordWithItsAxis,
    },
    "beam_search": {
        "mean-of-log-probabilities": lesson_11.normalised_by_length,
    },
    "is_token_mean": {
        "nothing-is-padding": lesson_11.nothing_padded_and_pad_4,
    },
    "shift_labels": {
        "shifted-by-two": lesson_12.shift_by_two_at_one_end,
        "adds-one": lesson_12.shift_adds_one_everywhere,
        "only-the-last": lesson_12.shift_only_the_last_as_a_number,
        "stacked": lesson_12.shift_stacked_in_pairs,
    },
    "bigram_probs": {
        "transposed": lesson_12.probs_transposed_in_the_end,
        "columns-sum-to-one": lesson_12.probs_columns_by_hand,
    },
    "BigramLM": {
        "zero-for-none": lesson_12.BigramNumberZeroForNone,
        "one-loss-a-place": lesson_12.BigramOneLossAToken,
    },
    "get_batch": {
        "start-beyond-the-last": lesson_12.batch_indexed_beyond_the_last,
        "start-anywhere": lesson_12.batch_indexed_anywhere,
        "one-target-a-piece": lesson_12.batch_one_target_in_a_column,
        "range-is-one-short": lesson_12.batch_first_start_never,
    },
    "patchify": {
        "square-pictures-only": lesson_13.patches_of_a_square_in_the_corner,
    },
    "PatchEmbedding": {
        "class-token-added": lesson_13.ClassTokenAddedBesideFirstPositions,
    },
    "ViT": {
        "a-norm-before-the-head": lesson_13.LastNormOnceMore,
    },
    "convolution_pattern": {
        "goes-round": lesson_14.convolution_rolled_round,
    },
    "message_passing": {
        "largest-message": lesson_14.graph_largest_message_or_zero,
    },
    "attention_on_graph": {
        "scores-of-zero": lesson_14.nodes_with_scores_of_zero_but_for_the_lonely,
        "nothing-left-for-neighbours": lesson_14.nodes_with_a_mask_low_twice,
    },
    "mean_pool": {
        "mask-inverted": lesson_15.pool_the_padding_or_nothing,
        "maximum": lesson_15.pool_by_maximum_or_zero,
        "first-token": lesson_15.pool_the_first_token_as_it_is,
    },
    "rms_norm": {
        "by-the-deviation": lesson_15.rms_by_torch_s_deviation,
    },
    "apply_rope": {
        "degrees": lesson_15.rope_made_degrees,
        "waves-added": lesson_15.rope_adds_waves_in_halves,
    },
    "SwiGLU": {
        "gelu-gate": lesson_15.GELUGateByTanh,
    },
    "grouped_query_attention": {
        "does-not-see-itself": lesson_15.groups_do_not_see_themselves_by_a_low_mask,
    },
}
