"""A trained model on its way to a folder that ONNX Runtime can score from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.pairs import Pair
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.pairs import PairTokeniser
from rejoinder.evaluators.encoder.stored import Model, Settings

if TYPE_CHECKING:
    from rejoinder.evaluators.encoder.onnx_model import OnnxModel


@dataclass(frozen=True, eq=False)
class Exported:
    """One model in several precisions, of which the last is the one that is loaded again."""

    forms: Sequence[Model]

    @classmethod
    def of(cls, model: Model, *, quantise: bool, trainable: bool) -> Exported:
        """All forms of a model that torch still holds."""
        if model.precision != "torch":
            raise CallError(
                "the evaluator is exported already: expected one just trained, or loaded with precision='torch'"
            )
        from rejoinder.evaluators.encoder.onnx_export import to_int8, to_onnx
        from rejoinder.evaluators.encoder.torch_model import TorchModel

        if not isinstance(model, TorchModel):
            raise CallError(f"{type(model).__name__} cannot be exported: expected a model of torch")
        full: OnnxModel = to_onnx(model)
        forms: list[Model] = [*([model] if trainable else []), full, *([to_int8(full)] if quantise else [])]
        return cls(forms)

    @property
    def precision(self) -> str:
        """That of the form which is loaded again."""
        return self.forms[-1].precision

    @property
    def settings(self) -> Settings:
        """The same for all."""
        return self.forms[-1].settings

    @property
    def tokeniser(self) -> PairTokeniser:
        """The same for all."""
        return self.forms[-1].tokeniser

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """What the form that is loaded again says."""
        return self.forms[-1].score(pairs)

    def save(self, folder: Path) -> None:
        """Write the files of every form."""
        for form in self.forms:
            form.save(folder)
