"""Real weights in the course's own layers, against the software they were made for.

Nothing is downloaded here: an asset that is not in the cache skips its tests.
"""

import pytest
import torch

from course_lib.attention import MultiHeadAttention
from course_lib.data import Missing, fetch
from course_lib.pretrained import minilm, reactions, smollm2, vit
from course_lib.shipped import ShippedError, photographs
from course_lib.transformer import EncoderLayer
from course_lib.vision import PatchEmbedding


def here(name):
    """The path of an asset, where it has been fetched before."""
    try:
        return fetch(name, download=False)
    except Missing as missing:
        pytest.skip(str(missing))


def test_the_reference_is_whole():
    """Vectors of another width, or ids without the two marks around a sentence."""
    rows = minilm.reference()
    assert len(rows) == 3
    for row in rows:
        assert row["first"].shape == row["last"].shape == (384,)
        assert row["ids"][0] == 101 and row["ids"][-1] == 102


def test_minilm_gives_the_reference_vectors():
    """Two matrices exchanged, ReLU for GELU, or another eps."""
    here("minilm")
    model = minilm.load()
    for row in minilm.reference():
        with torch.no_grad():
            hidden = model(torch.tensor([row["ids"]]))[0]
        assert torch.allclose(hidden[0], row["first"], atol=1e-5)
        assert torch.allclose(hidden[-1], row["last"], atol=1e-5)


def test_minilm_knows_which_sentences_are_alike():
    """Padding that is counted in the mean, or vectors in another order than the texts."""
    here("minilm")
    tokenizer, model = minilm.load_tokenizer(), minilm.load()
    assert [tokenizer.encode(row["sentence"]).ids for row in minilm.reference()] == \
        [row["ids"] for row in minilm.reference()]
    texts = [row["sentence"] for row in minilm.reference()]
    vectors = minilm.sentence_vectors(model, tokenizer, texts)
    alone = torch.cat([minilm.sentence_vectors(model, tokenizer, [text]) for text in texts])
    assert torch.allclose(vectors, alone, atol=1e-5)
    alike = vectors @ vectors.T
    assert alike[0, 1] > 0.5 and alike[0, 2] < 0.2 and alike[1, 2] < 0.2


def test_what_stands_at_padding_does_not_move_a_text():
    """The padding trap, and a mask that is thought to be True on the left only."""
    hidden, mask = torch.randn(3, 5, 4), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]).bool()
    vectors = minilm.mean_pool(hidden, mask)
    assert torch.allclose(vectors, minilm.mean_pool(hidden + 9 * ~mask[..., None], mask), atol=1e-6)
    alone = [minilm.mean_pool(text[real][None], real[real][None])[0] for text, real in zip(hidden, mask, strict=True)]
    assert torch.allclose(vectors, torch.stack(alone), atol=1e-6)
    assert torch.allclose(vectors.norm(dim=-1), torch.ones(3), atol=1e-6)


def test_a_search_compares_directions():
    """A long vector that wins by its length, or an order turned round."""
    vectors = torch.tensor([[9.0, 0.0], [0.1, 0.2], [-1.0, -2.0], [1.0, 1.0]])
    assert minilm.cosine_search(torch.tensor([1.0, 2.0]), vectors, 4).tolist() == [1, 3, 0, 2]


def test_a_learners_own_pooling_is_used():
    """The course's pooling used in the place of theirs."""
    here("minilm")
    first = minilm.sentence_vectors(minilm.load(), minilm.load_tokenizer(), ["A cat sits on the mat."],
                                    pool=lambda hidden, mask: hidden[:, 0])
    assert torch.allclose(first[0], minilm.reference()[0]["first"], atol=1e-5)


def test_minilm_runs_on_a_learners_encoder_layer():
    """The course's layer used in the place of theirs."""
    ran = []

    class Own(EncoderLayer):
        def forward(self, x, mask=None):
            ran.append(x.shape)
            return super().forward(x, mask)

    minilm.MiniLM(Own)(torch.tensor([[101, 102]]))
    assert ran == [(1, 2, 384)] * 6


def test_the_reader_of_reactions_gives_the_reference_vectors():
    """A layer that is applied eleven times, or a norm that is left out."""
    model = reactions.load()
    for row in reactions.reference():
        assert reactions.numbers(reactions.tokens(row["reaction"]))[0].tolist() == row["ids"]
        with torch.no_grad():
            hidden = model(torch.tensor([row["ids"]]))[0]
        assert torch.allclose(hidden[0], row["first"], atol=1e-5)
        assert torch.allclose(hidden[-1], row["last"], atol=1e-5)


def test_the_reader_of_reactions_runs_on_a_learners_layer_and_does_not_read_padding():
    """The course's layer used in the place of theirs; a mask that does not arrive."""
    ran = []

    class Own(EncoderLayer):
        def forward(self, x, mask=None):
            ran.append(x.shape)
            return super().forward(x, mask)

    model, ids = reactions.load(Own), reactions.numbers(reactions.tokens("CCO"))
    with torch.no_grad():
        alone, real = model(ids), torch.tensor([[True] * 5 + [False] * 2])
        padded = model(torch.nn.functional.pad(ids, (0, 2)), real)[:, :5]
    assert ran == [(1, 5, 256)] * 12 + [(1, 7, 256)] * 12
    assert torch.allclose(alone, padded, atol=1e-4)


@pytest.mark.parametrize(("reaction", "says"), [
    ("hello", "'hello' is no reaction: 'hell' is no atom"), ("", "'nothing' is no atom"), ("CC?O>>", None),
    ("C" * 300, "has 300 tokens, and there is room for 254")])
def test_what_is_no_reaction_is_refused_in_a_line(reaction, says):
    """Signs that are dropped in silence, and a traceback for a position that is not in the table."""
    if says is None:
        assert reactions.tokens(reaction) == ["[CLS]", *reaction[:-2], ">>", "[SEP]"]
        return
    with pytest.raises(ShippedError) as error:
        reactions.tokens(reaction)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_names_that_do_not_fit_are_refused_in_a_line():
    """A dict in which one part is named twice, or a matrix of another shape."""
    twice = reactions.NAMES | {"self_attn.W_k": "attention.query"}
    other = reactions.NAMES | {"ff.linear1": "ffn_output", "ff.linear2": "ffn"}
    for names, says in ((twice, "each once"), (other, "do not fit: size mismatch for layer.ff")):
        with pytest.raises(ShippedError) as error:
            reactions.load(names=names)
        assert says in str(error.value) and "\n" not in str(error.value)


def test_the_vit_gives_what_onnxruntime_gives():
    """A matrix that was not transposed, positions resized otherwise, or a scale left out."""
    import onnx
    import onnxruntime

    path = here("vit")
    images = vit.prepare(photographs().values())
    with torch.no_grad():
        got = vit.load()(images)
    graph = onnx.load(path)
    end = "/backbone/layernorm/Add_1_output_0"
    graph.graph.output.append(onnx.helper.make_tensor_value_info(end, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run([end], {"input_image": images.numpy()})
    assert torch.allclose(got, torch.from_numpy(expected), atol=1e-4)


def test_the_vit_runs_on_a_learners_classes():
    """The course's own used in the place of theirs."""

    class Embedding(PatchEmbedding):
        pass

    class Attention(MultiHeadAttention):
        pass

    model = vit.PretrainedViT(Embedding, Attention)
    assert type(model.embed) is Embedding
    assert all(type(block.attention) is Attention for block in model.blocks)


def test_smollm2_gives_the_logits_of_transformers():
    """Rotary positions of another layout, or weights that were read wrongly."""
    transformers = pytest.importorskip("transformers", reason='pip install -e ".[compare]" brings it')
    path = here("smollm2")
    texts = ["The capital of France is", "Bats hang in caves: 1,234 of them!\n\n  def f(x): return x**2  # it's"]
    theirs = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    ours, tokenizer = smollm2.load(), smollm2.load_tokenizer()
    for text in texts:
        ids = tokenizer.encode(text).ids
        assert ids == their_tokenizer(text)["input_ids"]
        assert tokenizer.decode(ids) == text
        with torch.no_grad():
            got, expected = ours(torch.tensor([ids])), theirs.eval()(torch.tensor([ids])).logits
        assert torch.allclose(got, expected, atol=1e-3)


def test_smollm2_knows_the_capital_of_france():
    """Anything wrong at all."""
    here("smollm2")
    ids = smollm2.load_tokenizer().encode("The capital of France is").ids
    with torch.no_grad():
        p = smollm2.load()(torch.tensor([ids]))[0, -1].softmax(-1)
    assert smollm2.load_tokenizer().decode([p.argmax().item()]) == " Paris"
    assert p.max() > 0.7
