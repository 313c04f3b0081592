"""What a terminal shows of a document stands in its markdown too: all words of each line, next to each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from rocdoctor.compare.differences import compare
from rocdoctor.compare.snapshot import snapshot
from rocdoctor.parsers.own.smoke_results import from_text
from rocdoctor.repair.fixes.offers import offers
from rocdoctor.report import markdown, text
from rocdoctor.report.diagnosis.reply import Recognised
from rocdoctor.report.diagnosis.reply import document as reply
from rocdoctor.report.diagnosis.text import document as diagnosis_document
from rocdoctor.report.diff.diff_document import document as diff_document
from rocdoctor.report.document import Block
from rocdoctor.report.fixes.fix_document import document as fix_document
from rocdoctor.report.fleet.net_document import document as net_document
from rocdoctor.report.lint.lint_document import document as lint_document
from rocdoctor.report.machine.bundle_document import document as bundle_document
from rocdoctor.report.plan.estimate_document import document as estimate_document
from rocdoctor.report.plan.overview_document import document as overview_document
from rocdoctor.report.plan.recommend_document import document as recommend_document
from rocdoctor.report.setup.setup_document import document as setup_document
from rocdoctor.report.smoke.mode_list import document as mode_list
from rocdoctor.report.smoke.mode_proof import document as mode_proof
from rocdoctor.report.smoke.nodes_document import document as nodes_document
from rocdoctor.report.smoke.smoke_document import document as smoke_document
from rocdoctor.train.recommend.estimate import answer_of, solve
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.search.overview import overview
from rocdoctor.train.smoke.figures.judge_figures import LowFigure
from rocdoctor.train.smoke.worker.mode import all_modes
from tests.fleet.net_kit import NetWorld
from tests.fleet.net_runs import run_of
from tests.golden.replay import judged_fixture
from tests.kit import ROOT
from tests.plans_once import recommend
from tests.repair.setup.plan_kit import PLANS
from tests.report.made import BAD, FULL, GOOD, SKIPPED, probed, smoke_run
from tests.train.recommend.fleet_kit import fleet
from tests.train.smoke.figures.measured import MEASURED

Blocks = Sequence[Block]
RECORDED = from_text((ROOT / "tests" / "golden" / "smoke_2_ranks.json").read_text(encoding="utf-8"))
SPEC = {"model": "llama-3.2-1b", "gpu": "MI300X", "gpus": 8, "seq": 4096, "micro_batch": 1}


def _diff(*names: str) -> Blocks:
    shots = [snapshot(name, judged_fixture(name).machine, judged_fixture(name).verdicts, False) for name in names]
    return list(diff_document(compare(shots)))


def _fixes(name: str) -> Blocks:
    found = offers(judged_fixture(name))
    return list(fix_document(found, [None] * len(found), None))


def _plan(model: str, gpus: str) -> Blocks:
    return recommend_document(recommend(fleet(gpus), read_workload(model, "full")))


DOCUMENTS: dict[str, Callable[[], Blocks]] = {
    "made": lambda: list(diagnosis_document(FULL, verbose=True)),
    "check": lambda: list(diagnosis_document(judged_fixture("wsl2-rx7900xtx"), verbose=True)),
    "pasted": lambda: list(diagnosis_document(judged_fixture("rx6700xt-override"), pasted=True)),
    "diff-2": lambda: _diff("rx9070xt", "h100-8gpu"),
    "diff-3": lambda: _diff("rx9070xt", "h100-8gpu", "mi210-8gpu"),
    "fix": lambda: _fixes("rx6700xt-override"),
    "lint": lambda: list(lint_document(FULL.verdicts, 2)),
    "reply": lambda: list(reply(FULL, [Recognised("a part", 1, 2), Recognised("an old part", 3, 3, "it is old")])),
    "bundle": lambda: list(bundle_document(judged_fixture("wsl2-rx7900xtx"), [("secrets", 2, 3)])),
    "smoke": lambda: smoke_document(RECORDED),
    "smoke-figures": lambda: smoke_document([MEASURED]),
    "smoke-faults": lambda: smoke_document([smoke_run(GOOD, BAD, SKIPPED)], [LowFigure(0, None, ("copy",), "Slow.")]),
    "smoke-modes": lambda: mode_list(all_modes()),
    "smoke-proofs": lambda: mode_proof(all_modes()),
    "nodes": lambda: nodes_document(replace(probed(), runs=RECORDED)),
    "net": lambda: list(net_document(run_of(NetWorld(80, 16, 1, {5: 0.4, 70: 0.0}, uplinks={2: 0.5}, hung=(23,))))),
    "overview": lambda: overview_document(overview(fleet("2xMI300X"))),
    "estimate": lambda: list(
        estimate_document({**answer_of(solve(SPEC)), "trace": {"state": "no", "why": "no torch"}})
    ),
    "recommend": lambda: _plan("llama-3.1-8b", "8xMI300X"),
    "recommend-nothing": lambda: _plan("llama-3.1-405b", "T4:16GiB"),
    **{f"setup-{name}": lambda name=name: _setup(name) for name in PLANS},  # type: ignore[misc]
}


def _setup(name: str) -> Blocks:
    return list(setup_document(PLANS[name], ["gpu 0     AMD Radeon"], verbose=True))


def _words(shown: str) -> str:
    """The words of a form without layout and markup, a blank between each two."""
    bare = shown.replace("&lt;", "<").replace("&amp;", "&")
    return " ".join(re.findall(r"[a-z0-9]+", bare.lower()))


def _sentences(blocks: Blocks) -> Iterator[str]:
    """What each line of a wide terminal says; columns, and the sides of a change, apart from each other."""
    for line in text.render(blocks, 10**5).splitlines():
        for part in re.split(r" {2,}|\t| -> | \(|\)|; |(?<=:) ", line):
            if words := _words(part):
                yield words


@pytest.mark.parametrize("name", DOCUMENTS)
def test_markdown_says_all_that_a_terminal_shows(name: str) -> None:
    blocks = DOCUMENTS[name]()
    said = f" {_words(markdown.render(blocks))} "
    sentences = list(_sentences(blocks))
    assert len(sentences) > 1 or "lint" in name
    assert [one for one in sentences if f" {one} " not in said] == []


def test_nobody_else_lays_out_lines_or_writes_markdown() -> None:
    """Documents are values: lines are broken in one place, and tables, fences and lists are marked in one."""
    paths = [*(ROOT / "rocdoctor" / "report").rglob("*.py"), *(ROOT / "rocdoctor" / "cli").rglob("*.py")]
    texts = {path.relative_to(ROOT / "rocdoctor").as_posix(): path.read_text(encoding="utf-8") for path in paths}
    marks = re.compile(r'"(?:\*\*|- \{|#{2,3} |\| ?-{3})|`{3}[\w"]')
    assert {name for name, text in texts.items() if "textwrap" in text} == {"report/text.py"}
    # A manual page is markdown from the start.
    assert {name for name, text in texts.items() if marks.search(text)} == {
        "report/markdown.py",
        "report/advice_page.py",
    }
