"""What each paper concludes, what we find, and whether the conclusion holds.

Figures of the papers come from `published`. Those of ours stand on the page that a row names, or on another page that
its text names: a test looks them up there, so that none is left behind when a page changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from papers.conclusions import adem, am_fm, liu2016, ruber, zhao2020
from papers.conclusions.record import Conclusion

CONCLUSIONS: Mapping[str, tuple[Conclusion, ...]] = {
    "liu2016": liu2016.CONCLUSIONS,
    "adem": adem.CONCLUSIONS,
    "ruber": ruber.CONCLUSIONS,
    "am-fm": am_fm.CONCLUSIONS,
    "zhao2020": zhao2020.CONCLUSIONS,
}
"""Key of the paper -> its conclusions."""

__all__ = ["CONCLUSIONS", "Conclusion"]
