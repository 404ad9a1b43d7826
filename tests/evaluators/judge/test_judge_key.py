"""The endpoint's key: refused in addresses, and removed from everything that a server sends."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from judge_server import Reply, completion, echo, refusal, serving, token
from rejoinder.errors import CallError, RejoinderError
from rejoinder.judge.judge import Judge
from rejoinder.judge.wire import DEEPEST, SHORTEST_CLEANED, Endpoint, KeyCleaner
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.types import Example
from running import Ran, Run, WriteLines

KEY = 'sk-very/secret+"1234567890='
FORMS = {
    "plain": KEY,
    "JSON": json.dumps(KEY)[1:-1],
    "JSON of PHP": KEY.replace("/", r"\/"),
    "URL": quote(KEY, safe=""),
    "URL in lower case": quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "HTML": KEY.replace('"', "&quot;"),
    **{f"base64 after {user!r}": base64.b64encode(f"{user}{KEY}".encode()).decode() for user in ("", "a:", "ab:")},
    "base64 before more": base64.b64encode(f"{KEY}:and more".encode()).decode(),
    "base64 in URLs": base64.urlsafe_b64encode(KEY.encode()).decode(),
}
RECORDS: list[dict[str, Any]] = [{"id": str(n), "context": ["Hi"], "response": f"Reply {n}."} for n in range(12)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("rejoinder.judge.wire.random.uniform", lambda low, high: 0.01)
    return tmp_path


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO):
        yield caplog


def clean(text: str) -> bool:
    """Whether no form of the key is in the text; of base64, what does not depend on the text around the key."""
    return not any(form[4:-4] in text for form in FORMS.values())


REFUSED = [
    "http://user:SECRET@host/v1",
    "http://SECRET@host/v1",
    *(
        f"http://host/v1?{name}=SECRET"
        for name in (
            *("api_key", "apikey", "API-KEY", "key", "token", "access_token", "sig", "signature", "secret"),
            *("password", "auth", "code", "subscription-key", "x"),
        )
    ),
    "http://host/v1?SECRET",
    "http://host/v1?api-version=2024-10-21&key=SECRET",
    "http://host/v1?api-version=SECRET/SECRET",
    "http://host/v1?api-version=SECRET",
    "http://host/v1?api-version=2024-10-21-SECRET",
    "http://host/v1?api-version=1;key=SECRET",
    "http://host/v1#SECRET",
    "http://host/v1#api_key=SECRET",
    "http://host/v1;key=SECRET",
    "http://host/v1&key=SECRET",
    "http://host/v1%3Fkey=SECRET",
    "http://host/v1/chat/completions?key=SECRET",
    f"http://host/{quote(KEY, safe='')}/v1",
]


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_with_a_secret_is_refused_and_not_shown(
    url: str, run: Run, write_lines: WriteLines, folder: Path
) -> None:
    replies, spec = write_lines(RECORDS), f'judge(model=m, url="{url}", key_variable=MY_KEY)'
    spec = spec if "MY_KEY" not in url and KEY[:4] not in url else spec.replace("MY_KEY", "OPENAI_API_KEY")
    before = set(folder.rglob("*"))
    for command in (
        ("score", replies, "-m", spec, "-o", folder / "s.jsonl", "--report", folder / "r.html"),
        ("score", replies, "-m", spec, "--dry-run"),
        ("compare", replies, replies, "--pairwise", spec),
        ("score", replies, "-m", f"jury(members=[{spec}, {spec}])"),
    ):
        ran = run(*command)
        assert ran.code == 2
        assert "must not hold a password, a key or other parameters" in ran.err
        assert "set the environment variable " in ran.err
        assert ("OPENAI_API_KEY" if KEY[:4] in url else "MY_KEY") in ran.err
        assert "SECRET" not in ran.out + ran.err
        assert clean(ran.out + ran.err)
    assert set(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "url",
    ["SECRET", "host/v1?key=SECRET", "ftp://u:SECRET@host", "http://:80/SECRET", "http://[SECRET", "http://h:SECRET"],
)
def test_what_is_no_address_is_not_shown(url: str) -> None:
    with pytest.raises(CallError, match="url must be the address of an endpoint") as caught:
        Judge(model="m", url=url)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["htp://u:SECRET@host", "u:SECRET@host:port", "http://u:SECRET@host:port"])
def test_a_proxy_that_cannot_be_used_is_one_error_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch, run: Run, write_lines: WriteLines
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    ran = run("score", write_lines(RECORDS), "-m", "judge(model=m, url='http://example.invalid/v1', retries=0)")
    assert (ran.code, ran.err.count("judge: the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY")) == (2, 1)
    assert ":SECRET" not in ran.err


@pytest.mark.parametrize(
    "spec",
    [
        "judge(model=m, url='http://h/v1?key=SECRETSECRETSECRETSECRETSECRETSECRET' x=3)",  # a missing comma
        "judge(model=m, url='http://u:SECRET@h/v1' x=3)",
        "judge(model=m, url=['http://h/v1?key=SECRET'])",
        "jury(members=['http://u:SECRET@h/v1'])",
        "jury(members=['http://h/v1?k=SECRET', 'length'])",
        "judge(model=m, url='http://h/v1', key=SECRET)",
        "judge(model=m, url='http://h/v1', key_variable=sk-SECRET)",
        "judge(model=m, url='http://h/v1', key_header='SECRET: x')",
    ],
)
def test_errors_of_other_kinds_show_no_secret_either(spec: str, run: Run, write_lines: WriteLines) -> None:
    with pytest.raises(RejoinderError) as caught:
        load(spec)
    ran = run("score", write_lines(RECORDS), "-m", spec)
    for text in (str(caught.value), ran.out, ran.err):
        assert "SECRET" not in text
    if "url='http://h/v1'" not in spec:  # a misspelt option
        assert "SECRET" not in run("score", "a.jsonl", "-metric", spec).err


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://host/v1/", "http://host/v1/chat/completions"),
        ("http://host:8080/v1/chat/completions", "http://host:8080/v1/chat/completions"),
        ("https://host/accounts/@cf/v1", "https://host/accounts/@cf/v1/chat/completions"),
        (
            "https://me.openai.azure.com/openai/deployments/m?api-version=2024-10-21",
            "https://me.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
        ),
        ("http://host/v1/chat/completions?Api-Version=preview", "http://host/v1/chat/completions?Api-Version=preview"),
    ],
)
def test_other_addresses_are_accepted(url: str, address: str) -> None:
    Judge(model="m", url=url)
    assert Endpoint(url=url).address == address


def test_azure_gets_the_key_in_its_own_header() -> None:
    with serving(lambda body, number: completion("4")) as server:
        Judge(model="m", url=f"{server.url}?api-version=2024-10-21", key_header="api-key").score(
            [Example("1", ("Hi",), "Reply.")]
        )
    headers = {name.lower(): value for name, value in server.headers[0].items()}
    assert headers["api-key"] == KEY
    assert "authorization" not in headers


@pytest.mark.parametrize("key", ["sk-two words-1234", "sk-ключ-12345678", "sk-12345678\nX-Other: 1"])
def test_a_key_that_cannot_be_sent_is_one_error_without_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(CallError, match="OPENAI_API_KEY cannot be sent") as caught:
        Judge(model="m", url="http://localhost:1/v1").score([Example("1", ("Hi",), "Reply.")])
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_the_key_is_removed(form: str) -> None:
    cleaner = KeyCleaner(KEY)
    assert clean(cleaner.text(f"before {form} after"))
    assert cleaner.text(f"before {form} after").startswith("before ")
    assert cleaner.text(f"before {form} after").endswith(" after")
    found = cleaner.parsed(json.dumps({form: [form, {"x": [[form]]}], "n": 4.5, "none": None}))
    assert clean(json.dumps(found))
    assert (found["n"], found["none"]) == (4.5, None)
    escaped = "".join(f"\\u{ord(character):04x}" for character in form)
    assert clean(json.dumps(cleaner.parsed(f'{{"x": "{escaped}"}}')))


def test_a_key_in_bytes_numbers_and_tokens_is_removed() -> None:
    digits = "1234567890123"
    spelled = {"bytes": list(digits.encode()), "count": int(digits), "other": [1, 2, 3]}
    assert KeyCleaner(digits).parsed(json.dumps(spelled)) == {"bytes": [], "count": "[key]", "other": [1, 2, 3]}
    tokens = [{"token": piece, "logprob": -1.0} for piece in ("4", " sk-very", "/secret+", '"123456', "7890=", " 5")]
    found = KeyCleaner(KEY).parsed(json.dumps(tokens))
    assert found == [tokens[0], *[{"token": "[key]"}] * 4, tokens[-1]]


def test_a_short_key_changes_no_ordinary_answer() -> None:
    text = "None of this is x, I say: sk- is no word."
    for key in ("", "x", "none", "None", "sk-", "word", "of this"):
        assert len(key) < SHORTEST_CLEANED
        assert KeyCleaner(key).text(text) == text
        assert KeyCleaner(key).parsed(json.dumps([text])) == [text]
    assert KeyCleaner("of this ").text("one of this kind") == "one [key]kind"


def test_an_answer_nested_too_deeply_is_an_answer_that_cannot_be_used() -> None:
    for depth in (DEEPEST + 2, 500, 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            KeyCleaner("").parsed("[" * depth + "]" * depth)


@pytest.mark.parametrize("key", [KEY, "\\" * 40, "a\\" * 20, "s" * 40 + "k", "&#x0&#x0&#x0"])
def test_texts_that_almost_match_are_searched_in_linear_time(key: str) -> None:
    for unit in ("\\", key[:-1], f"{key[:-1]}x", "&#x0", "%", "\\u00", "&quot;"):
        KeyCleaner(key).text(unit * (100_000 // len(unit)))  # hours, if a piece could be read in several ways
    assert KeyCleaner(key).text(f"a {key} b") == "a [key] b"
    assert KeyCleaner(key).text(f"a {json.dumps(json.dumps(key))[3:-3]} b") == "a [key] b"


def echoing(body: dict[str, Any], number: int) -> Reply:
    """An answer that can be used, with every form of the key in every field."""
    if "reply A" in body["messages"][-1]["content"]:
        return echo(completion("A", [token("A", {"A": 0.9})]), *FORMS.values())
    reason = " and ".join(FORMS.values())
    said = completion(json.dumps({"score": 4, "reason": reason}), [token('{"score":', {'{"score":': 1.0})])
    return echo(said, *FORMS.values())


def check_nowhere(ran: Ran, folder: Path, logged: pytest.LogCaptureFixture, code: int = 0) -> None:
    assert ran.code == code, ran.err
    for text in (ran.out, ran.err, logged.text):
        assert clean(text)
    for path in folder.rglob("*"):
        assert path.is_dir() or clean(path.read_bytes().decode("latin-1")), path


def test_a_server_that_repeats_the_key_everywhere_gets_it_into_no_output(
    folder: Path, run: Run, write_lines: WriteLines, logged: pytest.LogCaptureFixture
) -> None:
    other = write_lines([record | {"response": f"Another {record['id']}."} for record in RECORDS], "other.jsonl")
    rated = [record | {"scores": {"overall": [int(record["id"]) % 5 + 1]}} for record in RECORDS]
    replies, judged = write_lines(RECORDS, "replies.jsonl"), write_lines(rated, "judged.jsonl")
    with serving(echoing) as server:
        one, two = (f"judge(model={name}, url='{server.url}', reason=true, samples=1)" for name in "ab")
        jury = f"jury(members=[{one}, {two}])"
        for metric in (one, jury):
            report = ("--report", folder / "report.html")
            check_nowhere(run("score", replies, "-m", metric, "-o", "scores.jsonl", *report), folder, logged)
            check_nowhere(run("score", replies, "-m", metric, "-o", "table.csv", "--json"), folder, logged)
            check_nowhere(run("compare", replies, other, "-m", metric, *report, "--details"), folder, logged)
            check_nowhere(run("trust", judged, "-m", metric, "--report", folder / "trust.html"), folder, logged)
        check_nowhere(run("compare", replies, other, "--pairwise", one, "--json"), folder, logged)
        check_nowhere(run("compare", replies, other, "--pairwise", two), folder, logged)
        assert "[key]" in (folder / "report.html").read_text()
        headers = server.headers
    assert all(sent["Authorization"] == f"Bearer {KEY}" for sent in headers)
    assert clean(repr(load(one)))
    assert clean(load(one).signature)


REFUSALS = {
    "message": refusal(401, f"wrong key: {KEY}"),
    "UTF-16": Reply(f"wrong key: {KEY}".encode("utf-16-le"), 401),
    "UTF-16, other order": Reply(f"wrong key: {KEY}".encode("utf-16-be"), 401),
    "JSON without a message": Reply(json.dumps({"detail": {KEY: [KEY]}}).encode(), 403),
    "text": Reply(" \n".join([" " * 5000, *FORMS.values()]).encode(), 400),
    "redirect": Reply(KEY.encode(), 307, {"Location": f"http://127.0.0.1:9/?key={quote(KEY)}"}),
    "busy": Reply(KEY.encode(), 429, {"Retry-After": KEY}),
    "not JSON": Reply(KEY.encode()),
    "unknown encoding": Reply(KEY.encode(), 200, {"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("reply", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_that_repeats_the_key_is_told_without_it(
    folder: Path, run: Run, write_lines: WriteLines, logged: pytest.LogCaptureFixture, reply: Reply
) -> None:
    with serving(lambda body, number: reply) as server:
        spec = f"judge(model=m, url='{server.url}', retries=1)"
        ran = run("score", write_lines(RECORDS), "-m", spec, "-o", "scores.jsonl", "--report", folder / "report.html")
        check_nowhere(ran, folder, logged, code=ran.code)
        assert ran.code in {1, 2}


def test_an_answer_that_an_earlier_version_kept_is_read_without_the_key(
    folder: Path, run: Run, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(echoing) as server:
        spec = f"judge(model=m, url='{server.url}', reason=true, samples=1)"
        monkeypatch.delenv("OPENAI_API_KEY")  # nothing is removed, as in an earlier version
        run("score", write_lines(RECORDS), "-m", spec)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        sent = len(server.requests)
        ran = run("score", write_lines(RECORDS), "-m", spec, "--report", folder / "report.html")
        assert len(server.requests) == sent
    assert ran.code == 0, ran.err
    assert clean((folder / "report.html").read_text())
    assert "[key]" in (folder / "report.html").read_text()


def test_the_service_answers_without_the_key(folder: Path, logged: pytest.LogCaptureFixture) -> None:
    testclient = pytest.importorskip("starlette.testclient")
    from rejoinder.service.app import scoring_app

    with serving(echoing) as server:
        judge = Judge(model="m", url=server.url, reason=True, samples=1)
        with testclient.TestClient(scoring_app({"judge": judge}), raise_server_exceptions=False) as client:
            found = client.post("/explain", json={"context": ["Tea?"], "response": "Yes."})
            assert found.status_code == 200
            assert clean(found.text)
    with serving(lambda body, number: REFUSALS["message"]) as server:
        judge = Judge(model="m", url=server.url)
        with testclient.TestClient(scoring_app({"judge": judge}), raise_server_exceptions=False) as client:
            assert clean(client.post("/score", json={"context": ["Tea?"], "response": "No."}).text)
    assert clean(logged.text)


def test_reasons_are_kept_apart_from_the_key() -> None:
    with serving(echoing) as server:
        judge, batch = Judge(model="m", url=server.url, reason=True, samples=1), Batch([Example("1", ("Hi",), "Yes.")])
        assert judge.score_batch(batch).tolist() == [4.0]
        assert clean(judge.reasons(batch)[0])
