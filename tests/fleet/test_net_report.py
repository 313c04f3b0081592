"""What a run of pairs says for people and for programs, and what the judge of the fleet makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rocdoctor.cli.main import run
from rocdoctor.fleet.judge import Incoming, judge
from rocdoctor.fleet.memory import as_state, from_state
from rocdoctor.fleet.net.net_run import NetRun, findings, headline, tells
from rocdoctor.fleet.net.read_net import NetLook, read_net
from rocdoctor.fleet.read_record import RecordError
from rocdoctor.fleet.store import Batch, Store
from rocdoctor.report import text
from rocdoctor.report.fleet.net_document import document
from rocdoctor.report.fleet.net_json import report
from tests.fleet.kit import NOW, FleetRounds, line, node
from tests.fleet.net_kit import NetWorld
from tests.fleet.net_runs import run_of
from tests.kit import ROOT


@cache
def _sick() -> NetRun:
    return run_of(NetWorld(80, 16, 1, {5: 0.4, 70: 0.0}, uplinks={2: 0.5}, hung=(23,)))


def _shown(run: NetRun) -> str:
    return text.render(document(run), 100, False)


def test_what_to_do_first_stands_first() -> None:
    shown = _shown(_sick()).splitlines()
    assert shown[0] == "Leaf switch s2: " + findings(_sick())[0].message + " And 3 more."
    kinds = [(one.kind, one.about) for one in findings(_sick()) if one.severity != "info"]
    assert kinds == [("leaf", ("s2",)), ("node", ("n70",)), ("node", ("n5",)), ("silent", ("n23",))]
    for words in (
        "Not reached by",
        "the usual rate; ",
        "ethtool eth0; ip -s link show eth0",
        "No report: did not finish in time",
    ):
        assert any(words in line for line in shown), words
    assert tells(_sick())


def test_a_network_that_is_well() -> None:
    sound = run_of(NetWorld(16, 8, congested=0.0))
    assert headline(sound) == "16 of 16 nodes reach another one at the usual rate."
    assert findings(sound) == []
    assert not tells(sound)
    assert "2 leaf switches known" in _shown(sound)
    assert "leaf switches not known (--topology)" in _shown(run_of(NetWorld(16, congested=0.0)))


def test_all_are_slow_by_what_the_interfaces_say() -> None:
    base = run_of(NetWorld(16, congested=0.0, full=300.0))
    assert "All pairs are slow" not in _shown(base)
    told = tuple(replace(one, speed_mbit_s=10_000) for one in base.results)
    usual = replace(base.verdict.usual, rates={(False, 10_000): 300.0})
    shown = replace(base, results=told, verdict=replace(base.verdict, usual=usual))
    assert headline(shown) == "All pairs are slow: 300 Mbit/s is usual, and the interfaces say 10.0 Gbit/s."
    assert not tells(shown), "no node and no switch is named"


@pytest.mark.parametrize("size", [2, 3, 20])
def test_where_nobody_reaches_anybody_that_is_said_and_none_is_blamed(size: int) -> None:
    """A firewall between all of them: no pair is slow, and nothing is well."""
    apart = run_of(NetWorld(size, bad=dict.fromkeys(range(size), 0.0)))
    assert [(one.kind, one.severity, one.about) for one in findings(apart)] == [("all", "error", ())]
    assert headline(apart).startswith("No node reaches another one (")
    assert "1024" in findings(apart)[0].remedy
    assert tells(apart)


def test_a_node_with_a_slower_interface_is_told_as_that() -> None:
    """A link that came up at a tenth looks as a bad node does: what both interfaces say is the way to tell."""
    base = run_of(NetWorld(4, bad={3: 0.4}))
    assert "its interface" not in findings(base)[0].message
    told = [replace(one, speed_mbit_s=10_000 if 3 in one.ends else 25_000) for one in base.results]
    shown = replace(base, results=tuple(told))
    assert "; its interface says 10.0 Gbit/s, others say 25.0 Gbit/s; 3 of them" in findings(shown)[0].message


def test_no_name_of_an_interface_is_an_option_of_a_command() -> None:
    """A node tells the names of its interfaces itself."""
    odd = replace(run_of(NetWorld(4, bad={3: 0.4})), faces={3: "-r"})
    assert findings(odd)[0].command == "ethtool FACE; ip -s link show FACE"


def test_nothing_that_was_measured_is_no_good_news() -> None:
    none = replace(_sick(), results=(), verdict=replace(_sick().verdict, nodes=(), leaves=(), slow_pairs=()))
    assert headline(none) == "Nothing was measured."
    assert tells(none)


def test_the_json_keeps_its_schema_and_is_read_back() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "net.schema.json").read_text())
    for world in (NetWorld(2), NetWorld(3, bad={1: 0.0}), NetWorld(16, noise=0.4)):
        Draft202012Validator(schema).validate(report(run_of(world)))
    written = report(_sick())
    Draft202012Validator(schema).validate(written)
    looks = {one.node: one.slow for one in read_net(json.dumps(written))}
    assert {name for name, slow in looks.items() if slow} == {"n5", "n70"}
    assert "n23" not in looks, "of a node that is silent nothing is known"
    assert len(looks) == 79


@pytest.mark.parametrize(
    "odd",
    [
        {"schema": "rocdoctor.net/2"},
        {"taken_at": "now"},
        {"taken_at": True},
        {"taken_at": -1},
        {"taken_at": 1 << 60},
        {"nodes": {}},
        {"nodes": [{}] * 20_001},
    ],
)
def test_a_document_that_is_none_is_refused(odd: dict[str, Any]) -> None:
    good = {"schema": "rocdoctor.net/1", "taken_at": NOW, "nodes": [{"node": "n1", "state": "slow", "message": "m"}]}
    assert [one.node for one in read_net(json.dumps(good))] == ["n1"]
    with pytest.raises(RecordError):
        read_net(json.dumps(good | odd))
    with pytest.raises(RecordError):
        read_net("[" * 100_000)


def test_a_node_that_is_odd_costs_itself_alone() -> None:
    rows: list[Any] = [7, {"node": "../n1", "state": "slow"}, {"node": "n2", "state": "bad"}, {"node": ["n"]}]
    rows += [{"node": "n3", "state": "slow", "message": {"a": "\x1b[31m" * 1000}}]
    found = read_net(json.dumps({"schema": "rocdoctor.net/1", "taken_at": NOW, "nodes": rows}))
    assert [one.node for one in found] == ["n3"]
    assert "\x1b" not in found[0].message
    assert len(found[0].message) < 2000


class _Fleet(FleetRounds):
    """Rounds with runs of pairs."""

    def net(self, *slow: str, at: int = 0, well: int = 20) -> None:
        """One more round, with a run that names some of its nodes."""
        self.at += 300
        names = [f"n{number}" for number in range(well)]
        looks = [NetLook(name, at or self.at, name in slow, "Slow." if name in slow else "") for name in names]
        records = {f"n{n}": node(f"n{n}", self.at) for n in range(self.size)}
        self.verdict = judge(self.memories, Incoming(records, {}, net=tuple(looks)), self.at)
        self.memories = {name: from_state(as_state(one)) for name, one in self.memories.items()}


def test_a_node_is_tested_after_two_runs_and_never_drained() -> None:
    fleet = _Fleet()
    fleet.net("n3")
    assert fleet.said("n3") == ("slow", "none")
    fleet.net("n3", at=fleet.at)
    assert fleet.said("n3") == ("slow", "none"), "the same run again is no second one"
    fleet.net("n3")
    assert fleet.said("n3") == ("slow", "test")
    assert fleet.verdict.nodes[0].first.check == "fleet-net-slow"
    fleet.net()
    assert fleet.said("n3") == ("well", "none"), "one run in which it is well ends the suspicion"


def test_runs_that_are_old_or_of_the_future_count_no_more() -> None:
    fleet = _Fleet()
    fleet.net("n3", at=NOW + 10**6)
    assert fleet.said("n3") == ("well", "none")
    fleet.net("n3")
    fleet.net("n3")
    fleet.round(step=8 * 86400)
    assert fleet.said("n3") == ("well", "none")


def test_what_many_nodes_of_a_run_show_is_news_of_the_fleet() -> None:
    fleet = _Fleet()
    for _ in range(2):
        fleet.net("n1", "n2", "n3")
    assert [fleet.said(f"n{n}") for n in (1, 2, 3)] == [("well", "none")] * 3
    assert [(one.kind, one.what, one.nodes) for one in fleet.verdict.findings] == [("common", "fleet-net-slow", 3)]


def test_a_run_makes_no_nodes() -> None:
    fleet = _Fleet(size=5)
    fleet.net("n7", well=20)
    assert fleet.verdict.total == 5


def test_tick_reads_a_run_and_judges_it_again_exactly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, net = tmp_path / "fleet", tmp_path / "net.json"
    for number in range(2):
        at = NOW + 300 * number
        lines = tmp_path / "lines"
        lines.write_text("".join(f"{line(node(f'n{n}', at))}\n" for n in range(80)))
        net.write_text(json.dumps(report(replace(_sick(), taken_at=at)), indent=2))
        assert run(["fleet", "ingest", str(store), str(net)]) == 0
        assert run(["fleet", "tick", str(store), str(lines), "--at", str(at)]) == 0
    capsys.readouterr()
    assert run(["fleet", "judge", str(store), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["node"], one["class"], one["proposal"]) for one in found["nodes"]] == [
        ("n5", "slow", "test"),
        ("n70", "slow", "test"),
    ]
    first = Store(store).again(NOW)
    assert [one.proposal for one in first.nodes] == ["none", "none"]


def test_a_run_among_records_is_not_read(tmp_path: Path) -> None:
    """All nodes may write into the folder of records: what lies there speaks for the node of its name alone."""
    (tmp_path / "n1.json").write_text(json.dumps(report(_sick())))
    batch = Batch()
    batch.read(tmp_path)
    assert batch.net == []
    assert "n1" in batch.problems
