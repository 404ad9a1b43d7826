"""A hred of the default width that learned next to nothing."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file, save_file

from rejoinder.replies.recurrent import HredModel
from small_evaluators import dialogues


def write_large_hred(folder: Path) -> Path:
    """Its folder. Larger weights make dot products of its vectors as large as training does: about 100."""
    HredModel(vocabulary=300, embedding=16, epochs=1).fit(dialogues()).save(folder)
    path = folder / "model.safetensors"
    save_file({name: 6 * weight for name, weight in load_file(path).items()}, path, {"format": "pt"})
    return folder
