"""Every page is made from tiny data: a wrong import, call or column shows here and not after hours of training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papers.__main__ import main
from papers.pages import PAGES
from papers.published import adem, liu2016
from papers.published.am_fm import TABLE_1_SYSTEMS, TABLE_2
from tiny_papers import roberta_eval_curve, table_with, tables_of, write_data, write_models

pytest.importorskip("torch", reason="the pages need models that are trained")

pytestmark = pytest.mark.slow

FEW = "resamples=20"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("papers") / "data")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("papers") / "models")


class Maker:
    """Makes pages from the tiny data."""

    def __init__(self, data: Path, models: Path, folder: Path) -> None:
        self.data, self.models, self.folder = data, models, folder

    def __call__(self, name: str, *settings: str, sections: tuple[str, ...] = ()) -> str:
        output = self.folder / f"{name}.md"
        given = [part for setting in settings for part in ("--set", setting)]
        given += ["--sections", *sections] if sections else []
        where = ["--data", str(self.data), "--models", str(self.models)]
        assert main([name, *where, "-o", str(output), *given]) == 0
        return output.read_text(encoding="utf-8")


@pytest.fixture
def make(data: Path, models: Path, tmp_path: Path) -> Maker:
    return Maker(data, models, tmp_path)


def test_dstc6(make: Maker) -> None:
    page = make("dstc6")
    assert len(table_with(page, ["system", "Bleu_1"])) == 21
    assert page.count("| r |") == 4, "METEOR and three embedding metrics"


def test_am_fm_table_1(make: Maker) -> None:
    rows = {row[0]: row for row in table_with(make("am-fm-table1"), ["metric"])}
    assert rows["embedding-average"][1] == "0.7768"
    assert rows["skip-thought"][1] == "-0.4563"
    assert rows["AM-FM"][1] == "0.8907"
    assert len(rows) == 9


def test_am_fm(make: Maker) -> None:
    page = make("am-fm-dstc6")
    systems = table_with(page, ["system", "people"])
    assert [row[0] for row in systems] == list(TABLE_1_SYSTEMS.rows)
    assert systems[0][2] == "0.7571"
    assert len(table_with(page, ["", "n-grams, theirs"])) == len(TABLE_2.rows)
    assert table_with(page, ["", "hypothesis"])[1][3:5] == ["1.8 ± 1.0", "0.081, 0.194, 0.104"]
    for figure in ("am-fm-dimensions", "am-fm-lambda", "am-fm-sentences"):
        assert f"({figure}.svg)" in page
        assert (make.folder / f"{figure}.svg").read_text().startswith("<svg ")
    again = make("am-fm-figure-2")
    assert "## Figure 2" in again
    assert "## Figure 1" not in again
    assert table_with(again, ["text"]) == table_with(page, ["text"]), "the scores are kept"


def test_ruber(make: Maker) -> None:
    page = make("ruber-figures", "budget=small", "encoders=GRU,MiniLM", FEW)
    trained = table_with(page, ["corpus", "encoder"])
    assert [row[:2] for row in trained] == [
        [corpus, encoder] for corpus in ("DailyDialog", "PersonaChat") for encoder in ("GRU", "MiniLM")
    ]
    differences = table_with(page, ["set", "encoder", "worst other blend above max"])
    assert [row[:2] for row in differences] == [row[:2] for row in trained]
    assert len(table_with(page, ["target", "reached"])) == 3 + 2
    tao = {row[0]: row[1:] for row in table_with(page, ["", "Tao et al., retrieval"])}
    theirs = [tao[row][0] for row in ("human, mean", "BLEU-2", "s_U")]
    assert theirs == ["0.493 / 0.498", "0.224 / 0.239", "0.428 / 0.434"]
    assert all(cell.count("[") == 2 for row in tao.values() for cell in row[2:]), "ours have intervals"
    kept = sorted(path.name.rpartition("-")[0] for path in (make.models / "reproduction" / "models").iterdir())
    assert [name for name in kept if name != "ruber-studies"] == [
        "ruber-dailydialog-gru",
        "ruber-dailydialog-minilm",
        "ruber-personachat-gru",
        "ruber-personachat-minilm",
    ]


def test_ruber_between_corpora(make: Maker) -> None:
    page = make("ruber-transfer", "budget=small", "encoders=GRU", FEW)
    rows = table_with(page, ["tested on", "encoder"])
    assert [row[0] for row in rows] == ["DailyDialog"] * 6 + ["PersonaChat"] * 6
    assert {row[0]: row[-1] for row in rows if row[2] == "arithmetic"} == {
        "DailyDialog": "0.06 / 0.06",
        "PersonaChat": "0.12 / 0.17",
    }
    tao = {row[0]: row[1:] for row in table_with(page, ["", "Tao et al., Douban -> Baidu Tieba"])}
    assert tao["s_U"][0] == "0.291 / 0.256"
    assert tao["BLEU-4"][0] == "", "it is not in their table"
    assert all(cell.count("[") == 2 for row in tao.values() for cell in row[1:]), "ours have intervals"
    assert "`margin=0.5`" in page
    assert table_with(make("ruber-table-4", "budget=small", "encoders=GRU", FEW), ["tested on", "encoder"]) == rows


def test_ruber_over_turns(make: Maker) -> None:
    page = make("ruber-figures", "budget=small", "encoders=hierarchical", FEW, sections=("figure_1",))
    assert [row[1] for row in table_with(page, ["set", "encoder", "1"])] == ["hierarchical"] * 2


def test_adem(make: Maker) -> None:
    page = make("adem-figures", "sets=zhao2020_dailydialog", "encoders=tweet2vec", FEW)
    assert "(Zhao et al., HRED)" not in page, "their encoder is an HRED"
    assert "0.411 / 0.408 (Lowe et al., Twitter)" in page, "ADEM over tweet2vec"
    assert len(table_with(page, ["encoder", "epoch 0"])) == 2
    assert table_with(page, ["", "within 6 words"])[1] == ["ADEM", "2.072", "2.015", "0.23"]
    assert table_with(page, ["set", "encoder", "area"])
    assert "Zhao et al. 2020 ADEM's standard deviation is 0.51 (0.30 without" in page


def test_the_time_of_adem(make: Maker) -> None:
    rows = table_with(make("adem-table-11"), ["", "replies", "seconds"])
    assert [row[0] for row in rows] == ["Lowe et al. 2017, CPU", "Lowe et al. 2017, GPU", "ours, minilm, CPU"]
    assert rows[0][2] == "2,861"
    assert float(rows[2][2]) >= 0


def test_one_figure_of_adem(make: Maker) -> None:
    page = make("adem-figure-7", "sets=humod", "encoders=minilm", "contexts=12")
    assert "## While it trains" in page
    assert "## Agreement with people" not in page
    assert (make.folder / "adem-training.svg").exists()
    assert page.rstrip().endswith(
        "Made by `python -m papers adem-figure-7 --data DATA --set sets=humod --set contexts=12 "
        "--set encoders=minilm -o adem-figure-7.md`."
    )


def test_reply_models(make: Maker) -> None:
    page = make("reply-model-figures", "contexts=12")
    assert "These models learned next to nothing." in page
    assert page.count("| `r-tfidf` | dailydialog | ") == 1
    assert page.count(".536 / .370 / .342 | .483 / .356 / .340") == 1
    assert "HRED is above the LSTM: not measured here" in page
    assert page.count("| true reply | ") == 5
    other = make("reply-model-figures-empathetic", "contexts=12")
    assert other.startswith("# Reply models in figures: empatheticdialogues")
    assert "--set corpus=empatheticdialogues --set contexts=12 -o reply-model-figures-empathetic.md`." in other


def test_roberta_eval(make: Maker) -> None:
    page = make("roberta-eval", FEW)
    ranking = table_with(page, ["encoder", "steps"])
    assert [row[1:5] for row in ranking] == [["500", "0.027", "1000", "0.500"], ["1,000", "0.053", "2000", "0.700"]]
    assert ranking[0][5:] == ["0.100 / 0.200", "0.300 / 0.400"]
    [labels] = table_with(page, ["judged", "encoder"])
    assert labels[1:] == ["tiny", "1,000", "33", "33, ended", "3", "0.200, 0.400, 0.300"]
    tested = table_with(page, ["trained on"])
    assert [row[5] for row in tested if "Zhao" in row[2]] == ["0.64", "0.69", "0.75", "0.50"]
    [ours] = [row for row in tested if row[2] == "tiny"]
    assert float(ours[5].split()[0]) > 0.9, "the scores are the ratings, outliers included"
    assert (
        "- *Steps*, tiny: the settings ask for 5.2 doublings of its 1,000 ranking steps; from 500 steps on, each "
        in page
    )
    assert all((make.folder / f"roberta-eval-{name}.svg").exists() for name in ("ranking", "labels"))
    recorded = json.loads((make.folder / "roberta-eval.json").read_text())
    assert recorded == {"note": "", "curves": {"tiny": roberta_eval_curve()}}


def test_roberta_eval_without_curves(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["roberta-eval", "--data", str(data), "-o", str(tmp_path / "page.md"), "--models"]
    assert main([*command, str(tmp_path)]) == 2
    assert "holds no curve.jsonl: expected one per encoder" in capsys.readouterr().err
    home = tmp_path / "roberta-eval" / "broken"
    home.mkdir(parents=True)
    (home / "curve.jsonl").write_text('{"stage": "rank"\n')
    assert main([*command, str(tmp_path)]) == 2
    assert "curve.jsonl:1: is not JSON" in capsys.readouterr().err


def test_evaluators(make: Maker) -> None:
    sets = ("zhao2020_dailydialog", "zhao2020_dailydialog/test", "usr_personachat/context", "conture_dialogue")
    page = make("evaluator-figures", f"only={','.join(sets)}", FEW)
    numbers = json.loads((make.folder / "evaluator-figures.json").read_text())
    rows = {row["judged"]: {cell["scorer"]: cell for cell in row["cells"]} for row in numbers["zero"]}
    assert tuple(rows) == sets
    assert rows["usr_personachat/context"]["cosine, minilm"]["scored"] == 56
    assert rows["zhao2020_dailydialog"]["mpnet, zero labels"]["reason"] == "not measured yet"
    semi = {row["judged"]: {cell["scorer"]: cell for cell in row["cells"]} for row in numbers["semi"]}
    assert semi["zhao2020_dailydialog/test"]["default, with labels of the set's other contexts"]["scored"] > 10
    assert semi["zhao2020_dailydialog"]["default-fast, as it ships"]["scored"] == 56
    assert "0.64 / 0.66 RoBERTa-eval, 355 M parameters (Zhao et al. 2020, Tables 3 and 4)" in page
    assert ["semi", "zhao2020_dailydialog/test", "mpnet", "0.64 / 0.66"] in [
        row[:4] for row in table_with(page, ["setting"])
    ]
    again = make("evaluator-figures", f"only={sets[0]}", FEW, "cached=true")
    assert tables_of(again)[0][1] == tables_of(page)[0][1], "the scores are kept"


def test_metrics_on_judged_sets(make: Maker) -> None:
    sets = "sets=zhao2020_dailydialog,usr_personachat"
    page = make("metric-figures", sets, FEW)
    (table,) = [rows for rows in tables_of(page) if rows[0][1:3] == ["Liu et al., Twitter", "Liu et al., Ubuntu"]]
    assert [row[0] for row in table[1:]] == list(liu2016.TABLE_3.rows)
    assert table[1][1] == "0.20<br>0.21", "greedy matching on Twitter: .1994 and .2119"
    assert page.count("| people | ") == 2, "length bias on each set"
    assert (make.folder / "metric-scatter.svg").read_text().count("<circle") == 3 * 56
    one = make("liu2016-table-4", sets, FEW)
    assert "## Without stop words" in one
    assert "## Length" not in one


def test_raters(make: Maker) -> None:
    page = make("rater-figures", "sets=zhao2020_dailydialog,humod")
    assert len(table_with(page, ["set", "question", "replies"])) == 4 + 3 + 1, "theirs, and each question of ours"
    assert table_with(page, ["set", "question", "alpha"])[0][2:] == ["0.431", "0.815", "3,600", "2,705"]
    sources = table_with(page, ["set", "source"])
    assert [row[1] for row in sources] == ["all sources", "ground-truth", "hred", "seq2seq", "negative-sample"]
    assert (make.folder / "rater-sources.svg").read_text().count('class="bar"') == len(sources)


def test_studies_of_evaluators(make: Maker) -> None:
    page = make("evaluator-studies", FEW)
    assert [row[:2] for row in table_with(page, ["", "Lowe et al."])] == [
        [label, f"{value:.3f}"] for label, (value,) in adem.TABLE_4.rows.items()
    ]
    kinds = table_with(page, ["", "replies", "BLEU-2"])
    assert ["[" in row[2] for row in kinds] == [True] * 3 + [False] * 3, "three kinds of replies, ours and theirs"
    third = table_with(page, ["", "Zhao et al.: Pearson / Spearman / SD"])
    assert third[0][1] == "0.31 / 0.23 / 0.31"
    assert [row[0] for row in third][-2:] == ["RoBERTa-eval; ours: default@1", "Human"]
    assert all(float(row[3]) > 0 for row in third)
    assert all("[" in row[2] for row in third[:-1])
    fourth = table_with(page, ["evaluator", "trained on", "tested on"])
    assert [row[0] for row in fourth] == ["ADEM"] * 4 + ["blend"] * 4
    assert [row[-2] for row in fourth] == ["-"] * 4 + ["0.640", "0.690", "0.750", "0.500"]
    robust = {row[0]: row[1] for row in table_with(page, ["", "RoBERTa-eval"])}
    assert robust["without true replies"] == "0.62 / 0.64"
    assert page.count("| last turn | ") + page.count("There is no such reply.") == 5
    for figure in ("systems", "replies", "ruber", "amounts"):
        assert f"(evaluator-{figure}.svg)" in page
        assert (make.folder / f"evaluator-{figure}.svg").exists()
    kept = [path.name for path in (make.models / "reproduction" / "models").iterdir()]
    assert sum(name.startswith("ruber-studies-") for name in kept) == 1


def test_every_page_is_tried_here() -> None:
    tried = {"dstc6", "am-fm-table1", "am-fm-dstc6", "ruber-figures", "ruber-transfer", "adem-figures", "adem-speed"}
    tried |= {"metric-figures", "rater-figures", "evaluator-studies", "reply-model-figures-empathetic"}
    assert tried | {"reply-model-figures", "roberta-eval", "evaluator-figures", "papers"} == set(PAGES)
