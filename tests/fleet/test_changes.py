"""What changed between two rounds: verdicts, what nodes are, boots, and which nodes there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.fleet.changes import Changes, TraitChange, changes
from rocdoctor.fleet.record import NodeRecord
from rocdoctor.fleet.store import Batch, Store, StoreError
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict, Reason
from rocdoctor.report.fleet.changes_document import document, headline
from rocdoctor.report.text import lines as as_lines
from tests.fleet.kit import NOW, line, node, sick, without

_FATAL = Reason("certain", "ras-uncorrectable", "", 2, "Errors.", 2, 2, True)
_WATCH = replace(_FATAL, seen=1, looks=1, ready=False)


def _verdict(at: int, kinds: Mapping[str, str], **bad: Reason) -> FleetVerdict:
    nodes = tuple(NodeVerdict(name, "k", (reason,), at) for name, reason in bad.items())
    return FleetVerdict(at, len(kinds), len(kinds), nodes, (), (), kinds=kinds)


def _between(old: list[NodeRecord], new: list[NodeRecord]) -> Changes:
    kinds = [{one.node: "k" for one in records} for records in (old, new)]
    records = [{one.node: one for one in records} for records in (old, new)]
    return changes(_verdict(NOW, kinds[0]), _verdict(NOW + 300, kinds[1]), *records)


def _text(found: Changes) -> str:
    return "\n".join(as_lines(document(found), 120))


def test_equal_rounds_have_no_change() -> None:
    records = [node(f"n{number}") for number in range(3)]
    found = _between(records, [replace(one, taken_at=NOW + 300) for one in records])
    assert found == Changes(NOW, NOW + 300, (), (), (), (), (), ())
    assert headline(found).endswith(": nothing changed.")


def test_what_is_worse_stands_first_and_names_why() -> None:
    kinds = {f"n{number}": "k" for number in (1, 2, 3, 4)}
    before = _verdict(NOW, kinds, n1=_WATCH, n2=_FATAL, n4=_WATCH)
    found = changes(before, _verdict(NOW + 300, kinds, n1=_FATAL, n3=_WATCH, n4=_WATCH), {}, {})
    assert [(one.node, one.worse) for one in found.verdicts] == [("n1", True), ("n3", True), ("n2", False)]
    assert found.to_drain == ("n1",)
    assert found.untold == ("n1", "n2", "n3", "n4")
    text = _text(found)
    assert "1 more to drain, 1 otherwise worse, 1 better" in text
    assert "n1  certain, now to drain: gpu 2: Errors. [ras-uncorrectable 2/2]" in text
    assert "n2  to drain, now nothing said" in text


def test_one_change_of_many_nodes_is_one_line() -> None:
    old = [node(f"n{number}") for number in range(6)]
    new = [replace(one, traits={**one.traits, "amdgpu": "6.99.1"}) for one in old[:4]] + old[4:]
    found = _between(old, new)
    (one,) = found.traits
    assert (one.before, one.after, one.nodes) == (str(old[0].traits["amdgpu"]), "6.99.1", ("n0", "n1", "n2", "n3"))
    assert f"n[0-3]  {one.what}: {one.before}, now 6.99.1" in _text(found)


def test_what_happened_to_gpus() -> None:
    whole = node("n1")
    width = replace(
        whole,
        gpu_traits=tuple({**one, "pcie_width": "8"} if at == 3 else one for at, one in enumerate(whole.gpu_traits)),
    )
    firmware = replace(whole, gpu_traits=tuple({**one, "vbios": "new"} for one in whole.gpu_traits))
    cards = [
        replace(
            whole,
            gpus=tuple(replace(one, id=f"g-{at + (5 if at == 2 else 0) * add}") for at, one in enumerate(whole.gpus)),
        )
        for add in (0, 1)
    ]
    said = {
        "width": _between([whole], [width]).traits,
        "firmware": _between([whole], [firmware]).traits,
        "gone": _between([whole], [replace(whole, **without(5))]).traits,
        "swapped": _between([cards[0]], [cards[1]]).traits,
        "unnamed": _between([whole], [cards[1]]).traits,
        "not whole": _between([whole], [replace(whole, complete=False, **without(5))]).traits,
        "packages": _between([whole], [replace(whole, tables={**whole.tables, "package": "0"})]).traits,
    }
    assert [one.what.endswith(" of gpu 3") for one in said["width"]] == [True]
    assert [one.what.endswith(" of all GPUs") for one in said["firmware"]] == [True]
    assert said["gone"] == (TraitChange("GPUs on the bus", "8", "7", ("n1",)),)
    assert said["swapped"] == (TraitChange("card of gpu 2", "one", "another", ("n1",)),)
    assert said["unnamed"] == said["not whole"] == (), "of what is not known, nothing is said"
    assert [one.what for one in said["packages"]] == ["packages"]


def test_nodes_that_came_went_or_booted() -> None:
    old = [node("n1"), node("n2"), node("n3")]
    new = [replace(old[0], boot="b-2"), replace(old[1], boot=None), node("n4")]
    found = _between(old, new)
    assert (found.rebooted, found.came, found.gone, found.untold) == (("n1",), ("n4",), ("n3",), ())


def test_the_command_compares_with_the_round_of_that_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="no round yet"):
        store.since()
    for at in (NOW, NOW + 50_000, NOW + 90_000, NOW + 90_300):
        batch = Batch()
        for number in range(8):
            bad = (sick("ras-uncorrectable", 2),) if number == 3 and at > NOW + 60_000 else ()
            batch.take(line(node(f"n{number}", at, *bad)).encode())
        store.tick(batch, at)
    assert (store.since().since, store.since(NOW + 90_299).since, store.since(5).since) == (NOW, NOW + 90_000, NOW)
    assert run(["fleet", "since", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "1 more to drain" in said
    assert "n3  nothing said, now to drain: gpu 2: " in said
    assert run(["fleet", "since", str(tmp_path), str(NOW + 90_300)]) == 0
    assert "nothing changed" in capsys.readouterr().out
    for words in (["now"], ["1", "2"], ["--json"]):
        assert run(["fleet", "since", str(tmp_path), *words]) == 2
