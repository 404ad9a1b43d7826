"""Where pretrained models are looked for, and that scoring opens no connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest

import rejoinder
from rejoinder.errors import CallError, DataError
from rejoinder.folders import sources
from rejoinder.folders.sources import cached_pretrained, downloads, find_pretrained, offline
from rejoinder.registry import SHIPPED_EVALUATORS


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The attempts to reach the hub, which does not answer; the cache is empty, and the folder is another."""
    made: list[str] = []

    def no_answer() -> bool:
        made.append("asked")
        return False

    monkeypatch.setattr(sources, "hub_answers", no_answer)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return made


def cache_model(home: Path, name: str) -> Path:
    """A model in the cache, laid out as huggingface_hub does it."""
    model = home / f"models--{name.replace('/', '--')}"
    snapshot = model / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    (snapshot / "model.safetensors").touch()
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("0" * 40)
    return snapshot


def test_a_folder_comes_first(attempts: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with downloads():
        assert find_pretrained("mine") == Path("mine")
    assert not attempts


def test_a_path_is_not_looked_for_at_the_hub(attempts: list[str]) -> None:
    with downloads():
        for path in ("./nowhere", "a/b/c", "/nowhere", "nowhere/", "../x", "two words", "a" * 300, "\x00"):
            with pytest.raises(CallError, match="there is no such file or folder; "):
                find_pretrained(path)
    assert not attempts


def test_the_hub_is_asked_once_and_only_where_downloads_are_allowed(attempts: list[str]) -> None:
    with pytest.raises(CallError, match=r"nor in the Hugging Face cache \(rejoinder downloads nothing when it "):
        find_pretrained("minlm")
    with offline(), downloads(), pytest.raises(CallError, match="downloads nothing when it scores"):
        find_pretrained("minlm")
    assert not attempts
    with (
        downloads(),
        pytest.raises(CallError, match="cannot be reached; did you mean sentence-transformers/all-Mini"),
    ):
        find_pretrained("minlm")
    assert attempts == ["asked"]


def test_near_names(attempts: list[str], tmp_path: Path) -> None:
    for name in ("minilm", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    with pytest.raises(CallError, match="did you mean minilm"):
        find_pretrained("minlm")
    with pytest.raises(CallError, match="did you mean roberta-base"):
        find_pretrained("robrta-base")
    cache_model(tmp_path / "cache", "someone/special-model")
    with pytest.raises(CallError, match="did you mean someone/special-model"):
        find_pretrained("someone/special-modle")
    assert not attempts


def test_the_cache_comes_before_the_hub(attempts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = cache_model(tmp_path / "cache", "someone/model")
    original = huggingface_hub.snapshot_download
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda name, **options: original(name, cache_dir=tmp_path / "cache", **options),
    )
    with downloads():
        assert find_pretrained("someone/model") == snapshot
    assert cached_pretrained("someone/model", "encoder", "config.json") == snapshot
    assert not attempts
    (snapshot / "model.safetensors").unlink()  # as after a download that was interrupted
    assert find_pretrained("someone/model") == snapshot
    with downloads(), pytest.raises(CallError, match="the hub cannot be reached"):
        find_pretrained("someone/model")
    for name in ("someone/other", "../model", str(snapshot)):
        with pytest.raises(DataError, match=r"config\.json: names the encoder .*expected one within the folder"):
            cached_pretrained(name, "encoder", "config.json")


CONNECTING_FAILS = """
import json, socket, sys

def refuse(*arguments, **options):
    print("CONNECTION", arguments, file=sys.stderr)
    raise AssertionError(f"a connection was opened: {arguments}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse

from pathlib import Path
from saved_folders import use
for folder in json.load(sys.stdin):
    use(Path(folder))
    print(folder)
"""


@pytest.mark.slow
def test_loading_and_scoring_open_no_connection() -> None:
    """In a process where any attempt fails loudly, and where the hub is not switched off.

    With the folders that other libraries open, and what comes with the package. The other kinds are tried in
    tests/fuzz/test_fuzz_folders.py.
    """
    pytest.importorskip("torch")
    from saved_folders import WITH_TRANSFORMERS, saved_folder

    folders = [str(saved_folder(kind)) for kind in (*WITH_TRANSFORMERS, *SHIPPED_EVALUATORS)]
    support = str(Path(__file__).parents[1] / "support")
    environment = {name: value for name, value in os.environ.items() if name not in {"HF_HUB_OFFLINE"}}
    environment["PYTHONPATH"] = os.pathsep.join([*sys.path, support])
    ran = subprocess.run(
        [sys.executable, "-c", CONNECTING_FAILS],
        input=json.dumps(folders),
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == folders
    assert "CONNECTION" not in ran.stderr


def test_scoring_with_a_name_that_is_not_local_downloads_nothing(attempts: list[str]) -> None:
    pytest.importorskip("torch")
    for name in ("likelihood(model=someone/model)", "encoder-cosine(encoder=someone/model)"):
        with pytest.raises(CallError, match="`hf download someone/model` does"):
            rejoinder.load(name)
    assert not attempts
