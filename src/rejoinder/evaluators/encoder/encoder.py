"""The evaluator of Zhao et al. 2020 over any pretrained encoder: docs/reference/encoder-evaluator.md.

Training needs the extra `train`. An exported folder scores with ONNX Runtime and `tokenizers` alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.dialogues import pair_of
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.base import Evaluator, EvaluatorFit
from rejoinder.evaluators.bounds import Bounds
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, OVERFLOW
from rejoinder.evaluators.encoder.heads import HeadData, column_names, heads_of
from rejoinder.evaluators.encoder.model import POOLINGS, PRESETS, EncoderModel, EncoderSettings, OneHead
from rejoinder.evaluators.encoder.onnx import OnnxModel
from rejoinder.evaluators.encoder.reading import FEATURES, MOST_REPLY, MOST_TURNS
from rejoinder.evaluators.familiarity import Familiarity
from rejoinder.evaluators.unread import UnreadWatcher
from rejoinder.folders.saved import ENCODER, WEIGHTS
from rejoinder.folders.schema import CONFIG, read_config
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.base import Watcher, check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.options import check_least, check_number, check_scale
from rejoinder.registry import shipped_folder
from rejoinder.text.tokens import writable
from rejoinder.types import Scores

NETWORK = "default@1"
"""The evaluator of the package that is an Encoder."""
SHIPPED_NETWORK = ("default", NETWORK)
"""Its names as a network to train further."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoder(Evaluator):
    """4 * sigmoid(MLP(encoder([context; response]))) + 1, trained on dialogues and then on ratings."""

    name: ClassVar[str] = "encoder"
    measures: ClassVar[str] = "how well a reply fits its context, by a trained neural network"
    citation: ClassVar[str] = "Zhao, Lala and Kawahara 2020, Designing Precise and Robust Dialogue Response Evaluators"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"
    trains_in_steps: ClassVar[bool] = True

    encoder: str
    """A Hugging Face name, the folder of a pretrained encoder, or that of a saved Encoder, which is trained further;
    `default` is the network that comes with the package."""
    preset: str = "cpu"
    """How the stages of training run: `cpu`, for a few cores, or `paper`, as Zhao et al. 2020 trained."""
    max_length: int = 128
    """Tokens of context and reply together; a context that is too long loses its beginning."""
    max_response: int = 64
    """Maximum tokens of a reply; the rest is not read."""
    pooling: str | None = None
    """How the encoder's vectors are pooled for the head: `match`, `mean` or `cls`; by default the preset's."""
    towers: bool = False
    """Whether context and reply are also read apart, and their cosines added to the head's output."""
    speaker_marks: bool = True
    """Whether the turns of a context are marked by who speaks; with `towers` they never are."""
    in_batch_steps: int | None = None
    """Steps of in-batch ranking at most, in place of the preset's; 0 leaves it out."""
    steps: int | None = None
    """Steps of ranking at most, in place of the preset's; 0 leaves it out."""
    label_steps: int | None = None
    """Steps on ratings at most, in place of the preset's."""
    replay: int | None = None
    """Number of contexts of the dialogues whose replies should keep their scores while ratings are learned."""
    label_share: float | None = None
    """How much of the weight change by training on ratings is kept, from 0 to 1; by default all of it."""
    heads: tuple[str, ...] = ()
    """What further outputs learn, each from a file: `consistent(loss=pairs, data=FILE, share=0.3)`."""
    head_steps: int | None = None
    """Steps on the data of the heads at most, in place of the preset's."""
    whole_replies: bool = False
    """Whether replies are read in parts of `max_response` tokens, up to 512, and as text without Markdown."""
    dimension: str | None = None
    """Which ratings to learn; may be left out where there is one, or one called overall."""
    scale: tuple[float, float] | None = None
    """The lowest and highest score that people could give; by default, the lowest and highest that they gave."""

    model_: EncoderModel = dataclasses.field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "preset", list(PRESETS))
        check_choice(self, "pooling", [*POOLINGS, None])
        check_least(self, {"max_length": 1, "max_response": 1, "label_steps": 1})
        check_least(self, {"in_batch_steps": 0, "steps": 0, "replay": 0, "head_steps": 1})
        named = column_names(heads_of(self.heads))
        if self.heads and not self.towers:
            raise CallError(f"{self.name}: heads need towers=True")
        for name in named:
            if name in FEATURES:
                raise CallError(f"{self.name}: a head cannot be called {name}, which is a feature of the network")
        if self.label_share is not None and not 0 <= check_number(self, "label_share", self.label_share) <= 1:
            raise CallError(f"{self.name}: label_share must be from 0 to 1, not {self.label_share}")
        check_scale(self, self.scale)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The trained model."""
        if not data.dialogues and not data.judged and not self.heads:
            raise NeedsError(f"{self.name} learns from dialogues, judged examples or both: expected at least one")
        require_extra("train", "training an encoder")
        from rejoinder.evaluators.encoder.training import learned_model

        return {"model_": learned_model(self, data)}

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The encoder, unless it is a saved Encoder."""
        return ((self.encoder, "encoder"),) if self.saved_start is None else ()

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 1 to 5."""
        return self._read(batch)[:, 0].copy()

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments; those that came later only where they are used, so that signatures last."""
        later = {"heads": (), "whole_replies": False}
        return {key: value for key, value in super().parameters.items() if key not in later or value != later[key]}

    @property
    def raw_range(self) -> tuple[float, float]:
        """From 1 to 5; from 0 to 1 if the score is that of a head."""
        return (0.0, 1.0) if self._is_one_head else (LOWEST, HIGHEST)

    @property
    def _is_one_head(self) -> bool:
        return self.fit_ is not None and isinstance(self.model_, OneHead)

    @property
    def reads_beginning(self) -> bool:
        """Whether it reads only the beginning of a long reply."""
        return self.fit_ is None or not self.model_.settings.whole_replies

    def cut_contexts(self, batch: Batch) -> int:
        """How many examples have a context whose last turns are too long to be read whole."""
        if not self.model_.settings.towers:
            return 0
        contexts = [tuple(map(writable, example.context)) for example in batch.examples]
        apart = list(dict.fromkeys(filter(None, contexts)))
        cut = dict(zip(apart, self.model_.tokeniser.brancher.cut_contexts(apart), strict=True))
        return sum(cut.get(context, False) for context in contexts)

    def cut_replies(self, batch: Batch) -> int:
        """How many replies are too long to be read in parts; known of networks that read replies so."""
        if not self.model_.settings.whole_replies:
            return 0
        long = [pair_of(example) for example in batch.examples if len(example.response) > MOST_REPLY]
        return self.model_.tokeniser.cut_replies(long)

    def unseen_turns(self, batch: Batch) -> int:
        """How many contexts have more turns than are read; counted for networks that read replies in parts."""
        if not self.model_.settings.whole_replies:
            return 0
        return sum(len(example.context) > MOST_TURNS for example in batch.examples)

    def watcher(self) -> Watcher | None:
        """A counter of replies that are unlike the training text, or not read whole."""
        if self.fit_ is None or not self.model_.settings.whole_replies:
            return super().watcher()
        return UnreadWatcher(self.out_of_domain_counter(), [self])

    def readings(self, batch: Batch) -> dict[str, Scores]:
        """The heads, and the features of a network with towers: cosines, copied and repeated words, length.

        A network without heads gives its features only where it was exported to ONNX.
        """
        found = self._read(batch)
        unread = ~np.array([bool(example.context) for example in batch.examples], np.bool_) | batch.blank
        found[unread] = np.nan
        return dict(zip(self.model_.columns[1:], found.T[1:], strict=True))

    def _read(self, batch: Batch) -> NDArray[np.float64]:
        """The score of each example and what else the network gives. (examples, columns)"""
        rows = [row for row, example in enumerate(batch.examples) if not batch.blank[row] and example.context]
        pairs = [pair_of(example) for example in (batch.examples[row] for row in rows)]
        model = self.model_

        def read() -> tuple[EncoderModel, NDArray[np.float64]]:
            found = np.full((len(batch), len(model.columns)), self.raw_range[0])
            if pairs:
                found[rows] = model.read(pairs)
            return model, found  # the model is kept with it, so that no other can get its id

        return batch.keep(("read", id(model)), read)[1].copy()

    def inherited_contexts(self) -> TrainedContexts:
        """The contexts of the trained evaluator that this one started from, if any."""
        folder = self.saved_start
        found = TrainedContexts() if folder is None else type(self).load(folder).trained_contexts
        for each in self.head_data:
            found |= each.contexts
        return found

    @property
    def head_data(self) -> tuple[HeadData, ...]:
        """What the heads learn from."""
        return tuple(map(HeadData.read, heads_of(self.heads)))

    @property
    def saved_start(self) -> Path | None:
        """The folder of the Encoder that training starts from; None where it starts from a pretrained encoder."""
        folder = shipped_folder(NETWORK) if self.encoder in SHIPPED_NETWORK else Path(self.encoder)
        if not _is_saved_evaluator(folder):
            return None
        can_be_widened = (folder / WEIGHTS["int8"]).is_file() and (folder / ENCODER).is_file()
        if not (folder / WEIGHTS["torch"]).is_file() and not can_be_widened:
            raise CallError(
                f"{folder} was exported without {WEIGHTS['torch']}: it scores, but cannot be trained further"
            )
        return folder

    @property
    def signature(self) -> str:
        """The parameters, the fit, and the precision of the weights."""
        if self.fit_ is None:
            return super().signature
        rest, _, version = super().signature.rpartition("|")
        return f"{rest}|weights:{self.model_.precision}|{version}"

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the model's files; the settings of its input go into config.json."""
        self.model_.save(folder)
        return self.model_.settings.plain

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The folder's model: with int8 weights if it has them, else full-precision ONNX, else torch."""
        for precision in ("int8", "fp32", "torch"):
            if (folder / WEIGHTS[precision]).is_file():
                return {"model_": _load_model(folder, EncoderSettings.of(plain, folder), precision)}
        raise DataError(f"holds no weights: expected one of {', '.join(WEIGHTS.values())}", file=str(folder))

    @classmethod
    def load(cls, folder: str | Path, *, precision: str | None = None, head: str | None = None) -> Self:
        """The evaluator that was saved in a folder, with its weights of this `precision`: torch, fp32 or int8.

        With a `head`, the score is what this head gives, from 0 to 1.
        """
        evaluator = super().load(folder)
        model, fit = evaluator.model_, evaluator.fitted
        if precision is not None and precision != model.precision:
            if precision not in WEIGHTS:
                raise CallError(f"precision must be one of {', '.join(WEIGHTS)}, not {precision!r}")
            model = _load_model(Path(folder), model.settings, precision)
        if head is not None:
            if head not in model.settings.heads:
                raise UnknownNameError(f"head of {folder}:", head, model.settings.heads)
            model, fit = OneHead(model, head), dataclasses.replace(fit, calibration=None)
        evaluator._remember({"model_": model}, fit)
        return evaluator

    def export(self, folder: str | Path, *, quantise: bool = True, trainable: bool = False) -> None:
        """Save for ONNX Runtime: full precision and, if `quantise`, int8 weights; `trainable` adds torch's."""
        fit = self.fitted
        if self.model_.precision != "torch":
            raise CallError(
                "the evaluator is exported already: expected one just trained, or loaded with precision='torch'"
            )
        from rejoinder.evaluators.encoder.onnx_export import ExportedModel

        exported = self.clone()
        exported._remember({"model_": ExportedModel.of(self.model_, quantise=quantise, trainable=trainable)}, fit)
        exported.save(folder)

    def with_model(self, model: EncoderModel, data: TrainingData) -> Self:
        """The same evaluator, fitted with a model that was trained by other means than `fit` on these data."""
        counts = (len(data.dialogues), len(data.judged) + len(data.valid))
        contexts = data.contexts | self.inherited_contexts()
        familiarity = Familiarity.of(data)
        bounds = Bounds.of(data, familiarity)
        fit = EvaluatorFit(
            data.seed, data.digest, *counts, __version__, contexts, familiarity=familiarity, bounds=bounds
        )
        self._remember({"model_": model}, fit)
        return self


def _load_model(folder: Path, settings: EncoderSettings, precision: str) -> EncoderModel:
    if precision != "torch":
        return OnnxModel.load(folder, settings, precision)
    require_extra("train", "a model that was not exported to ONNX")
    from rejoinder.evaluators.encoder.torch_model import TorchModel

    return TorchModel.load(folder, settings)


def _is_saved_evaluator(folder: Path) -> bool:
    """Whether config.json is that of a saved Encoder; a pretrained encoder has a config.json of another kind."""
    try:
        return bool((folder / CONFIG).is_file() and read_config(folder)["name"] == Encoder.name)
    except DataError:
        return False
