"""ruber's own setting: Chinese, cut into words (section 4.1). The dialogues were written for this test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.evaluators.ruber.unref import tokenised
from rejoinder.metrics.batch import TextOptions
from rejoinder.types import Dialogue, Example

if TYPE_CHECKING:
    from running import Run, WriteLines

pytest.importorskip("jieba", reason="needs jieba to cut Chinese into words")

TEXT = """
今天天气怎么样？|今天天气很好，阳光很大。|那我们去公园散步吧。|好啊，公园里的花都开了。
明天会下雨吗？|天气预报说明天会下雨。|那我要带雨伞。|对，别忘了带雨伞。
外面冷不冷？|外面很冷，还刮大风。|那我多穿一件衣服。|穿厚衣服，别感冒了。
昨天晚上下雪了吗？|昨天晚上下了很大的雪。|孩子们一定很高兴。|是的，他们在外面堆雪人。
你想吃什么？|我想吃饺子。|那我们去吃饺子吧。|好的，那家饺子很好吃。
你会做饭吗？|会，我会做几个菜。|你做的菜好吃吗？|朋友都说我做的菜好吃。
晚饭吃面条好吗？|好，我最喜欢吃面条。|要不要放辣椒？|少放一点辣椒就好。
这家饭馆贵吗？|这家饭馆不贵，味道也好。|我们点几个菜？|两个人点三个菜就够了。
你喜欢喝茶还是咖啡？|我喜欢喝茶。|你喜欢喝绿茶吗？|喜欢，绿茶很香。
你看过那部电影吗？|看过，那部电影很感人。|演员演得怎么样？|演员演得非常好。
周末去看电影好吗？|好，我们看什么电影？|看一部喜剧电影吧。|喜剧电影让人开心。
你喜欢听什么音乐？|我喜欢听古典音乐。|你会弹钢琴吗？|会一点，我小时候学过钢琴。
他唱歌唱得好吗？|他唱歌唱得很好听。|他是歌手吗？|他不是歌手，只是喜欢唱歌。
你的工作忙吗？|工作很忙，每天都加班。|你要注意休息。|谢谢，周末我会休息。
你在哪里工作？|我在一家银行工作。|银行的工作累吗？|银行的工作有点累。
老板今天在公司吗？|老板出差了，不在公司。|老板什么时候回来？|老板下星期一回来。
你找到工作了吗？|找到了，下个月开始工作。|恭喜你找到工作！|谢谢，我很高兴。
考试考得怎么样？|考试考得不错。|你复习了很久吧？|是的，我复习了一个月。
你在学什么？|我在学英语。|英语难学吗？|英语的语法有点难。
作业写完了吗？|作业还没写完。|快点写作业吧。|好，我马上写作业。
图书馆几点关门？|图书馆晚上九点关门。|我可以借几本书？|一次可以借五本书。
你养猫还是养狗？|我养了一只猫。|你的猫叫什么名字？|我的猫叫小白。
你的狗几岁了？|我的狗三岁了。|狗每天都要散步吗？|要，我每天带狗散步。
你去过北京吗？|去过，北京很大。|你爬过长城吗？|爬过，长城非常壮观。
我们坐火车去吗？|坐火车比较方便。|火车票贵不贵？|火车票不贵。
飞机几点起飞？|飞机下午三点起飞。|我们要早点去机场。|对，早点去机场比较好。
暑假你想去哪里旅行？|我想去海边旅行。|你会游泳吗？|会，我在海里游泳。
你喜欢什么运动？|我喜欢打篮球。|你每天都打篮球吗？|周末才打篮球。
昨天的足球比赛谁赢了？|昨天的足球比赛我们赢了。|比赛精彩吗？|比赛非常精彩。
这件衣服多少钱？|这件衣服两百块钱。|能便宜一点吗？|可以便宜二十块钱。
医院在哪里？|医院在学校旁边。|走路要多久？|走路大概十分钟。
你的手机坏了吗？|手机坏了，不能打电话。|去商店修手机吧。|好，我下午去修手机。
"""
DIALOGUES = [
    Dialogue(str(number), tuple(line.split("|"))) for number, line in enumerate(TEXT.strip().splitlines(), start=1)
]
SMALL = {"hidden": 24, "units": 24, "epochs": 40, "learning_rate": 0.01, "dropout": 0.0, "min_count": 1}


@pytest.fixture(scope="module")
def model() -> Ruber:
    return Ruber(tokenise="jieba", **SMALL).fit(DIALOGUES)  # type: ignore[arg-type]


def replies(shift: int) -> list[Example]:
    """The second turn of each dialogue, or of another one, as a reply to the first."""
    return [
        Example(here.id, here.turns[:1], DIALOGUES[(place + shift) % len(DIALOGUES)].turns[1], here.turns[1:2])
        for place, here in enumerate(DIALOGUES)
    ]


def test_words_and_not_characters() -> None:
    words, rows = tokenised(["你喜欢喝绿茶吗？", "OK，喜欢 ！"], TextOptions("jieba"))
    assert [[words[code] for code in row] for row in rows] == [
        ["你", "喜欢", "喝", "绿茶", "吗", "？"],
        ["ok", "，", "喜欢", "！"],
    ]


@pytest.mark.slow
def test_words_have_vectors_of_their_own(model: Ruber) -> None:
    assert {"喜欢", "雨伞", "火车票"} <= set(model.vectors_.words)
    assert model.vectors_.dims == 50


def test_true_replies_score_above_those_of_other_dialogues(model: Ruber) -> None:
    true, wrong = (model.unref.score(replies(shift)) for shift in (0, 7))
    assert np.mean(true > wrong) > 0.9
    near = model.ref.score(replies(7))
    assert (model.ref.score(replies(0)) == 1).all()
    assert (near < 1).all()
    assert np.mean(model.score(replies(0)) > model.score(replies(7))) > 0.9


def test_the_whole_chain(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    talk = write_lines([{"turns": dialogue.turns} for dialogue in DIALOGUES], "dialogues.jsonl")
    ran = run("train", "ruber", "--dialogues", talk, "--tokenise", "jieba", "--epochs", "2", "--hidden", "8", "-o", "m")
    assert ran.code == 0, ran.err
    assert ran.err.startswith("32 dialogues\nranking: step 2 of 4, loss ")
    assert "\nrange of scores: s_R " in ran.err
    written = write_lines(
        [{"context": e.context, "response": e.response, "references": e.references} for e in replies(1)]
    )
    told = run("score", written, "-m", "m", "-m", "m(part=unref)", "--json", "--quiet")
    assert told.code == 0, told.err
    assert 0 <= told.json["summary"]["m"][""]["mean"] <= 1
    assert "|tokenise:jieba|" in told.json["signatures"]["m"]


def test_without_jieba_it_says_what_to_install() -> None:
    script = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "jieba" else real(name, *rest)
from rejoinder.errors import MissingExtraError
from rejoinder.evaluators.ruber.unref import RuberPool
try:
    RuberPool(tokenise="jieba")
except MissingExtraError as error:
    sys.exit(str(error))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (
        done.stderr
        == "cutting Chinese into words needs an optional part: pip install '.[chinese]' in a checkout of rejoinder\n"
    )
