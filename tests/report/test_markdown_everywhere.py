"""Words of strangers in every markdown that we print: nobody is called, nothing links, no block begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from rocdoctor.compare.differences import Comparison, Difference
from rocdoctor.judging.diagnose import rank
from rocdoctor.model.facts import Machine, ModeResult, SmokeRun
from rocdoctor.model.finding import Diagnosis, Evidence, Finding, Fix, Verdict
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step, Verify
from rocdoctor.report import markdown as form
from rocdoctor.report.diagnosis import reply, text
from rocdoctor.report.diff import diff_document
from rocdoctor.report.lint import lint_document
from rocdoctor.report.machine import bundle_document
from rocdoctor.report.plan import overview_document, recommend_document
from rocdoctor.report.setup import setup_document
from rocdoctor.report.smoke import nodes_document, smoke_document
from rocdoctor.train.recommend.plan import Needed, Recommendation
from rocdoctor.train.recommend.search.overview import Overview
from tests.examples import rows
from tests.kit import named
from tests.report.made import probed
from tests.train.recommend.fleet_kit import fleet, work

BAIT = (
    "seen @torvalds, @rocm/admins, me@mail.example, #1, GH-12, rocm/rocm#3, a#4, https://evil.example/x?a=b, "
    "www.evil.example, ftp://evil.example/f, deadbeef1234567, owner/repo@deadbeef1234567, mailto:x@y.example, "
    "https://evil.example|@torvalds, &#64;torvalds, [a](//b) ![i](x) <img src=x> **b** __c__ ~~d~~ $x$ ``` | e"
)
# Each would begin a block of its own at the start of a line.
STARTS = ("# head", "> said", "- item", "1. one", "2) two", "+ plus", "---", "===", "~~~", "    code", "| a | b |")
_MENTION = re.compile(
    r"(?<![\w`/])@\w|\w@\w|(?<!&)#\d|GH-\d|://|www\.|mailto:|(?<![0-9a-f:.])[0-9a-f]{7,40}(?![0-9a-f])"
)


def _outside_code(text: str) -> str:
    """The text as GitHub reads it, without blocks and spans of code."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,})(.*)", line)
        if fence:
            fence = "" if re.fullmatch(rf" {{0,3}}`{{{len(fence)},}}\s*", line) else fence
        elif found and "`" not in found[2]:
            fence = found[1]
        else:
            lines.append(line)
    assert not fence
    # A table is cut into its cells first.
    lines = [cell for line in lines for cell in (re.split(r"(?<!\\)\|", line) if line.startswith("| ") else [line])]
    return re.sub(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "CODE", "\n".join(lines))


def raw(text: str) -> ShellCommand:
    """A command that no gate has seen: the markdown has to stand it all the same."""
    return str.__new__(ShellCommand, text)


def _diagnosis(words: str) -> Diagnosis:
    evidence = (Evidence(words, f"read /x/{words}", 3, "words"),)
    fix = Fix(words, raw(f"run {words}"), verify=raw(words))
    found = Finding("error", words, evidence, fix, cause="gpu-reset", confidence="possible")
    verdicts = [Verdict("a-check", named(words), "fail", found), Verdict("b-check", named(words), "crashed", why=words)]
    return Diagnosis(Machine(), tuple(verdicts), rank(verdicts), (), (words,))


def _setup(words: str) -> str:
    echo = Action(("echo", words))
    written = Action(file="/etc/x", lines=(words, "```"))
    step = Step(
        "a",
        words,
        "todo",
        words,
        (Evidence(words, words, 2),),
        (echo, written),
        (words,),
        verify=Verify(command=raw(f"echo {words}"), shows=words),
        undo=(echo,),
        support=words,
        notes=(words,),
        sources=(words,),
    )
    plan = SetupPlan("rocm", (step, replace(step, id="b", state="waiting")), (words,))
    return form.render(setup_document.document(plan, [words], verbose=True))


def _diff(words: str, machines: int) -> str:
    values = tuple(f"{words} {number}" for number in range(machines))
    one = Difference(named(words), words, "finding", values, None if machines == 2 else words, tuple(range(machines)))
    two = replace(one, majority=None)
    return form.render(diff_document.document(Comparison(values, (one, two), tuple((words,) for _ in values))))


def _smoke(words: str) -> str:
    mode = ModeResult(words, "fail", 1.0, message=words)
    return form.render(smoke_document.document([SmokeRun(2, words, "cpu", words, 1.0, (mode,), (words,), (words,))]))


def _nodes(words: str) -> str:
    return form.render(nodes_document.document(probed(words)))


def _recommend(words: str) -> str:
    answer = Recommendation(fleet(), work(), None, None, words, (Needed(words),), (words,), 1, words)
    return form.render(recommend_document.document(answer))


FORMS: dict[str, Callable[[str], str]] = {
    "check": lambda words: form.render(text.document(_diagnosis(words))),
    "read": lambda words: form.render(
        reply.document(_diagnosis(words), [reply.Recognised(words, 1, 2), reply.Recognised(words, 3, 3, words)])
    ),
    "lint": lambda words: form.render(lint_document.document(_diagnosis(words).verdicts, 1)),
    "setup": _setup,
    "diff-2": lambda words: _diff(words, 2),
    "diff-3": lambda words: _diff(words, 3),
    "smoke": _smoke,
    "recommend": _recommend,
    "nodes": _nodes,
    "bundle": lambda words: form.render(bundle_document.document(_diagnosis(words), [])),
    "overview": lambda words: form.render(
        overview_document.document(Overview(replace(fleet(), name=words), {}, (), 0.0))
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_nobody_is_called_and_nothing_links(form: str) -> None:
    left = _outside_code(FORMS[form](BAIT))
    assert not _MENTION.search(left), _MENTION.search(left)
    assert "](" not in left.replace("\\](", "")
    assert not re.search(r"<(?!br>)|&(?!amp;|lt;)|(?<!\\)~~|\*\*b\*\*|__c__|(?<!\\)\$x", left)


@rows(("form", "start"), product(FORMS, STARTS))
def test_no_block_begins_with_words_of_others(form: str, start: str) -> None:
    assert _blocks(FORMS[form](start)) == _blocks(FORMS[form]("plain words"))


def _blocks(text: str) -> list[str]:
    found = [re.match(r"#+ |> |- |\d+[.)] |\+ |[-=~]{3}|    ", line) for line in _outside_code(text).split("\n")]
    return [one[0] if one else "" for one in found]
