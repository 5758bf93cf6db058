"""Write what Hugging Face's programs make of a few texts with weights of lesson 15, which compares with it.

`python -m course_lib.staff.reference_vectors`, after `pip install -e ".[compare]"`.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load, load_file

from course_lib.data import fetch
from course_lib.pretrained import minilm, reactions
from course_lib.shipped.things import whole

FOLDER = Path(minilm.__file__).parent
SENTENCES = [
    "A cat sits on the mat.",
    "The kitten is lying on a rug.",
    "Stock prices fell sharply in September.",
]
REACTIONS = [
    "CC(=O)O.CCO>>CCOC(C)=O",
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
    "Brc1ccncc1.OB(O)c1ccccc1>>c1ccc(-c2ccncc2)cc1",
]


def of_minilm():
    """Each sentence with its token ids, and a model that reads them."""
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536))
    stored = load_file(fetch("minilm") / "model.safetensors")
    model.load_state_dict({name: value for name, value in stored.items() if name != "embeddings.position_ids"})
    tokenizer = minilm.load_tokenizer()
    return model, [{"sentence": text, "ids": tokenizer.encode(text).ids} for text in SENTENCES]


def of_reactions():
    """Each reaction with its token ids, and a model that reads them."""
    from transformers import AlbertConfig, AlbertModel

    model = AlbertModel(AlbertConfig(vocab_size=591, embedding_size=128, hidden_size=256, num_attention_heads=8,
                                     intermediate_size=512, hidden_act="gelu", max_position_embeddings=256),
                        add_pooling_layer=False)
    stored = load(whole(reactions.NAME))
    model.load_state_dict({name.removeprefix("albert."): value.float() for name, value in stored.items()
                           if name.startswith("albert.")})
    return model, [{"reaction": text, "ids": reactions.numbers(reactions.tokens(text))[0].tolist()}
                   for text in REACTIONS]


def main():
    """The vectors of the first and the last token of each text, after the last layer."""
    for name, (model, rows) in {"minilm": of_minilm(), "reactions": of_reactions()}.items():
        for row in rows:
            with torch.no_grad():
                hidden = model.eval()(torch.tensor([row["ids"]])).last_hidden_state[0]  # (T, D)
            row |= {end: [round(number, 6) for number in hidden[t].tolist()] for end, t in (("first", 0), ("last", -1))}
        (FOLDER / f"{name}_reference.json").write_text(json.dumps(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
