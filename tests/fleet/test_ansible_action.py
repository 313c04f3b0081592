"""The action that stands beside a play: what a node sends without end costs that node alone."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rocdoctor.fleet import ansible_action
from rocdoctor.fleet.fetching import Asking, fetch_plan
from rocdoctor.fleet.node_side import TOO_LARGE
from rocdoctor.fleet.record import MOST_BYTES

_SENT = {"rc": 0, "stdout": "{}", "stdout_lines": ["{}"], "stderr": "", "stderr_lines": []}


def _run(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any] | type[Exception]) -> tuple[dict[str, Any], list[Any]]:
    """What the action makes of an answer, and the limits that it sets on the way; Ansible and the system stand in."""

    class Base:
        _task = SimpleNamespace(args={"command": "sh -c x"})

        def run(self, tmp: object, task_vars: object) -> dict[str, Any]:
            return {}

        def _low_level_execute_command(self, command: str, executable: bool) -> dict[str, Any]:
            assert (command, executable) == ("sh -c x", False)
            if isinstance(answer, dict):
                return answer
            raise answer

    limits: list[Any] = []
    action = ModuleType("ansible.plugins.action")
    setattr(action, "ActionBase", Base)  # noqa: B010
    system = SimpleNamespace(
        RLIMIT_AS=9,
        RLIM_INFINITY=-1,
        getpagesize=lambda: 4096,
        getrlimit=lambda kind: (2 << 40, -1),
        setrlimit=lambda kind, both: limits.append(both),
    )
    for name, module in (
        ("ansible", ModuleType("ansible")),
        ("ansible.plugins", ModuleType("ansible.plugins")),
        ("ansible.plugins.action", action),
        ("resource", system),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    names: dict[str, Any] = {}
    exec(compile(ansible_action.text(), "action", "exec"), names)
    return names["ActionModule"]().run(), limits


def test_a_record_comes_as_it_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = _run(monkeypatch, _SENT)
    assert found == {**_SENT, "changed": True}


@pytest.mark.parametrize("answer", [MemoryError, {**_SENT, "stdout": "x" * (MOST_BYTES + 2)}])
def test_what_is_too_much_is_dropped_where_it_arrives(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = _run(monkeypatch, answer)
    assert (found["rc"], found["stdout"], found["stdout_lines"], found["stderr"]) == (1, "", [], TOO_LARGE)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no /proc/self/statm")
def test_memory_is_bounded_while_a_node_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    _, limits = _run(monkeypatch, _SENT)
    (during, hard), after = limits
    assert (32 << 20) < during < (2 << 40)
    assert hard == -1
    assert after == (2 << 40, -1)


def test_the_play_of_a_run_uses_the_action() -> None:
    files = dict(fetch_plan("ansible", Asking(("gpu01",)), "/run/f").files)
    assert files["action_plugins/rocdoctor_record.py"] == ansible_action.text()
    assert 'rocdoctor_record: {command: "sh -c ' in files["play.yml"]
