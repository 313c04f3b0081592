"""The screen of a fleet: what stands in its rows, what beside them, and that keys do what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.fleet.classes import NodeClass
from rocdoctor.fleet.verdicts import FleetFinding, FleetVerdict, NodeVerdict, Reason
from rocdoctor.report.text import lines
from rocdoctor.tui.fleet.fleet_app import FleetApp
from rocdoctor.tui.fleet.fleet_rows import FleetEntry, beside, entries
from rocdoctor.tui.widgets.options import SearchedOptions

_AT = 1_800_000_000


def _node(name: str, kind: NodeClass, check: str, ready: bool = True) -> NodeVerdict:
    reason = Reason(kind, check, "", 2, f"{check} was seen", 5, 5, ready)
    return NodeVerdict(name, "a kind", (reason,), _AT - 7200)


def _fleet(*nodes: NodeVerdict, findings: Sequence[FleetFinding] = ()) -> FleetVerdict:
    return FleetVerdict(_AT, 10, 10, nodes, tuple(findings))


_COMMON = FleetFinding("common", "vbios", 4, 10, "", "VBIOS differs on 4 of 10 nodes at once")
_FOUND = _fleet(
    _node("n1", "certain", "ras-uncorrectable"),
    _node("n2", "certain", "kfd-missing"),
    _node("n3", "certain", "kfd-missing"),
    _node("n4", "slow", "figure", ready=True),
    findings=[_COMMON],
)


def _words(found: Sequence[FleetEntry]) -> list[str]:
    return [one.words for one in found]


def test_what_to_do_first_stands_first_and_equal_reasons_are_one_row() -> None:
    assert _words(entries(_FOUND)) == [
        "Fleet-wide: no reason to drain a node (1)",
        "VBIOS differs on 4 of 10 nodes at once",
        "To drain: let running jobs finish, start no new ones (3)",
        "n1  gpu 2: ras-uncorrectable was seen",
        "+ n[2-3] (2)  e.g. n2: gpu 2: kfd-missing was seen",
        "To test: take out of service for a longer test (1)",
        "n4  gpu 2: figure was seen",
    ]


def test_a_long_list_of_nodes_leaves_room_for_the_reason() -> None:
    found = _fleet(*(_node(f"gpu{at:05}", "certain", "kfd-missing") for at in range(0, 40, 2)))
    (row,) = [one for one in entries(found) if one.nodes]
    assert row.words == "+ 20 nodes, e.g. gpu00000: gpu 2: kfd-missing was seen"


def test_a_group_lists_its_nodes_where_it_is_open() -> None:
    group = next(one for one in entries(_FOUND) if one.opens)
    opened = entries(_FOUND, {group.name})
    at = next(number for number, one in enumerate(opened) if one.name == group.name)
    assert opened[at].words.startswith("- ")
    assert [(one.words, one.nodes, one.inside) for one in opened[at + 1 : at + 3]] == [
        ("n2  gpu 2: kfd-missing was seen", ("n2",), True),
        ("n3  gpu 2: kfd-missing was seen", ("n3",), True),
    ]
    assert len(opened) == len(entries(_FOUND)) + 2


def test_beside_a_row_stands_why_and_the_command_that_goes_on() -> None:
    by_words = {one.words.split()[0]: one for one in entries(_FOUND) if not one.is_heading}
    drained = "\n".join(lines(beside(_FOUND, by_words["n1"], "/a b"), 100))
    assert "ras-uncorrectable was seen" in drained and "Seen often enough to act." in drained
    assert "2 h before this verdict" in drained
    assert "rocdoctor fleet why '/a b' n1" in drained and "rocdoctor fleet apply '/a b' --on slurm" in drained
    assert "--suspects" not in drained
    suspect = "\n".join(lines(beside(_FOUND, by_words["n4"], "/a b"), 100))
    assert "set aside" in suspect and "rocdoctor fleet apply '/a b' --on slurm --suspects" in suspect
    watched = _fleet(_node("n9", "likely", "pcie-replays", ready=False))
    assert "fleet apply" not in "\n".join(lines(beside(watched, entries(watched)[-1], "/a"), 100))
    about_all = "\n".join(lines(beside(_FOUND, by_words["VBIOS"], "/a"), 100))
    assert "4 of 10 nodes" in about_all and "fleet why" not in about_all


def test_nodes_to_measure_again_are_listed_though_nothing_speaks_against_them() -> None:
    found = replace(_FOUND, look_again=("n7", "n8"))
    heading, row = entries(found)[-2:]
    assert heading.is_heading and not row.is_heading and not row.opens
    assert "n[7-8]" in row.words
    assert "--with-figures" in "\n".join(lines(beside(found, row, "/a"), 100))


def test_what_a_node_says_drives_no_terminal() -> None:
    (row,) = [one for one in entries(_fleet(_node("n1", "certain", "\x1b[31mred\n"))) if one.nodes]
    assert "\x1b" not in row.words and "\n" not in row.words


def test_keys_open_and_fold_a_group_and_an_error_is_said() -> None:
    answers: list[FleetVerdict | Exception] = [_FOUND, OSError("gone")]

    def judged() -> FleetVerdict:
        one = answers.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    async def walk() -> None:
        app = FleetApp("/store", judged)
        async with app.run_test(size=(100, 30)) as pilot:
            while app.found is None:
                await pilot.pause()
            rows = app.query_one(SearchedOptions)
            assert rows.highlighted == 3  # the first node to drain
            await pilot.press("j", "enter")
            assert rows.option_count == 9 and rows.highlighted == 4
            await pilot.press("j", "escape")
            assert rows.option_count == 7 and rows.highlighted == 4
            await pilot.press("r")
            while app.at_work:
                await pilot.pause()
            await pilot.pause()
            assert "gone" in str(app.query_one("#head").render())

    asyncio.run(walk())
