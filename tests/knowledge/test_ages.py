"""Every row of facts has a source, every source a kind and a day; and their ages are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rocdoctor.cli.main import run
from rocdoctor.knowledge import load
from rocdoctor.knowledge.ages import fact_tables, table_ages

_DAY = re.compile(r"\d{4}-\d\d(-\d\d)?")


def _sourced(row: Any) -> bool:
    """Whether a row names its source, itself or in one of its parts."""
    if isinstance(row, dict):
        return "s" in row or "source" in row or any(_sourced(part) for part in row.values())
    return isinstance(row, list) and any(_sourced(part) for part in row)


def _without_source(node: Any, covered: bool, place: str) -> Iterator[str]:
    """Rows (members of a list of mappings, or mapping of mappings) without one, whose holders have none."""
    if isinstance(node, dict):
        covered = covered or "s" in node
        parts = {key: value for key, value in node.items() if key != "sources"}
        rows = len(parts) > 1 and all(isinstance(value, dict) for value in parts.values())
        for key, value in parts.items():
            known = covered or f"{key}_s" in node
            if rows and not known and not _sourced(value):
                yield f"{place}.{key}"
            yield from _without_source(value, known, f"{place}.{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            if isinstance(value, dict) and not covered and not _sourced(value):
                yield f"{place}[{number}]"
            yield from _without_source(value, covered, f"{place}[{number}]")


def _faults(table: Any, name: str) -> list[str]:
    faults = list(_without_source(table, False, name))
    if not _DAY.fullmatch(str(table.get("read_through"))):
        faults.append(f"{name}: no read_through")
    for key, one in table["sources"].items():
        if one.get("kind") not in load.KINDS or not one.get("what"):
            faults.append(f"{name}.sources.{key}: no kind, or nothing that it is")
        if not _DAY.fullmatch(str(one.get("read", table.get("read_through")))):
            faults.append(f"{name}.sources.{key}: no day")
    return faults


def test_every_row_of_facts_has_a_source_with_kind_and_day() -> None:
    tables = list(fact_tables())
    assert {"compat", "install_rocm", "rocm_support", "amd-rdna3"} <= {path.stem for path, _ in tables}
    assert not [fault for path, table in tables for fault in _faults(table, path.stem)]


def test_a_row_without_one_of_them_is_found() -> None:
    good: dict[str, Any] = {
        "read_through": "2026-11",
        "sources": {"a": {"what": "a page", "kind": "primary"}},
        "rows": [{"x": 1, "s": "a"}],
        "steps": {"one": {"run": [], "s": "a"}, "two": {"run": [], "s": "a"}},
    }
    assert not _faults(good, "t")
    spoiled = [
        good | {"rows": [{"x": 1, "s": "a"}, {"x": 2}]},
        good | {"steps": {"one": {"run": [], "s": "a"}, "two": {"run": []}}},
        good | {"sources": {"a": {"what": "a page"}}},
        good | {"sources": {"a": {"what": "a page", "kind": "hearsay"}}},
        good | {"sources": {"a": {"what": "a page", "kind": "primary", "read": "lately"}}},
        {key: value for key, value in good.items() if key != "read_through"},
    ]
    assert all(_faults(one, "t") for one in spoiled)
    assert not _faults(good | {"rows": [{"x": 2}], "rows_s": "a"}, "t")


def test_a_source_has_its_own_day_or_that_of_its_table() -> None:
    own, table = load.source("install", "rdna35"), load.source("install", "deb12")
    assert own is not None and table is not None
    assert (own.read, table.read) == ("2026-11-24", str(load.load_table("install")["read_through"]))


def test_the_ages_of_tables_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "--tables"]) == 0
    lines = capsys.readouterr().out.splitlines()
    ages = {one.name: one for one in table_ages()}
    assert len(lines) == len(ages) + 1 and "pcie-link-narrow" not in " ".join(lines)
    (support,) = [line for line in lines if line.startswith("rocm_support ")]
    assert support.split()[1:] == ["2026-11-24", "2026-11-24", "8"]
    (packages,) = [line for line in lines if line.startswith("install_packages ")]
    assert packages.endswith("1 not verified")
    assert ages["compat"].newest >= ages["compat"].oldest and sum(ages["compat"].sources.values()) > 50
