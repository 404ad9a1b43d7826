"""Answers on a real PostgreSQL server: the same as in a file, and still there after a crash."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("psycopg")

import psycopg

from annotation_server import ONE_QUESTION, running_app, write_study
from benchmark_scripts import benchmark_script
from postgresql import PostgresServer, postgresql
from rejoinder.errors import CallError
from rejoinder.people.export import exported
from rejoinder.people.queue import Assigner
from rejoinder.people.store import RaterAnswer, Store, open_store
from running import Run


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgresql() as running:
        yield running


@pytest.fixture
def url(server: PostgresServer) -> str:
    """An empty database."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS raters, assignments, answers")
    return server.url


def filled(store: Store) -> Store:
    """A store in which two raters were active."""
    for number, source in enumerate(("platform:p1", "")):
        with store.transaction():
            store.add_rater(f"r{number}", f"token {number}", source)
    store.mark("r0", consented=True)
    store.mark("r1", outcome="declined")
    with store.transaction():
        store.assign("r0", ["b", "a"], start=0)
    store.add_answers(
        [RaterAnswer("r0", "b", "overall", "3", 1.5, 10.0), RaterAnswer("r0", "b", "other", "ü ✓ '?%s", 1.5, 10.0)]
    )
    store.add_answers([RaterAnswer("r0", "b", "overall", "4", 2.5, 11.0)])
    with suppress(ZeroDivisionError), store.transaction():
        store.assign("r1", ["a"], start=0)
        raise ZeroDivisionError  # what was done in the transaction is undone
    return store


def test_it_holds_what_a_file_holds(url: str, tmp_path: Path) -> None:
    with closing(filled(open_store(url))) as there, closing(filled(open_store(tmp_path / "study.db"))) as here:
        assert there.answers() == here.answers()
        assert there.answers("r0")[-1].value == "4"
        assert [(one.item, one.place) for one in there.assigned()] == [("b", 0), ("a", 1)]
        for store in (there, here):
            first, second = store.raters()
            assert (first.source, second.outcome) == ("platform:p1", "declined")
            assert first.consented is not None
            assert second.consented is None
            assert store.rater_by("token", "token 1") == second
            with pytest.raises(Exception, match=r"(?i)unique"):
                store.add_rater("r9", "token 9", "platform:p1")


def test_answers_are_there_after_the_database_crashed(url: str, server: PostgresServer) -> None:
    with closing(filled(open_store(url))) as store:
        before = store.answers()
        server.stop("immediate")
        server.start()
        with suppress(psycopg.OperationalError):  # the request during the crash
            store.answers()
        assert store.answers() == before


def test_raters_at_once_lose_nothing(url: str, tmp_path: Path) -> None:
    script = benchmark_script("annotation_load")
    load = script.loaded(script.write_study(tmp_path, raters=6), raters=6, pause=0.0, joining=0.0, store=url)
    assert (load.lost, load.errors, load.twice, load.missing) == (0, 0, 0, 0)


def test_written_replies_may_hold_any_character(url: str, tmp_path: Path) -> None:
    study = write_study(tmp_path, ONE_QUESTION.format(kind="write"))
    written = "NUL \0 and ' and % and ? and 𝄞 and \ud83d"
    with closing(open_store(url)) as store, running_app(study, store) as address:
        simulated = benchmark_script("simulated_raters")
        visitor = simulated.Visitor(int(address.rpartition(":")[2]))
        page = simulated.begin(visitor, "/join?PROLIFIC_PID=one")
        sent = {**page.hidden, "reply": written.encode("utf-8", "surrogatepass").decode("utf-8", "replace")}
        assert visitor.post("/answer", sent).status == 200
        visitor.close()
        [line] = exported(study, store, Assigner(study, store).items)
    assert "NUL  and ' and % and ? and 𝄞" in line


def test_the_command_line_takes_a_url(url: str, run: Run, tmp_path: Path) -> None:
    write_study(tmp_path, ONE_QUESTION.format(kind="write"))
    begun = time.time()
    assert len(run("annotate", "links", "study.toml", "--count", "2", "--store", url).out.split()) == 2
    with closing(open_store(url)) as store:
        assert [rater.joined >= begun - 1 for rater in store.raters()] == [True, True]
    assert run("annotate", "export", "study.toml", "-o", "written.jsonl", "--store", url).code == 0
    failed = run(
        "annotate", "links", "study.toml", "--store", "postgresql:///nothing?host=/nowhere&user=x&password=hidden"
    )
    assert failed.code == 2
    assert failed.err.count("\n") == 1
    assert "PostgreSQL server cannot be used" in failed.err
    assert "hidden" not in failed.err


def test_a_server_that_is_away_is_one_line() -> None:
    with pytest.raises(CallError, match="PostgreSQL server cannot be used"):
        open_store("postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")


@pytest.mark.parametrize(
    "password", ["SECRET", "SEC/RET", "SEC@RET", "SEC:RET", "SEC?RET", "SEC#RET", "%zzSECRET", "%53ECRET"]
)
@pytest.mark.parametrize("url", ["postgresql://me:{}@127.0.0.1:1/db", "postgresql://me@127.0.0.1:1/db?password={}&x=1"])
def test_a_password_is_in_no_error(url: str, password: str) -> None:
    with pytest.raises(CallError, match="cannot be used") as caught:
        open_store(url.format(password))
    assert not {"SEC", "RET", "SECRET", "ECRET"} & set(re.split(r"\W|%..", str(caught.value)))


@pytest.mark.parametrize("url", ["mysql://me:SECRET@host/db", "postgresql+psycopg://me:SECRET@host/db", "http:/SECRET"])
def test_another_address_is_no_file_to_create(url: str, run: Run, tmp_path: Path) -> None:
    write_study(tmp_path, ONE_QUESTION.format(kind="write"))
    before = set(tmp_path.rglob("*"))
    ran = run("annotate", "export", tmp_path / "study.toml", "--store", url, "-o", tmp_path / "ratings.jsonl")
    assert (ran.code, "SECRET" in ran.err) == (2, False)
    assert "the URL of a PostgreSQL server" in ran.err
    assert set(tmp_path.rglob("*")) == before
