"""The course's models against Hugging Face's, with the same weights: code that we did not write.

`pip install -e ".[compare]"` installs what is needed; without it these tests are skipped.
"""

import pytest
import torch

from course_lib.language_model import LanguageModel
from course_lib.llama import Llama
from course_lib.staff.bench import others
from course_lib.staff.bench.contenders import Size
from course_lib.transformer import Transformer

transformers = pytest.importorskip("transformers", reason='pip install -e ".[compare]" brings what this compares with')


def shaken(model):
    """The model in eval mode, with every parameter off its usual start: gains of 1 and offsets of 0 hide mistakes."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator).to(parameter) * 0.1)
    return model.eval()


def test_the_transformer_is_marian():
    """A wrong place of a norm, an unscaled embedding, a mask of the wrong side: Marian is post-norm as in 2017."""
    ours = shaken(Transformer(13, 13, 16, 4, 24, 2))
    theirs = others.marian(ours, Size(16, 4, 24, 2, 13), 32).double().eval()
    ours.double()
    src, tgt = torch.tensor([[3, 5, 2, 9, 1], [7, 7, 1, 0, 0]]), torch.tensor([[1, 4, 12, 6], [1, 9, 0, 0]])
    with torch.no_grad():
        got = ours(src, tgt)
        expected = theirs(input_ids=src, attention_mask=(src != 0).long(), decoder_input_ids=tgt,
                          decoder_attention_mask=(tgt != 0).long(), use_cache=False).logits
    assert torch.allclose(got[tgt != 0], expected[tgt != 0], atol=1e-6), (got - expected).abs().max()


def test_the_language_model_is_gpt2_but_for_its_switch_and_its_positions():
    """Pre-norm in the wrong place, or a last norm forgotten."""
    ours = shaken(LanguageModel(11, 16, 4, 24, 2))
    theirs = others.gpt2(ours, Size(16, 4, 24, 2, 11), 32).double().eval()
    ours.double()
    ids = torch.tensor([[3, 5, 2, 9, 1, 4]])
    with torch.no_grad():
        got, expected = ours(ids), theirs(ids).logits + ours.out.bias
    assert torch.allclose(got, expected, atol=1e-6), (got - expected).abs().max()


def test_llama_is_llama():
    """Pairs turned the wrong way, key heads shared by the wrong queries, a gate that gates the wrong view."""
    ours = shaken(Llama(11, 24, 6, 2, 40, 2, base=500.0).double())
    config = transformers.LlamaConfig(
        vocab_size=11, hidden_size=24, num_attention_heads=6, num_key_value_heads=2, intermediate_size=40,
        num_hidden_layers=2, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    theirs = transformers.LlamaForCausalLM(config).double().eval()
    state = {"model.embed_tokens.weight": ours.embed.weight, "lm_head.weight": ours.embed.weight,
             "model.norm.weight": ours.norm}

    def halves(weight):
        """Their pairs are (i, i + d/2), ours (2i, 2i + 1): the rows of every head in their order."""
        return weight.unflatten(0, (-1, 2, 2)).transpose(1, 2).flatten(0, 2)

    for i, block in enumerate(ours.blocks):
        at = f"model.layers.{i}"
        state |= {f"{at}.input_layernorm.weight": block.norm1, f"{at}.post_attention_layernorm.weight": block.norm2,
                  f"{at}.self_attn.q_proj.weight": halves(block.W_q.weight),
                  f"{at}.self_attn.k_proj.weight": halves(block.W_k.weight),
                  f"{at}.self_attn.v_proj.weight": block.W_v.weight, f"{at}.self_attn.o_proj.weight": block.W_o.weight,
                  f"{at}.mlp.gate_proj.weight": block.ff.gate.weight, f"{at}.mlp.up_proj.weight": block.ff.up.weight,
                  f"{at}.mlp.down_proj.weight": block.ff.down.weight}
    theirs.load_state_dict(state)
    ids = torch.tensor([[3, 5, 2, 9, 1, 4, 7]])
    with torch.no_grad():
        got, expected = ours(ids), theirs(ids).logits
    assert torch.allclose(got, expected, atol=1e-6), (got - expected).abs().max()
