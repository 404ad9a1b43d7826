"""What the models of a RUBER page were trained on, and with which settings."""

from __future__ import annotations

from rejoinder.evaluators.ruber.unref import NONE
from rejoinder.reproduction.documents import Document
from rejoinder.reproduction.ruber.models import CORPORA
from rejoinder.reproduction.ruber.study import Study

SETTINGS = ("vectors", "dims", "negatives", "margin", "batch", "learning_rate", "hidden", "units", "dropout")
"""Settings that all models of a page share."""


def trainings(study: Study, document: Document) -> None:
    """One row per model, and the settings that all share."""
    rows = []
    models = {
        (corpus, encoder): study.models.model(corpus, encoder) for corpus in CORPORA for encoder in study.encoders
    }
    for (corpus, encoder), model in models.items():
        seen = sum(int(model.trained_contexts.holds(each.examples).sum()) for each in study.replies.values())
        start = "" if model.start == NONE else "a trained `hred`"
        sizes = (f"{model.fitted.dialogues:,}", start, str(model.epochs), str(model.turns_read), str(seen))
        rows.append([corpus, encoder, *sizes])
    header = ["dialogues", "started from", "epochs at most", "turns read", "judged replies seen"]
    document.table(["corpus", "encoder", *header], rows)
    one = next(iter(models.values()))
    document.text("Settings of all: " + ", ".join(f"`{name}={getattr(one, name)}`" for name in SETTINGS) + ".")
