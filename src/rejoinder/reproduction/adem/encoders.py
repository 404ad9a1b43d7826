"""The encoders of the ADEM page: every text is encoded once, and its vector cached."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.encoders.sentence_encoders import sentence_encoder
from rejoinder.encoders.stored_vectors import StoredVectors, Text
from rejoinder.errors import CallError
from rejoinder.meta.experiments.partition import context_groups
from rejoinder.meta.judged import JudgedSet
from rejoinder.reproduction.inputs import Inputs
from rejoinder.types import Example

TRAINED = ("vhred", "hred", "tweet2vec")
"""Encoders that are looked for in the folder `adem` of the models."""
PRETRAINED = "minilm"


def stored_encoders(inputs: Inputs, sets: Iterable[JudgedSet], only: Sequence[str] = ()) -> dict[str, str]:
    """Encoder -> the folder with its vectors of all texts; texts found there are not encoded again."""
    folders = {name: inputs.models / "adem" / name for name in TRAINED} | {PRETRAINED: inputs.models / PRETRAINED}
    found = {name: path for name, path in folders.items() if path.is_dir() and (not only or name in only)}
    if not found:
        wanted = ", ".join(only or folders)
        raise CallError(f"{inputs.models} holds no encoder: expected adem/ with one of {wanted}, or {PRETRAINED}")
    wanted_texts = list(dict.fromkeys(text for judged in sets for each in judged.examples for text in texts(each)))
    return {name: _stored(path, inputs.cache.vectors(name), wanted_texts) for name, path in found.items()}


def unseen(judged: JudgedSet, encoders: Mapping[str, str]) -> JudgedSet:
    """The set without replies to a context that any of the encoders was trained on."""
    seen = np.zeros(len(judged), np.bool_)
    for folder in encoders.values():
        seen |= sentence_encoder(folder).trained_contexts.holds(judged.examples)
    groups = context_groups(judged.examples)
    return judged.take(np.flatnonzero(~np.isin(groups, groups[seen])))


def texts(example: Example) -> Iterator[Text]:
    """All texts whose vector an evaluator may ask for."""
    yield example.response
    yield from example.references
    yield example.context[0] if len(example.context) == 1 else example.context


def _stored(origin: Path, folder: Path, wanted: list[Text]) -> str:
    encoder = sentence_encoder(str(origin))
    known: dict[Text, Vectors] = {}
    if folder.is_dir():
        before = StoredVectors.load(folder)
        if before.signature == encoder.signature:
            kept = [text for text in wanted if text in before]
            known = dict(zip(kept, before.encode(kept), strict=True))
    missing = [text for text in wanted if text not in known]
    if missing:
        print(f"{origin.name}: {len(missing)} texts to encode", file=sys.stderr, flush=True)
        known |= zip(missing, encoder.encode(missing), strict=True)
        StoredVectors.of(known, encoder.signature, encoder.trained_contexts).save(folder)
    return str(folder)
