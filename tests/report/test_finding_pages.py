"""Whatever name a finding has in what we print, `rocdoctor explain NAME` has a page of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import rocdoctor
from rocdoctor.fleet import classes
from rocdoctor.fleet.net.net_run import NetFinding
from rocdoctor.knowledge.load import load_table
from rocdoctor.knowledge.lookup import causes
from rocdoctor.report.finding_pages import finding_names
from rocdoctor.service.errors import UsageError
from rocdoctor.service.manual_pages import page

_ROOT = Path(rocdoctor.__file__).parent
_NAMED = re.compile(
    r'"(?:check|cause)": "([^"]+)"|^(?:error|warning|info)  +([a-z][a-z0-9_.-]+)|\[([a-z][a-z0-9_.-]+) \d+/\d+\]',
    re.M,
)


def _probes() -> set[str]:
    """The first argument of every NodeFinding."""
    found = set()
    for path in (_ROOT / "train").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "NodeFinding(" in text:
            calls = (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call) and one.args)
            firsts = (one.args[0] for one in calls if getattr(one.func, "id", "") == "NodeFinding")
            found |= {one.value for one in firsts if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return found


def _unexplained(names: set[str]) -> list[str]:
    found = []
    for name in sorted(names):
        try:
            text = page(name)
        except UsageError:
            found.append(name)
        else:
            assert text.startswith(f"{name}\n\n"), name
            assert len(text) > len(name) + 60, name
    return found


def test_every_name_that_a_finding_can_have_is_explained() -> None:
    fleet = {value for value in vars(classes).values() if isinstance(value, str) and value.startswith("fleet-")}
    net = {f"fleet-net-{kind}" for kind in get_args(get_type_hints(NetFinding)["kind"])}
    probes = _probes()
    assert (len(fleet), len(net), len(probes) > 9) == (10, 5, True)
    assert set(finding_names()) == fleet | net | probes, "a page of each, and of nothing else"
    weighed = {*classes.CERTAIN, *classes.LIKELY, *classes.NETWORK}
    rooted = {*causes(), *(one["id"] for one in load_table("causes")["finer"])}
    assert _unexplained(fleet | net | probes | weighed | rooted) == []


def test_every_name_in_what_we_have_printed_is_explained() -> None:
    """In the goldens and the pages: they show what no table of names lists."""
    folders = (_ROOT.parent / "tests/golden", _ROOT.parent / "docs")
    texts = (
        path.read_text(encoding="utf-8")
        for one in folders
        for path in one.rglob("*")
        if path.suffix in (".txt", ".json", ".md")
    )
    names = {next(filter(None, found)) for text in texts for found in _NAMED.findall(text) if any(found)}
    assert "fleet-gpu-missing" in names
    assert len(names) > 15
    assert _unexplained(names) == []


def test_a_name_goes_on_with_what_it_is_about_and_a_wrong_one_is_none() -> None:
    assert page("fleet-trait-differs.power_cap_w").startswith("fleet-trait-differs.power_cap_w\n\nA node's version")
    assert page(" Fleet-Silent\n") == page("fleet-silent")
    assert page("fleet-trait-differs.\x1b[31mred").startswith("fleet-trait-differs.red\n")
    with pytest.raises(UsageError, match="did you mean 'fleet-silent'"):
        page("fleet-silnt")
