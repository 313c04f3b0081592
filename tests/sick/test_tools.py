"""Vendor tools that hang, refuse to end, leave daemons, flood, crash, or say nonsense: real programs on PATH."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.sick.kit import GIVE_UP_S, MARGIN_S, Place, gpus_of, place, wait_until

pytestmark = pytest.mark.live

_TOOLS = ("rocminfo", "amd-smi", "rocm-smi")
_HANGING = {
    "hangs": "exec sleep 600\n",
    "ignores every request to end": "trap '' TERM INT HUP QUIT PIPE\nwhile :; do sleep 600; done\n",
    "keeps printing": "while :; do echo '[{\"gpu\":'; sleep 0.05; done\n",
    "closes its output": "exec >&- 2>&-\nsleep 600\n",
    "leaves a daemon and hangs": "setsid sh -c 'sleep 601 & exec sleep 602' &\nexec sleep 600\n",
    "stops itself": "kill -STOP $$\n",
}
_BROKEN = {
    "crashes": 'echo \'[{"gpu": 0, "asic": {"mar\'; kill -SEGV $$\n',
    "prints half a JSON": 'echo \'[{"gpu": 0, "asic": {"mar\'\n',
    "speaks another language": "echo 'Befehl nicht gefunden: Ger\303\244t'; echo 'keine Karten' >&2; exit 127\n",
    "prints bytes": "head -c 200000 /dev/urandom\n",
    "prints nothing": "exit 0\n",
    "disappears": 'rm -f "$0"; exit 1\n',
    "is no program": "",
    "leaves a daemon with the pipe": "setsid sh -c 'sleep 603 & exec sleep 604' &\nexit 0\n",
    "leaves a daemon of another name": "env -i /bin/sh -c 'setsid sleep 605 </dev/null >/dev/null 2>&1 &'\n",
}


_DAMAGED = '"asic": {"mar'


@pytest.fixture
def radeons(tmp_path: Path) -> Place:
    return place(tmp_path, "rx7900xtx-2gpu")


def _ways(table: Iterable[str]) -> list[Any]:
    """For the tools, each another way in one run; one way for all of them in the heavy stage."""
    names = list(table)
    together = [names[first : first + len(_TOOLS)] for first in range(0, len(names), len(_TOOLS))]
    alone = [pytest.param([name] * len(_TOOLS), id=name, marks=pytest.mark.heavy) for name in names]
    return [*(pytest.param(each, id=", ".join(each)) for each in together), *alone]


@pytest.mark.parametrize("ways", _ways(_HANGING))
def test_tools_that_do_not_answer_cost_one_deadline_and_are_named(radeons: Place, ways: list[str]) -> None:
    for name, how in zip(_TOOLS, ways, strict=True):
        radeons.tool(name, _HANGING[how])
    result = radeons.run("check", "--timeout", "1")
    assert gpus_of(result.out) == 2, result.out
    assert "run rocminfo (within 1s)" in " ".join(result.out.split())
    assert "tool-failed" in result.out
    assert result.left == ()
    assert result.seconds < 1 + MARGIN_S


@pytest.mark.parametrize("ways", _ways(_BROKEN))
def test_tools_that_answer_nonsense_take_nothing_from_the_report(radeons: Place, ways: list[str]) -> None:
    for name, how in zip(_TOOLS, ways, strict=True):
        path = radeons.tool(name, _BROKEN[how])
        if how == "is no program":
            path.write_bytes(b"\0\1\2 no program")
    result = radeons.run("check", "--timeout", "5")
    assert gpus_of(result.out) == 2, result.out
    assert result.code in (0, 1), result.err
    assert result.err == ""
    assert "crashed" not in result.out
    damaged = any(_DAMAGED in _BROKEN[how] for how in ways[1:])  # the first tool prints no JSON
    assert ("its JSON ends in the middle or is damaged" in " ".join(result.out.split())) == damaged
    assert result.left == ()


def test_one_stuck_tool_costs_its_deadline_once(radeons: Place) -> None:
    radeons.tool("rocminfo", "exec sleep 600\n")
    result = radeons.run("check")
    assert "run rocminfo (within 5s)" in " ".join(result.out.split())
    assert result.seconds < 5 + MARGIN_S
    assert result.left == ()


def test_a_daemon_that_took_no_variable_with_it_is_ended_too(radeons: Place) -> None:
    radeons.tool("rocminfo", f"env -i /bin/sh -c 'setsid sh -c \"echo \\$\\$ > {radeons.folder}/pid; sleep 606\" &'\n")
    radeons.run("check")
    pid = (radeons.folder / "pid").read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_an_endless_output_is_cut_and_the_report_says_so(radeons: Place) -> None:
    radeons.tool("rocminfo", "exec yes 'Agent 1 Name: gfx1100 Marketing Name: AMD Radeon'\n")
    result = radeons.run("check", "--timeout", "60")
    assert gpus_of(result.out) == 2, result.out
    assert "returned more than rocdoctor reads: run rocminfo" in " ".join(result.out.split())
    assert result.seconds < 60 + MARGIN_S
    assert result.left == ()


@pytest.mark.parametrize("name", ["dmesg", "python3"])
def test_a_machine_without_gpus_has_sick_programs_too(tmp_path: Path, name: str) -> None:
    healthy = place(tmp_path)
    healthy.tool(name, _HANGING["ignores every request to end"])
    # A folder of programs is looked into for a quarter of the deadline: of half a second too little on a busy machine.
    result = healthy.run("check", "--timeout", "2", "--fail-on", "never")
    assert (result.code, result.err, result.left) == (0, "", ())
    assert "not answered in time" in result.out
    assert result.seconds < min(GIVE_UP_S, 5 + MARGIN_S)


@pytest.mark.heavy
def test_bundle_facts_recommend_and_emit_come_too(radeons: Place) -> None:
    for name in _TOOLS:
        radeons.tool(name, _HANGING["leaves a daemon and hangs"])
    for command in (
        ["facts", "--json"],
        ["bundle", "-o", "sick.txt"],
        ["recommend", "--model", "llama3-8b"],
        ["emit", "env", "--model", "llama3-8b"],
    ):
        result = radeons.run(*command, "--timeout", "1")
        assert result.code in (0, 1), (command, result.err)
        assert result.left == ()
        assert result.seconds < 1 + MARGIN_S
    assert "run rocminfo -- timeout" in (radeons.work / "sick.txt").read_text()
