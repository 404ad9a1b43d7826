"""The pages for raters and organisers under axe-core, the accessibility checker, in a real browser."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from annotation_server import COMPREHENSION, ONE_QUESTION, SCALES, SECRETS, running_app, write_study
from axe import needs_axe, serious
from rejoinder.people.store import open_store


@needs_axe
@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        ("scale", "light"),
        pytest.param("pair", "dark", marks=pytest.mark.slow),
        pytest.param("scale", "dark", marks=pytest.mark.slow),
        pytest.param("write", "light", marks=pytest.mark.slow),
    ],
)
def test_axe_has_no_serious_finding(tmp_path: Path, browser: Any, kind: str, scheme: str) -> None:
    study = write_study(tmp_path, SCALES + COMPREHENSION if kind == "scale" else ONE_QUESTION.format(kind=kind))
    with closing(open_store(tmp_path / "study.db")) as store, running_app(study, store) as address:
        # The policy of the pages forbids the injected script, so that it is lifted here.
        context = browser.new_context(bypass_csp=True, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{address}/join?PROLIFIC_PID=one")
        assert serious(page) == []
        if kind == "scale":
            page.get_by_role("button", name="I agree").click()
            assert serious(page) == []
            page.get_by_label("the conversation").click()
            page.get_by_role("button", name="Continue").click()
            page.get_by_role("alert").wait_for()
            assert serious(page) == []
            page.get_by_label("reply").click()
            page.get_by_role("button", name="Continue").click()
            page.get_by_text("Reply to judge").wait_for()
            assert serious(page) == []
            page.keyboard.press("3")
            with page.expect_navigation():
                page.keyboard.press("Enter")
            assert serious(page) == []
        page.goto(f"{address}/admin/{SECRETS.admin}")
        assert page.locator("h2").count() > 0
        assert serious(page) == []
        context.close()
