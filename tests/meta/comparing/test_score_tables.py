"""Numbers that exist already are compared without texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rejoinder
from rejoinder.errors import CallError, DataError

if TYPE_CHECKING:
    from running import Run, WriteLines


def rows(n: int = 10, **more: Any) -> list[dict[str, Any]]:
    """v2 is rated one point above v1 on each item."""
    return [
        {"id": str(item), "system": system, "rating": item % 3 + place, "liked": place == 1, "comment": "fine", **more}
        for item in range(n)
        for place, system in enumerate(("v1", "v2"))
    ]


def test_ratings_of_a_frame() -> None:
    compared = rejoinder.compare(scores=pl.DataFrame(rows()))
    assert compared.primary.metric == "rating"
    assert compared.better == "v2"
    assert compared.verdicts[0].result.paired
    assert "Primary metric: rating, the first column." in compared.sentences
    assert compared.table.notes == (
        "compared columns of <polars DataFrame>: rating, liked; higher is taken as better",
        "left out comment: not only numbers",
    )


def test_all_formats_and_chosen_columns(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    write_lines(rows(), "ratings.jsonl")
    pl.DataFrame(rows()).write_csv(tmp_path / "ratings.csv")
    pl.DataFrame(rows()).write_parquet(tmp_path / "ratings.parquet")
    told = [
        run("compare", "--scores", f"ratings.{kind}", "-m", "liked", "--json").json
        for kind in ("jsonl", "csv", "parquet")
    ]
    assert told[0]["comparisons"] == told[1]["comparisons"] == told[2]["comparisons"]
    assert [verdict["metric"] for verdict in told[0]["comparisons"]] == ["liked"]
    assert (told[0]["better"], told[0]["primary"]) == ("v2", "liked")


def test_several_ratings_of_one_reply_belong_together() -> None:
    twice = [{**row, "rating": row["rating"] + extra} for row in rows() for extra in (0, 1)]
    (verdict,) = rejoinder.compare(scores=twice, metrics=["rating"]).verdicts
    assert verdict.n == 10
    assert verdict.difference == pytest.approx(1.0)
    lists = [{**row, "rating": [row["rating"], row["rating"] + 1, None]} for row in rows()]
    assert rejoinder.compare(scores=lists, metrics="rating").verdicts[0].difference == pytest.approx(1.0)


def test_our_own_score_files(run: Run, write_lines: WriteLines) -> None:
    """Metadata say that less repetition is better."""
    texts = {"v1": "a b a b a b c", "v2": "a b c d e f g"}
    replies = [
        {"id": str(n), "system": system, "context": [f"q{n}"], "response": text + " x" * n}
        for n in range(9)
        for system, text in texts.items()
    ]
    run("score", write_lines(replies), "-m", "repetition", "-m", "length", "-o", "scores.jsonl")
    told = run("compare", "--scores", "scores.jsonl", "--json").json
    assert told["better"] == "v2"
    assert told["comparisons"][0]["higher_is_better"] is False
    direct = run("compare", "replies.jsonl", "-m", "repetition", "-m", "length", "--json").json
    assert [c["p"] for c in told["comparisons"]] == [c["p"] for c in direct["comparisons"]]


def test_scores_of_different_signatures_do_not_meet(run: Run, write_lines: WriteLines) -> None:
    """Two files with columns of one name, which were computed in different ways."""
    for system in ("v1", "v2"):
        replies = [{"id": str(n), "system": system, "context": ["q"], "response": f"a b c{n}"} for n in range(9)]
        path = write_lines(replies)
        for size in (1, 2):
            run("score", path, "-m", f"distinct(n={size})", "-m", "length", "-o", f"{system}-{size}.jsonl")
    for name in ("v1-1", "v2-2"):  # the label has the parameters in it, so it is made the same by hand
        text = Path(f"{name}.jsonl").read_text(), Path(f"{name}.meta.json").read_text()
        for suffix, each in zip(("jsonl", "meta.json"), text, strict=True):
            Path(f"{name}.{suffix}").write_text(each.replace(f"distinct(n={name[-1]})", "distinct"))
    ran = run("compare", "--scores", "v1-1.jsonl", "v2-2.jsonl")
    assert ran.code == 2
    assert "distinct was not computed in the same way: 'n:1' in v1-1.jsonl, 'n:2' in v2-2.jsonl" in ran.err
    assert ran.err.count("\n") == 1
    assert run("compare", "--scores", "v1-1.jsonl", "v2-2.jsonl", "-m", "length", "--json").json
    assert run("compare", "--scores", "v1-2.jsonl", "v2-2.jsonl", "-m", "length", "--json").json


def test_clusters_and_other_names(run: Run, write_lines: WriteLines) -> None:
    records = [
        {"item": row["id"], "model": row["system"], "score": row["rating"], "user": int(row["id"]) // 2}
        for row in rows(20)
    ]
    write_lines(records, "ratings.jsonl")
    named = ["--field", "id=item", "--field", "system=model"]
    ran = run("compare", "--scores", "ratings.jsonl", *named, "--cluster", "user", "--json")
    assert ran.json["comparisons"][0]["groups"] == 10
    assert "belong to 10 clusters (by user)" in ran.err
    assert [c["metric"] for c in ran.json["comparisons"]] == ["score"]
    paired = run("compare", "--scores", "ratings.jsonl", *named, "--pair-by", "user", "--json").json
    assert paired["comparisons"][0]["n"] == 10


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"id": "1", "x": 2}], "<list>:1: field 'system': is missing: expected the system's name, found id, x"),
        ([{"system": "a", "x": 2}], "<list>:1: field 'id': is missing: rows of several systems are paired by id"),
        ([{"id": "1", "system": "a", "x": 2}], "<list>: has only one system: expected at least two to compare"),
        (
            [{"id": "1", "system": "a", "x": "good"}, {"id": "1", "system": "b", "x": "bad"}],
            "<list>: has no column of numbers: found x",
        ),
        ([7], "<list>:1: expected a row with id, system and numbers"),
    ],
)
def test_bad_tables(records: list[Any], message: str) -> None:
    with pytest.raises(DataError) as raised:
        rejoinder.compare(scores=records)
    assert str(raised.value) == message


def test_bad_rows_can_be_skipped_and_context_ids_pair() -> None:
    other_ids = [{**row, "id": f"{row['system']}-{row['id']}", "context_id": row["id"]} for row in rows()]
    compared = rejoinder.compare(scores=[*other_ids, {"id": "x", "rating": 3}], metrics="rating", on_error="skip")
    assert [line.partition(": ")[0] for line in compared.skipped] == ["<list>:21"]
    assert (compared.verdicts[0].result.paired, compared.verdicts[0].n) == (True, 10)


def test_wrong_calls() -> None:
    with pytest.raises(CallError, match=r"^unknown column of <list>: 'ratin'; did you mean rating\?$"):
        rejoinder.compare(scores=rows(), metrics=["ratin"])
    with pytest.raises(DataError, match=r"^<list>: field 'comment': expected only numbers$"):
        rejoinder.compare(scores=rows(), metrics=["comment"])
    with pytest.raises(CallError, match=r"^scores are compared alone"):
        rejoinder.compare(rows(), scores=rows())


def test_labels_need_no_texts(run: Run, tmp_path: Path) -> None:
    """As the help says: id, system, scores."""
    with (tmp_path / "replies.jsonl").open("w") as file:
        for item in range(30):
            for system, words in (("v1", 2), ("v2", 5)):
                record = {
                    "id": str(item),
                    "system": system,
                    "context": [f"q{item}"],
                    "response": "w " * (words + item % 3),
                }
                file.write(json.dumps(record) + "\n")
    table = ["id,system,scores", *(f"{item},v{v},{item % 3 + v}" for item in range(20) for v in (1, 2))]
    (tmp_path / "labels.csv").write_text("\n".join(table) + "\n")
    told = run("compare", "replies.jsonl", "-m", "length", "--labels", "labels.csv", "--json").json
    assert (told["better"], told["decided_by"]) == ("v2", "people")
    assert told["verdict"].startswith("People would rate v2 above v1 by 1.000")
    within = run("compare", "replies.jsonl", "-m", "length", "--labels", "labels.csv", "--margin", "3", "--json").json
    assert within["margin"] == 3
