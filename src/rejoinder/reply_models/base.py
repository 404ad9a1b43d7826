"""What a reply model is: parameters that are chosen, fields that are learned from dialogues, and `reply`.

Parameters are ordinary fields of a frozen dataclass. What `fit` learns is declared as a field that the constructor
does not take, and ends in an underscore:

    @dataclass(frozen=True, kw_only=True)
    class Parrot(ReplyModel):
        name: ClassVar[str] = "parrot"
        about: ClassVar[str] = "says the commonest last turn of the dialogues it has seen"
        citation: ClassVar[str] = "-"
        last_: str = field(init=False, repr=False, compare=False)

        def learn(self, data: ReplyData) -> dict[str, Any]:
            return {"last_": max(...)}

        def answer(self, request: Request) -> list[str]:
            return [self.last_] * len(request.contexts)

A learned field that is an array or a plain value is saved without further ado; for others a model has its own
`save_learned(folder) -> plain values` and `load_learned(folder, plain) -> every learned field`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

from rejoinder._version import __version__
from rejoinder.arrays import Vectors
from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.digests import dialogues_digest, digest_of
from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, NeedsError
from rejoinder.learning.fitted import FittedOnDialogues
from rejoinder.learning.learned import CONTEXTS
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.saving import read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.reply_models.decoding import Decoding
from rejoinder.types import Dialogue, JudgedExample

Context = tuple[str, ...]
"""Turns, oldest first."""


@dataclasses.dataclass(frozen=True, eq=False)
class ReplyData:
    """What a reply model is fitted on."""

    dialogues: tuple[Dialogue, ...]
    """To learn from."""
    valid: tuple[Dialogue, ...] = ()
    """To decide by when to stop; never to learn from."""
    seed: int = 0
    run: TrainingRun = dataclasses.field(default_factory=TrainingRun)
    """How training is carried out: checkpoints, time limit, progress."""

    @cached_property
    def digest(self) -> str:
        """Changes when any dialogue does; the seed is not in it."""
        return digest_of([dialogues_digest(self.dialogues), dialogues_digest(self.valid)])

    @cached_property
    def contexts(self) -> TrainedContexts:
        """The contexts of all dialogues that were looked at."""
        return TrainedContexts.within((*self.dialogues, *self.valid))


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """What `reply` was asked."""

    contexts: tuple[Context, ...]
    decoding: Decoding | None = None
    """None: as the model sees fit."""
    seed: int = 0
    true_replies: tuple[str, ...] | None = None
    """One a context: a model that copies replies leaves one occurrence of it out of its corpus (how-not, section 3)."""

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """One a context, from its text: what is drawn by it depends neither on other contexts nor on their order."""
        return tuple(context_seed(context, self.seed) for context in self.contexts)


@dataclasses.dataclass(frozen=True, slots=True)
class ReplyFit:
    """What a reply model was fitted on."""

    seed: int
    data: str
    """Changes when any dialogue does."""
    dialogues: int
    valid: int
    version: str
    contexts: TrainedContexts = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplyModel(FittedOnDialogues[ReplyFit], ABC):
    """Learns from dialogues, then replies to contexts."""

    kind: ClassVar[str] = "reply model"
    about: ClassVar[str]
    """One line for a person choosing a model."""
    citation: ClassVar[str]
    has_encoder: ClassVar[bool] = False
    """Whether `encode` makes vectors."""
    decodes: ClassVar[bool] = False
    """Whether it makes replies word by word, as a `Decoding` says; else it copies those of its corpus."""
    extra: ClassVar[str] = ""
    """The optional part of the package that it needs, if any."""

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""

    @abstractmethod
    def learn(self, data: ReplyData) -> Mapping[str, Any]:
        """The value of each learned field; the same for the same data and seed. There is a dialogue at least."""

    @abstractmethod
    def answer(self, request: Request) -> list[str]:
        """One reply a context, whatever else is in the request. Called only when fitted, with a context at least."""

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector a context; a model that `has_encoder` has its own. (contexts, dimension)"""
        raise NotImplementedError

    def inherited_contexts(self) -> TrainedContexts:
        """What another model that this one starts from was trained on."""
        return TrainedContexts()

    def fit(
        self,
        dialogues: Iterable[Dialogue],
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[Dialogue] = (),
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> Self:
        """The same model, fitted anew.

        Training may stop early by the dialogues of `valid`. `run` sets checkpoints, a time limit and progress bars.
        Reply models do not learn from judged examples: the parameter is there because evaluators have it.
        """
        if judged is not None:
            raise CallError(f"{self.name} is a reply model and learns from dialogues: it takes no judged examples")
        data = ReplyData(tuple(dialogues), tuple(valid), seed, run or TrainingRun())
        if not data.dialogues:
            raise NeedsError(f"{self.name} learns from dialogues: expected at least one to fit it on")
        if data.valid and not places_of(data.valid):
            raise NeedsError(f"{self.name}: the validation dialogues have no reply in them: expected at least one")
        values = self.learn(data)
        contexts = data.contexts | self.inherited_contexts()
        self._remember(values, ReplyFit(seed, data.digest, len(data.dialogues), len(data.valid), __version__, contexts))
        return self

    def reply(
        self,
        contexts: Sequence[Sequence[str]],
        *,
        decoding: Decoding | None = None,
        seed: int = 0,
        true_replies: Sequence[str] | None = None,
    ) -> list[str]:
        """One reply a context, in order; a context is a list of turns, oldest first."""
        _ = self.fitted
        if decoding is not None and not self.decodes:
            raise CallError(f"{self.name} copies replies of its corpus: it takes no decoding")
        if true_replies is not None and len(true_replies) != len(contexts):
            raise CallError(f"{len(true_replies)} true replies for {len(contexts)} contexts: expected one each")
        turns = tuple(_as_context(context) for context in contexts)
        if not turns:
            return []
        truths = None if true_replies is None else tuple(true_replies)
        replies = self.answer(Request(turns, decoding, seed, truths))
        if len(replies) != len(turns):
            raise ValueError(f"{self.name}: answer gave {len(replies)} replies for {len(turns)} contexts")
        return replies

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector a text or context; a text counts as a context of one turn. (texts, dimension)"""
        if not self.has_encoder:
            raise CallError(f"{self.name} has no encoder")
        _ = self.fitted
        vectors = self.encode_contexts(tuple((text,) if isinstance(text, str) else tuple(text) for text in texts))
        if len(vectors) != len(texts):
            raise ValueError(f"{self.name}: encode_contexts gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def clone(self) -> Self:
        """One with the same parameters that is not fitted."""
        return type(self)(**self.parameters)

    def save(self, folder: str | Path) -> None:
        """Write what `load` needs into a folder: config.json, and arrays beside it."""
        fit = self.fitted
        with replacing_folder(Path(folder), self.kind) as fresh:
            write_arrays(fresh / CONTEXTS, {"keys": fit.contexts.keys})
            config = {
                "name": self.name,
                "parameters": self.parameters,
                "signature": self.signature,
                "version": __version__,
                "fit": {key: getattr(fit, key) for key in ("seed", "data", "dialogues", "valid", "version")},
                "learned": self.save_learned(fresh),
            }
            write_config(fresh, config)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The reply model that was saved in a folder, fitted."""
        home = Path(folder)
        model, config = cls._saved(home)
        contexts = TrainedContexts(read_arrays(home / CONTEXTS)["keys"])
        model._remember(model.load_learned(home, config["learned"]), ReplyFit(**config["fit"], contexts=contexts))
        return model


def _as_context(turns: Sequence[str]) -> Context:
    if isinstance(turns, str):
        raise CallError(f"a context is a list of turns, not the text {turns[:40]!r}")
    return tuple(turns)


def context_seed(context: Context, seed: int) -> int:
    """A seed for one context, from its text and the seed of the whole."""
    text = "\n".join([str(seed), *context]).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())
