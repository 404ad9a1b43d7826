"""What the models of a RUBER page were trained on, and with which settings."""

from __future__ import annotations

from collections.abc import Collection

from papers.documents import Document
from papers.ruber.models import CORPORA
from papers.ruber.study import Study
from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.evaluators.ruber.unref import LABEL_BATCH, NONE

SETTINGS = ("vectors", "dims", "negatives", "margin", "batch", "learning_rate", "units", "dropout")
"""Settings that every model uses."""
SIZES = ("size of word embeddings", "GRU over words", "GRU over turns")
SIZES_SENTENCE = (
    "`vectors` and `dims` are those of the word vectors of s_R. The sizes of GRUs are layers x units per direction."
)
NONE_OF_IT = "-"
TUNED_PAGE = "ruber-figures"
"""The page that has tuned models too."""


def trainings(study: Study, document: Document) -> None:
    """One row per model, with its sizes; then the settings that all share, and how tuned models are tuned."""
    rows = []
    models = {
        (corpus, encoder): study.models.model(corpus, encoder) for corpus in CORPORA for encoder in study.encoders
    }
    for (corpus, encoder), model in models.items():
        seen = sum(int(model.trained_contexts.holds(each.examples).sum()) for each in study.replies.values())
        start = "" if model.start == NONE else "a trained `hred`"
        counts = (f"{model.fitted.dialogues:,}", start, str(model.epochs), str(model.turns_read))
        rows.append([corpus, encoder, *counts, *sizes(model), str(seen)])
    header = ["dialogues", "started from", "epochs at most", "turns read", *SIZES, "judged replies seen"]
    document.table(["corpus", "encoder", *header], rows)
    document.text(f"Settings of all: {shared(models.values())}. {SIZES_SENTENCE}")
    if document.name == TUNED_PAGE:
        tuning = shared(models.values(), ("label_epochs", "label_rate"))
        document.text(f"Tuning on ratings: {tuning}, batches of {LABEL_BATCH}.")


def sizes(model: Ruber) -> tuple[str, str, str]:
    """The sizes of the fitted network, which are those of an HRED if it started from one; in the order of SIZES."""
    shape = model.scorer_.network.shape
    turns = f"{shape.layers} x {shape.context_hidden}" if shape.hierarchical else NONE_OF_IT
    if not shape.words:
        return NONE_OF_IT, NONE_OF_IT, turns
    return str(shape.dims), f"{shape.layers} x {shape.hidden}", turns


def shared(models: Collection[Ruber], names: Collection[str] = SETTINGS) -> str:
    """Those of the settings that have the same value in all models."""
    values = {name: {getattr(model, name) for model in models} for name in names}
    return ", ".join(f"`{name}={found.pop()}`" for name, found in values.items() if len(found) == 1)
