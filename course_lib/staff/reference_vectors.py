"""Write what Hugging Face's BERT makes of a few sentences with MiniLM's weights; lesson 15 compares with it.

`python -m course_lib.staff.reference_vectors`, after `pip install -e ".[compare]"`.
"""

import json
from pathlib import Path

import torch

from course_lib.data import fetch
from course_lib.pretrained.minilm import load_tokenizer

FILE = Path(__file__).parents[1] / "pretrained" / "minilm_reference.json"
SENTENCES = [
    "A cat sits on the mat.",
    "The kitten is lying on a rug.",
    "Stock prices fell sharply in September.",
]


def main():
    """Token ids of each sentence, and the vectors of its first and last token after the last layer."""
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536))
    stored = load_file(fetch("minilm") / "model.safetensors")
    model.load_state_dict({name: value for name, value in stored.items() if name != "embeddings.position_ids"})
    tokenizer, rows = load_tokenizer(), []
    for sentence in SENTENCES:
        ids = tokenizer.encode(sentence).ids
        with torch.no_grad():
            hidden = model.eval()(torch.tensor([ids])).last_hidden_state[0]  # (T, 384)
        vectors = [[round(number, 6) for number in hidden[t].tolist()] for t in (0, -1)]
        rows.append({"sentence": sentence, "ids": ids, "first": vectors[0], "last": vectors[1]})
    FILE.write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
