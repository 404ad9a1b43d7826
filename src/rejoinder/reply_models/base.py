"""The interface of a reply model: parameters, fields that are learned from dialogues, and `reply`.

Parameters are ordinary fields of a frozen dataclass. What `fit` learns is declared as a field that the constructor
does not take, and whose name ends in an underscore:

    @dataclass(frozen=True, kw_only=True)
    class Parrot(ReplyModel):
        name: ClassVar[str] = "parrot"
        about: ClassVar[str] = "says the most common last turn of its training dialogues"
        citation: ClassVar[str] = "-"
        last_: str = field(init=False, repr=False, compare=False)

        def learn(self, data: DialogueData) -> dict[str, Any]:
            return {"last_": max(...)}

        def answer(self, request: Request) -> list[str]:
            return [self.last_] * len(request.contexts)

Learned fields that are arrays or plain values are saved without further code; a model with other learned fields has
its own `save_learned(folder) -> plain values` and `load_learned(folder, plain) -> every learned field`.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

from rejoinder.arguments import checked, of_type, optional
from rejoinder.arrays import Vectors
from rejoinder.errors import CallError, shortened
from rejoinder.learning.fitted import FittedOnDialogues
from rejoinder.reply_models.decoding import Decoding

Context = tuple[str, ...]
"""Turns, oldest first."""


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """The arguments of one `reply` call."""

    contexts: tuple[Context, ...]
    decoding: Decoding | None = None
    """None: the model's default."""
    seed: int = 0
    true_replies: tuple[str, ...] | None = None
    """One per context: a model that copies replies ignores one occurrence of it in its corpus (Liu et al. 2016,
    section 3)."""

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """One per context, derived from its text: random choices depend neither on other contexts nor on the order."""
        return tuple(context_seed(context, self.seed) for context in self.contexts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplyModel(FittedOnDialogues):
    """Learns from dialogues, then replies to contexts."""

    kind: ClassVar[str] = "reply model"
    about: ClassVar[str]
    """One line that helps a user choose a model."""
    citation: ClassVar[str]
    has_encoder: ClassVar[bool] = False
    """Whether `encode` returns vectors."""
    decodes: ClassVar[bool] = False
    """Whether it writes replies token by token, as a `Decoding` says; otherwise it copies replies of its corpus."""
    extra: ClassVar[str] = ""
    """The optional part of the package that it needs, if any."""

    @abstractmethod
    def answer(self, request: Request) -> list[str]:
        """One reply per context, independent of the rest of the request. Called only when fitted, with contexts."""

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector per context; a model that `has_encoder` overrides this. (contexts, width)"""
        raise NotImplementedError

    @checked(decoding=optional(of_type(Decoding, called="a Decoding")))
    def reply(
        self,
        contexts: Sequence[Sequence[str]],
        *,
        decoding: Decoding | None = None,
        seed: int = 0,
        true_replies: Sequence[str] | None = None,
    ) -> list[str]:
        """One reply per context, in order; a context is a list of turns, oldest first."""
        _ = self.fitted
        if decoding is not None and not self.decodes:
            raise CallError(f"{self.name} copies replies of its corpus: it takes no decoding")
        contexts = _listed(contexts, "contexts")
        true_replies = None if true_replies is None else _texts(_listed(true_replies, "true_replies"), "true reply")
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
        """One vector per text or context; a text counts as a context of one turn. (texts, width)"""
        if not self.has_encoder:
            raise CallError(f"{self.name} has no encoder")
        _ = self.fitted
        if not texts:
            return self.encode_contexts(((),))[:0]
        vectors = self.encode_contexts(tuple((text,) if isinstance(text, str) else _as_context(text) for text in texts))
        if len(vectors) != len(texts):
            raise ValueError(f"{self.name}: encode_contexts gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def context_seed(context: Context, seed: int) -> int:
    """A seed for one context, derived from its text and the seed of the whole request."""
    text = "\n".join([str(seed), *context]).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def _as_context(turns: Sequence[str]) -> Context:
    if not isinstance(turns, list | tuple):
        raise CallError(f"a context is a list of turns, not {shortened(turns)}")
    return _texts(turns, "turn of a context")


def _listed(given: Any, name: str) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise CallError(f"{name} must be a list, not {shortened(given)}")
    return list(given)


def _texts(given: Iterable[Any], what: str) -> tuple[str, ...]:
    texts = tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise CallError(f"a {what} must be text, not {shortened(text)}")
    return texts
