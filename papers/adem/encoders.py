"""The encoders of the ADEM page: every text is encoded once, and its vector cached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from papers.inputs import MINILM, PRETRAINED, Inputs
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.models.sentence_encoders import StoredVectors, Text, sentence_encoder
from rejoinder.trusting.experiments import groups_within_set
from rejoinder.types import Example

TRAINED = ("vhred", "hred", "tweet2vec")
"""Encoders that are looked for in the folder `adem` of the models."""
ENCODERS = (*TRAINED, MINILM)
CHUNK = 2_000
"""Texts that are encoded before their vectors are saved: an interrupted run resumes after the last of these."""


def encoder_folders(inputs: Inputs, only: Sequence[str] = ()) -> dict[str, Path]:
    """Encoder -> its folder: of all encoders that exist, or of those named, which must exist."""
    for name in only:
        if name not in ENCODERS:
            raise UnknownNameError("encoder", name, ENCODERS)
    folders = {name: f"adem/{name}" for name in TRAINED} | {MINILM: MINILM}
    if only:
        return {name: inputs.model(folder) for name, folder in folders.items() if name in only}
    found = {name: path for name, folder in folders.items() if (path := inputs.models / folder).is_dir()}
    if not found:
        wanted = ", ".join(folders.values())
        raise CallError(
            f"{inputs.models} has no encoder: expected one of {wanted}; save {PRETRAINED[MINILM]} as {MINILM}, or "
            "name another folder with --models"
        )
    return found


def stored_encoders(inputs: Inputs, sets: Iterable[JudgedSet], only: Sequence[str] = ()) -> dict[str, str]:
    """Encoder -> the folder with its vectors of all texts; texts found there are not encoded again."""
    folders = encoder_folders(inputs, only)
    wanted = list(dict.fromkeys(text for judged in sets for each in judged.examples for text in texts(each)))
    return {name: _stored(inputs, name, path, wanted) for name, path in folders.items()}


def unseen(judged: JudgedSet, encoders: Mapping[str, str]) -> JudgedSet:
    """The set without replies to a context that any of the encoders was trained on."""
    seen = np.zeros(len(judged), np.bool_)
    for folder in encoders.values():
        seen |= sentence_encoder(folder).trained_contexts.holds(judged.examples)
    groups = groups_within_set(judged.examples)
    return judged.take(np.flatnonzero(~np.isin(groups, groups[seen])))


def texts(example: Example) -> Iterator[Text]:
    """All texts whose vector an evaluator may ask for."""
    yield example.response
    yield from example.references
    yield example.context[0] if len(example.context) == 1 else example.context


def _stored(inputs: Inputs, name: str, origin: Path, wanted: Sequence[Text]) -> str:
    """The folder with the vectors of these texts; missing ones are encoded, and saved chunk by chunk."""
    folder, encoder = inputs.cache.vectors(name), sentence_encoder(str(origin))
    stored = StoredVectors.load(folder) if folder.is_dir() else None
    if stored is not None and stored.signature != encoder.signature:
        stored = None
    missing = [text for text in wanted if stored is None or text not in stored]
    for start in range(0, len(missing), CHUNK):
        inputs.say(f"{name}: {start} of {len(missing)} texts encoded")
        chunk = missing[start : start + CHUNK]
        vector_of = dict(zip(chunk, encoder.encode(chunk), strict=True))
        fresh = StoredVectors.of(vector_of, encoder.signature, encoder.trained_contexts)
        stored = fresh if stored is None else _joined(stored, fresh)
        stored.save(folder)
    return str(folder)


def _joined(before: StoredVectors, fresh: StoredVectors) -> StoredVectors:
    """The vectors of both."""
    keys = np.concatenate([before.keys, fresh.keys])
    order = np.argsort(keys)
    vectors = np.concatenate([before.vectors, fresh.vectors])[order]
    return StoredVectors(keys[order], vectors, fresh.signature, fresh.trained_contexts)
