"""axe-core, the accessibility checker, on a page of a real browser."""

from __future__ import annotations

import os
from typing import Any

import pytest

AXE = os.environ.get("REJOINDER_AXE", "")

needs_axe = pytest.mark.skipif(not AXE, reason="needs axe-core: REJOINDER_AXE does not name its file")


def serious(page: Any) -> list[str]:
    """The serious and critical findings of axe-core on a page, whose policy has to be lifted for the script."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 5
    return [
        f"{finding['id']}: {node['html']}"
        for finding in found["violations"]
        if finding["impact"] in {"serious", "critical"}
        for node in finding["nodes"]
    ]
