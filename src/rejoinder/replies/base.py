"""The interface of a reply model, and how its replies are decoded."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from rejoinder.arrays import Vectors
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.learning.learned import FittedOnDialogues
from rejoinder.metrics.base import plain
from rejoinder.options import Option, Seed, of_type, verb
from rejoinder.specs import parse_spec

# The interface of a reply model: parameters, fields that are learned from dialogues, and `reply`.
#
# Parameters are ordinary fields of a frozen dataclass. What `fit` learns is declared as a field that the constructor
# does not take, and whose name ends in an underscore:
#
#     @dataclass(frozen=True, kw_only=True)
#     class Parrot(ReplyModel):
#         name: ClassVar[str] = "parrot"
#         about: ClassVar[str] = "says the most common last turn of its training dialogues"
#         citation: ClassVar[str] = "-"
#         last_: str = field(init=False, repr=False, compare=False)
#
#         def learn(self, data: DialogueData) -> dict[str, Any]:
#             return {"last_": max(...)}
#
#         def answer(self, request: Request) -> list[str]:
#             return [self.last_] * len(request.contexts)
#
# Learned fields that are arrays or plain values are saved without further code; a model with other learned fields has
# its own `save_learned(folder) -> plain values` and `load_learned(folder, plain) -> every learned field`.


# How a neural reply model turns its probabilities into a reply, token by token.


Method = Literal["greedy", "beam", "ancestral", "top-k", "nucleus"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """Greedy decoding, beam search or sampling, and its settings; a method ignores the settings of others."""

    method: Method = "greedy"
    max_tokens: int = 40
    """Maximum number of tokens per reply."""
    beam: int = 4
    """Replies kept at each step (beam)."""
    length_penalty: float = 1.0
    """A reply of n tokens scores log p / n ** length_penalty: 0 is the log-probability itself, 1 its mean (beam)."""
    k: int = 40
    """Tokens are drawn from the k most likely (top-k)."""
    p: float = 0.9
    """Tokens are drawn from the smallest set with this total probability (nucleus)."""
    temperature: float = 1.0
    """Logits are divided by this before drawing (ancestral, top-k, nucleus)."""
    block_ngrams: int = 0
    """No n-gram of this length occurs twice in a reply; 0: no restriction."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise CallError(f"decoding: method must be one of {', '.join(METHODS)}, not {self.method!r}")
        for name, least in {"max_tokens": 1, "beam": 1, "k": 1, "block_ngrams": 0}.items():
            if getattr(self, name) < least:
                raise CallError(f"decoding: {name} must be at least {least}, not {getattr(self, name)}")
        if not 0 < self.p <= 1:
            raise CallError(f"decoding: p must be above 0 and at most 1, not {self.p}")
        if not 0 < self.temperature <= 100:
            raise CallError(f"decoding: temperature must be above 0 and at most 100, not {self.temperature}")
        if not 0 <= self.length_penalty <= 10:
            raise CallError(f"decoding: length_penalty must be from 0 to 10, not {self.length_penalty}")

    @classmethod
    def parse(cls, spec: str) -> Decoding:
        """From 'nucleus(p=0.9, max_tokens=30)', the form of the command line."""
        method, given = parse_spec(spec)
        types = {field.name: type(field.default) for field in fields(cls) if field.name != "method"}
        for key, value in given.items():
            if key not in types:
                raise UnknownNameError(f"parameter of decoding {method}:", key, types)
            if type(value) is not types[key] and not (types[key] is float and type(value) is int):
                expected = "a number" if types[key] is float else "a whole number"
                raise CallError(f"decoding: {key} must be {expected}, not {value!r}")
        return cls(method=cast("Method", method), **given)

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn at random, so that the reply depends on the seed."""
        return self.method in {"ancestral", "top-k", "nucleus"}

    @property
    def signature(self) -> str:
        """The method and the settings that differ from the defaults: 'beam|beam:8|block_ngrams:3'."""
        defaults = {field.name: field.default for field in fields(self)}
        chosen = {key: value for key, value in asdict(self).items() if key != "method" and value != defaults[key]}
        return "|".join([self.method, *(f"{key}:{plain(value)}" for key, value in chosen.items())])


Context = tuple[str, ...]
"""Turns, oldest first."""


@dataclasses.dataclass(frozen=True, eq=False)
class ReplyRequest:
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
    def answer(self, request: ReplyRequest) -> list[str]:
        """One reply per context, independent of the rest of the request. Called only when fitted, with contexts."""

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector per context; a model that `has_encoder` overrides this. (contexts, width)"""
        raise NotImplementedError

    @verb
    def reply(
        self,
        contexts: Sequence[Sequence[str]],
        *,
        decoding: Annotated[
            Decoding | None, Option("how the words are chosen", of_type(Decoding, called="a Decoding"))
        ] = None,
        seed: Seed = 0,
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
        replies = self.answer(ReplyRequest(turns, decoding, seed, truths))
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
