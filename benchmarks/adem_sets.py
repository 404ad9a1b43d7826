"""Judged sets and encoders of the ADEM study; every text is encoded once and its vectors kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rejoinder.encoders.sentence_encoders import sentence_encoder
from rejoinder.encoders.stored_vectors import StoredVectors, Text
from rejoinder.errors import RejoinderError
from rejoinder.meta.experiments.partition import context_groups
from rejoinder.meta.judged import JudgedSet, read_judged
from rejoinder.types import Example

SETS = {"zhao2020_dailydialog": "overall", "zhao2020_personachat": "overall", "humod": "relevance"}
"""Set -> the dimension that is learned."""
TRAINED = ("vhred", "hred", "tweet2vec")
"""Encoders that are looked for in the folder of the study."""


def read_sets(data: Path, names: Sequence[str], most_contexts: int | None) -> dict[str, JudgedSet]:
    """The sets, of the large one perhaps some contexts only; a system is known by its model, not by its decoding."""
    sets = {}
    for name in names:
        judged = read_judged(data / "judged" / f"{name}.jsonl.gz")
        if most_contexts is not None:
            groups = context_groups(judged.examples)
            chosen = np.random.default_rng(0).permutation(np.unique(groups))[:most_contexts]
            judged = judged.take(np.flatnonzero(np.isin(groups, chosen)))
        examples = tuple(replace(example, system=example.system.split()[0]) for example in judged.examples)
        sets[name] = replace(judged, name=name, examples=examples)
    return sets


def stored_encoders(models: Path, sets: dict[str, JudgedSet], only: Sequence[str] | None = None) -> dict[str, str]:
    """Encoder -> the folder of its vectors of all texts; what is there already is not encoded again."""
    folder = models / "adem"
    origins = {name: folder / name for name in TRAINED if (folder / name).is_dir()}
    if (models / "minilm").is_dir():
        origins["minilm"] = models / "minilm"
    if only is not None:
        origins = {name: origin for name, origin in origins.items() if name in only}
    if not origins:
        raise RejoinderError(f"{folder} holds no encoder: expected one of {', '.join(TRAINED)}, or minilm beside it")
    (folder / "vectors").mkdir(parents=True, exist_ok=True)
    wanted = dict.fromkeys(text for judged in sets.values() for example in judged.examples for text in texts(example))
    return {name: _stored(origin, folder / "vectors" / name, list(wanted)) for name, origin in origins.items()}


def unseen(judged: JudgedSet, encoders: Mapping[str, str]) -> JudgedSet:
    """The set without replies to a context that any of the encoders was trained on."""
    seen = np.zeros(len(judged), np.bool_)
    for folder in encoders.values():
        seen |= sentence_encoder(folder).trained_contexts.holds(judged.examples)
    groups = context_groups(judged.examples)
    return judged.take(np.flatnonzero(~np.isin(groups, groups[seen])))


def texts(example: Example) -> Iterator[Text]:
    """All that an evaluator may ask the vector of."""
    yield example.response
    yield from example.references
    yield example.context[0] if len(example.context) == 1 else example.context


def _stored(origin: Path, folder: Path, wanted: list[Text]) -> str:
    encoder = sentence_encoder(str(origin))
    known: dict[Text, np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = {}
    if folder.is_dir():
        before = StoredVectors.load(folder)
        if before.signature == encoder.signature:
            kept = [text for text, held in zip(wanted, _held(before, wanted), strict=True) if held]
            known = dict(zip(kept, before.encode(kept), strict=True))
    missing = [text for text in wanted if text not in known]
    if missing:
        print(f"{origin.name}: {len(missing)} texts to encode", flush=True)
        known |= zip(missing, encoder.encode(missing), strict=True)
        StoredVectors.of(known, encoder.signature, encoder.trained_contexts).save(folder)
    return str(folder)


def _held(stored: StoredVectors, wanted: Sequence[Text]) -> list[bool]:
    return [text in stored for text in wanted]
