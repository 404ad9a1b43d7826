"""Where the repository and the development data are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
JUDGED = ROOT.parent / "shared" / "data" / "judged"
DIALOGUES = ROOT.parent / "shared" / "data" / "dialogues"
