"""The contract of outputs: each null of the facts has its reason, each finding its evidence and its fix.

``tests.kit.judge`` and ``tests.golden.replay.judged`` hold every finding of every test against it; here are the call
sites of all checks, and the facts of all fixtures.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.collect import collect
from rocdoctor.judging.loading import check_files
from rocdoctor.model.evidence import Known, Source, Unknown
from rocdoctor.model.facts import Gpu, Machine, Nic
from rocdoctor.report.machine.json_facts import facts
from tests.examples import rows
from tests.golden.replay import NAMES, host_of
from tests.kit import ROOT

_MAKERS = {"info": 1, "warning": 1, "error": 1, "finding": 2, "Finding": 2}


def _calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.IfExp):
            names = [node.func] if isinstance(node.func, ast.Name) else [node.func.body, node.func.orelse]
            if any(isinstance(name, ast.Name) and name.id in _MAKERS for name in names):
                yield node


def _is_nothing(value: ast.expr) -> bool:
    """None, an empty list, or a choice that may be one of these."""
    if isinstance(value, ast.IfExp):
        return _is_nothing(value.body) or _is_nothing(value.orelse)
    if isinstance(value, ast.List | ast.Tuple):
        return not value.elts
    return isinstance(value, ast.Constant)


@rows("path", check_files(ROOT / "checks"), ids=lambda path: path.stem)
def test_every_finding_is_made_with_evidence_and_a_fix(path: Path) -> None:
    for call in _calls(path):
        given = {word.arg: word.value for word in call.keywords}
        plain = isinstance(call.func, ast.Name) and call.func.id == "Finding"
        given |= dict(zip(("severity", "message", "evidence", "fix"), call.args, strict=False)) if plain else {}
        for name in ("evidence", "fix"):
            assert name in given, f"{path.name}:{call.lineno}: no {name}"
            assert not _is_nothing(given[name]), f"{path.name}:{call.lineno}: {name} may be nothing"


def _nulls(tree: Any, path: str = "") -> Iterator[str]:
    if tree is None:
        yield path
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if path or key != "unknown":
                yield from _nulls(value, f"{path}.{key}" if path else key)
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _nulls(value, f"{path}[{number}]")


def _unexplained(machine: Machine) -> list[str]:
    data = facts(machine)
    return [path for path in _nulls(data) if not data["unknown"].get(path, "").strip()]


@pytest.mark.parametrize("name", NAMES)
def test_every_null_of_a_fixture_has_its_reason(name: str) -> None:
    assert _unexplained(collect(host_of(name))) == []


def test_none_is_told_apart_from_not_known() -> None:
    said = Source("read /sys/bus/pci/devices/0000:03:00.0/uevent", 1)
    gpu = Gpu(0, "amd", driver=Known(None, said), numa_node=Unknown("permission denied", "denied", said))
    machine = Machine(gpus=(gpu,), network=(Nic("eth0", "ethernet"),))
    assert _unexplained(machine) == []
    unknown = facts(machine)["unknown"]
    assert unknown["gpus[0].driver"] == f"no driver is bound to it ({said})"
    assert unknown["gpus[0].numa_node"] == "permission denied"


def test_a_machine_of_which_nothing_is_known_explains_itself() -> None:
    assert _unexplained(Machine()) == []
