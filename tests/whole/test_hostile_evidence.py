"""Hostile words anywhere in the evidence: what is printed for copying is typed into a shell that runs nothing real."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.cli.main import run
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.next_steps import missing_outputs
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.fixes.offers import offers
from rocdoctor.repair.setup.command_lines import quoted, typed
from rocdoctor.repair.setup.plan import Action
from rocdoctor.repair.setup.planner import plan
from rocdoctor.report import markdown
from rocdoctor.report import text as terminal
from rocdoctor.report.diagnosis import json_report, reply, text
from rocdoctor.report.fixes.fix_document import document as fixes
from rocdoctor.train.smoke.nodes.findings import NodeFinding, local_findings
from rocdoctor.train.smoke.nodes.interfaces import NodeInterface
from rocdoctor.train.smoke.nodes.node_place import NodePlace as Meeting
from rocdoctor.train.smoke.nodes.path_findings import frame_findings
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink, Stream
from rocdoctor.train.smoke.nodes.rendezvous import explain
from tests.golden.faulty import MACHINES
from tests.golden.replay import NAMES, host_of, judged, our_checks
from tests.hostile import places, with_words
from tests.shell_box import HOSTILE, MARK, ShellBox, needs_bash
from tests.text_kit import TEXTS, diagnosed, header_and_body
from tests.train.smoke.nodes.test_findings import LO, node

pytestmark = needs_bash

# All of the signs in two words, the second of which is refused where the first is quoted.
_QUICK = (f'x\';touch {MARK};"$(touch {MARK})"${{IFS}}#&&touch {MARK}|touch {MARK}', f"`touch {MARK}`\n-touch {MARK}")
_OF_MACHINES = ("rx7900xtx-podman", "rtx4090-2gpu")
_FENCE = re.compile(r"(?ms)^```sh\n(.*?)^```$")
# The first word of a command, quoted or not. One with a path: the shell of these tests starts no program that has one.
_PROGRAM = re.compile(r"""(\A|;\s(?:\\\n)?\s*)((?:'[^']*'|"'"|[~\w./+-]+)+)(?=\s|\Z)""")
_ROWS = re.compile(r"(?m)^ {3}(?:run|verify|type) +((?:.*\\\n)*.*)$")


def commands(found: Diagnosis) -> Iterator[str]:
    """Every command of a diagnosis."""
    for verdict in found.verdicts:
        fix = verdict.finding.fix if verdict.finding is not None else None
        if fix is not None:
            yield from (one for one in (fix.command, fix.verify) if one)
    yield from (step.command for step in (*found.next, *missing_outputs(found.machine, ())))


def printed(found: Diagnosis) -> Iterator[str]:
    """What the forms of a report give for copying, as they give it."""
    found = replace(found, next=(*found.next, *missing_outputs(found.machine, ())))
    known = {*commands(found), *(f"rocdoctor check {verdict.check}" for verdict in found.verdicts)}
    for form in (markdown.render(text.document(found)), markdown.render(reply.document(found))):
        for block in _FENCE.findall(form):
            lines = [line for line in block.splitlines() if not line.startswith("# ")]
            assert set(lines) <= known, "a fence is not what was meant"
            yield from lines
    told: Any = json.loads(json.dumps(json_report.report(found, {}, {}, {}), default=str))
    for one in _fixes(told):
        assert {one["command"] or "", one["verify"] or ""} <= known | {""}
    shown = text.render(found, width=60)
    for line in re.findall(r"(?m)^  verify: (.*)$", shown):
        assert line in known, line
    made = offers(found)
    listed = terminal.render(fixes(made, [None] * len(made), None), 60)
    yield from _ROWS.findall(listed)


def _fixes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if {"command", "verify"} <= set(value):
            yield value
        for one in value.values():
            yield from _fixes(one)
    elif isinstance(value, list):
        for one in value:
            yield from _fixes(one)


def of_plan(found: Diagnosis) -> Iterator[str]:
    """The commands of a set-up plan, with a stand-in for programs that are named by a path."""
    for step in plan(found).steps:
        for action in (*step.actions, *step.undo):
            yield from typed([_by_name(action)], sudo=True)
        if step.verify is not None:
            yield step.verify.line


def _by_name(action: Action) -> Action:
    if action.words and "/" in action.words[0]:
        assert len(shlex.split(quoted(action.words[0]))) == 1
        return replace(action, words=("python", *action.words[1:]))
    return action


def hostile(machine: Machine, words: Iterable[str], parts: Iterable[str] = ()) -> Iterator[Diagnosis]:
    """The machine with every kind of text (of some parts) replaced, and with every one prolonged."""
    for place in places(machine):
        if parts and place[0] not in parts:
            continue
        for word in words:
            yield diagnose(with_words(machine, place, lambda old, word=word: word), our_checks())  # type: ignore[misc]
            yield diagnose(with_words(machine, place, lambda old, word=word: old + word), our_checks())  # type: ignore[misc]


def type_in_box(folder: Path, lines: Iterable[str]) -> None:
    """Type the commands, with a stand-in for programs that are named by a path."""

    def by_name(found: re.Match[str]) -> str:
        return found[1] + ("python" if "/" in found[2] else found[2])

    ShellBox(folder).run({_PROGRAM.sub(by_name, line) for line in lines})


def all_of(machine: Machine, words: Iterable[str], forms: bool = True) -> set[str]:
    """What is printed for copying of all these."""
    found: set[str] = set()
    for one in hostile(machine, words):
        new = set(commands(one)) - found
        if new:  # the forms need a look only where they say something new
            found |= new
            found |= set(printed(one)) if forms else set()
    return found


@pytest.mark.parametrize("name", _OF_MACHINES)
def test_words_of_a_machine(name: str, tmp_path: Path) -> None:
    found = all_of(judged(host_of(name)).machine, _QUICK)
    type_in_box(tmp_path, found)


def _texts() -> list[Path]:
    return sorted((TEXTS / "faulty").iterdir())


def test_words_of_a_faulty_machine_and_of_texts(tmp_path: Path) -> None:
    machines = [judged(MACHINES["rx7900xtx-2gpu-old-guide"]().host).machine]
    machines += [diagnosed(header_and_body(path)[1]).machine for path in _texts()[::8]]
    found = set().union(*(all_of(machine, _QUICK[:1]) for machine in machines))
    assert sum(MARK in one for one in found) > 3, "hardly any word of the evidence stands in a command"
    type_in_box(tmp_path, found)


def test_words_of_a_machine_in_a_plan(tmp_path: Path) -> None:
    machine = judged(host_of("phoenix-laptop")).machine
    parts = ("os", "user", "kernel", "torch", "rocm")
    found = {command for one in hostile(machine, _QUICK[:1], parts) for command in of_plan(one)}
    type_in_box(tmp_path, found)


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES[::3])
def test_every_word_of_many_machines(name: str, tmp_path: Path) -> None:
    machine = judged(host_of(name)).machine
    found = all_of(machine, HOSTILE)
    found |= {command for one in hostile(machine, _QUICK) for command in of_plan(one)}
    type_in_box(tmp_path, found)


@pytest.mark.heavy
@pytest.mark.parametrize("path", _texts()[::3], ids=lambda path: path.stem)
def test_every_word_of_many_texts(path: Path, tmp_path: Path) -> None:
    ShellBox(tmp_path).run(all_of(diagnosed(header_and_body(path)[1]).machine, HOSTILE))


# -- as strangers bring them


def _pasted(blocks: str, folder: Path) -> None:
    """Type whatever stands in the fences of a reply."""
    lines = [line for block in _FENCE.findall(blocks) for line in block.splitlines()]
    assert lines
    ShellBox(folder).run(lines)


@pytest.mark.parametrize("word", [*HOSTILE[:3], *HOSTILE[5:7], HOSTILE[10]])
def test_the_reply_to_a_pasted_text_carries_no_attack(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "post.txt"
    file.write_text(
        f"$ env\nHOME=/home/alice\nMASTER_ADDR={word}\nMASTER_PORT=29500\nWORLD_SIZE=2\n\n$ torchrun train.py\n"
        "RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.\n"
    )
    run(["read", str(file), "--format", "markdown"])
    told = capsys.readouterr().out
    assert "getent hosts" in told
    _pasted(told, tmp_path)


@pytest.mark.parametrize(
    ("command", "word"),
    [(["fix"], "render;touch PWNED;#"), (["check"], "$(touch${IFS}PWNED)"), (["check"], "-G"), (["fix"], "a`b")],
)
def test_a_group_of_the_evidence_joins_nobody_else(
    command: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rocdoctor.host.evidence.capture import write
    from tests.golden.edits import Broken

    broken = Broken("rx7900xtx-2gpu").set("open /dev/kfd", "denied")
    broken.replace("read /proc/self/status", "Groups:\t27 44 992 1000", "Groups:\t27 44 1000")
    broken.replace("read /etc/group", "render:x:992:user", f"{word}:x:992:")
    file = tmp_path / "machine.capture"
    file.write_bytes(write(broken.host.capture.answers.values(), {"origin": "constructed"}).encode())
    assert run([*command, "--from", str(file), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    found = [one["command"] for one in _fixes(told) if "usermod" in (one["command"] or "")]
    assert found
    for ran in ShellBox(tmp_path).run(found):
        assert ran.calls == (("sudo", "usermod", "-aG", "render", "alice"),)


@pytest.mark.parametrize("word", HOSTILE)
def test_nodes_of_strangers(word: str, tmp_path: Path) -> None:
    face = NodeInterface(word, True, True, 1500, 10000, ("198.51.100.1",))
    one = node(0, LO, face, GLOO_SOCKET_IFNAME="ib7")
    link = ProbedLink(0, 1, word, frame_bytes=9000, frame_out=1500, out=Stream(0, 1.0, True))
    made: list[NodeFinding] = local_findings(one, "gloo", "198.51.100.1")
    made += local_findings(node(0, LO, face, host=("127.0.1.1",)), "gloo", "198.51.100.1")
    made += frame_findings([link], {0: one, 1: one})
    where = Meeting(1, 2, word, 29500)
    for problem in ("refused", "silent", "no route", "network unreachable", "timed out"):
        made.append(explain(where, problem, (word,)))
    found = [one.command for one in made if one.command]
    assert len(found) >= 7
    type_in_box(tmp_path, found)


@pytest.mark.parametrize("name", [f"x;touch {MARK}.sh", f"$(touch {MARK}).sh", f"a\ntouch {MARK}\n.sh"])
def test_a_file_that_is_linted_is_one_word(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("#!/bin/bash\nexport HSA_OVERRIDE_GFX_VERSION=10.3\npython3 train.py\n")
    monkeypatch.chdir(tmp_path)
    run(["lint", "--no-machine", "--json", name])
    told = json.loads(capsys.readouterr().out)
    found = {one["verify"] for one in _fixes(told)}
    assert found
    word = "FILE" if "\n" in name else name
    for ran in ShellBox(tmp_path).run(found):
        assert ran.calls == (("rocdoctor", "lint", word),)
