"""What looks like evidence against a node and is none: old lines, what many have, what a record cannot tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.fleet.acting import ActionLimits, Drained, EngineCall, EngineNode, plan
from rocdoctor.fleet.judge import Incoming, judge
from tests.fleet.kit import NOW, FleetRounds, fixture_record, node, sick, without

_FATAL = sick("ras-uncorrectable", 2, "gpu-hardware-fault")
_NARROW = sick("pcie-link-narrow", 1, "pcie-link-degraded", "warning")


def test_a_line_of_the_log_that_a_node_has_outlived_never_drains() -> None:
    fleet = FleetRounds()
    old = [
        sick(name, severity="warning")
        for name in ("gpu-reset-log", "vram-lost", "nvidia-xid", "queue-eviction-failed", "gpu-fell-off-bus")
    ]
    for _ in range(6):
        fleet.round(node("n3", NOW, *old, replace(sick("ring-timeout"), confidence="possible")))
    assert fleet.said("n3") == ("different", "none")


@pytest.mark.parametrize("logged_s", [100.0, None])
def test_a_line_of_the_log_counts_once_however_often_it_is_read(logged_s: float | None) -> None:
    fleet = FleetRounds()
    line = replace(sick("ras-log-uncorrectable", 2), looks=2, logged_s=logged_s)
    for _ in range(6):
        fleet.round(node("n3", NOW, line, replace(sick("nvidia-xid", 2), logged_s=logged_s)))
        assert fleet.said("n3") == ("certain", "none")
    if logged_s is not None:
        fleet.round(node("n3", NOW, replace(line, logged_s=160.0)))
        assert fleet.said("n3") == ("certain", "none"), "what goes wrong once prints for a minute"
        fleet.round(node("n3", NOW, replace(line, logged_s=9000.0)))
        assert fleet.said("n3") == ("certain", "drain")
        fleet.round(node("n3", NOW, replace(line, logged_s=9000.0)))
        assert fleet.said("n3") == ("certain", "drain"), "as long as the check calls it an error"
        fleet.round(node("n3", NOW, replace(line, logged_s=9000.0), boot="b-2"))
        assert fleet.said("n3") == ("certain", "none")


def test_what_comes_and_goes_takes_three_lines_and_the_last_of_several_counts() -> None:
    fleet = FleetRounds()
    first = replace(sick("nvidia-xid", 2), logged_s=10.0)
    for logged_s, said in ((1000.0, "none"), (2000.0, "none"), (2000.0, "none"), (3000.0, "drain")):
        fleet.round(node("n3", NOW, first, replace(first, logged_s=logged_s)))
        assert fleet.said("n3") == ("likely", said)


def test_what_lies_more_than_a_week_apart_is_not_added_up() -> None:
    for days, said in ((6, "drain"), (8, "none")):
        fleet = FleetRounds()
        for logged_s in (10.0, 10.0 + days * 86400):
            fleet.round(node("n3", NOW, replace(sick("ras-log-uncorrectable"), logged_s=logged_s)), step=days * 86400)
        assert fleet.said("n3") == ("certain", said)


def test_a_fault_of_which_only_an_old_line_is_left_stays_and_is_not_enough() -> None:
    fleet = FleetRounds()
    for logged_s in (100.0, 9000.0):
        fleet.round(node("n3", NOW, replace(sick("ras-log-uncorrectable", 2), logged_s=logged_s)))
    assert fleet.said("n3") == ("certain", "drain")
    fleet.round(node("n3", NOW, sick("ras-log-uncorrectable", 2, severity="warning"), unknown={}))
    assert fleet.said("n3") == ("certain", "none")
    assert fleet.memories["n3"].undecided.count("ras-log-uncorrectable") == 1


def test_a_fault_that_became_common_is_not_enough_to_act() -> None:
    fleet = FleetRounds(30)
    for _ in range(2):
        fleet.round(node("n1", NOW, _FATAL))
    assert fleet.to_drain() == ["n1"]
    fleet.round(*(node(f"n{n}", NOW, _FATAL) for n in range(10)))
    assert fleet.said("n1") == ("certain", "none")
    for common, said in ((2, "drain"), (10, "none")):  # its own record stays the same, and holds
        fleet = FleetRounds()
        records = {f"n{n}": node(f"n{n}", NOW, *([replace(_FATAL, looks=2)] if n == 1 else [])) for n in range(30)}
        for after in (0, 60):
            news = {f"n{n}": node(f"n{n}", NOW + after, _FATAL) for n in range(2, 2 + common)} if after else {}
            fleet.verdict = judge(fleet.memories, Incoming({**records, **news}, {}), NOW + after)
        assert fleet.said("n1") == ("certain", said)


@pytest.mark.parametrize("changes", [{"unknown": {"denied": ("ras-uncorrectable",)}}, {}])
def test_what_a_record_cannot_tell_of_stays_and_is_not_enough(changes: dict[str, Any]) -> None:
    fleet = FleetRounds()
    for _ in range(2):
        fleet.round(node("n3", NOW, _FATAL) if changes else node("n3", **without(5)))
    assert fleet.said("n3") == ("certain", "drain")
    for _ in range(6):
        fleet.round(node("n3", **changes) if changes else node("n3", complete=False, **without(5)))
    assert fleet.said("n3") == ("certain", "none")
    fleet.round(node("n3", boot="b-2", **changes) if changes else node("n3", boot="b-2", complete=False))
    assert fleet.said("n3") == ("well", "none")
    check = "ras-uncorrectable" if changes else "fleet-gpu-missing"
    assert check in fleet.memories["n3"].undecided, "nor is it a reason to bring it back"


def test_glitches_far_apart_are_not_added_up_where_nothing_is_known_between_them() -> None:
    unknown: dict[str, Any] = {"unknown": {"denied": ("pcie-link-narrow",)}}
    for between, said in ((2, "drain"), (6, "none")):
        fleet = FleetRounds()
        for _ in range(3):
            for _ in range(between):
                fleet.round(node("n3", **unknown), step=300)
            fleet.round(node("n3", NOW, _NARROW, **unknown), step=300)
        assert fleet.said("n3") == ("likely", said)


def test_gpus_that_a_list_does_not_show_are_told_of_by_no_check() -> None:
    """What each check says is then: there is no such GPU here."""
    fleet = FleetRounds()
    for _ in range(2):
        fleet.round(node("n3", NOW, _FATAL))
    none: dict[str, Any] = {"gpus": (), "gpu_traits": (), "complete": False}
    fewer: dict[str, Any] = {**without(7), "complete": False}
    all_there: dict[str, Any] = {"complete": False}
    for changes, stays in ((none, True), (fewer, True), (all_there, False)):
        fleet.round(node("n3", **changes))
        assert ("ras-uncorrectable" in fleet.memories["n3"].undecided) is stays
        assert fleet.verdict.nodes[0].reasons[0].seen == 2
    assert "fleet-gpu-missing" in fleet.memories["n3"].undecided


def test_how_many_gpus_a_node_ought_to_have_is_not_known_without_equals_or_a_past() -> None:
    fleet = FleetRounds(2)
    fleet.round()
    assert "fleet-gpu-missing" in fleet.memories["n1"].undecided
    fleet.round()
    assert "fleet-gpu-missing" not in fleet.memories["n1"].undecided


def test_a_processor_that_is_not_told_makes_no_other_kind() -> None:
    traits = {key: value for key, value in fixture_record().traits.items() if key != "cpu"}
    narrow = tuple({**one, "pcie_width": "8"} for one in fixture_record().gpu_traits)
    fleet = FleetRounds()
    fleet.round()
    for _ in range(3):
        fleet.round(node("n3", traits=traits, gpu_traits=narrow))
    assert fleet.said("n3") == ("likely", "drain")


def test_two_kinds_of_chips_of_which_one_is_lost() -> None:
    base = fixture_record()
    two = (replace(base.gpus[0], chip="1002:1638"), *base.gpus[1:])
    fleet = FleetRounds(2)
    fleet.round(node("n1", gpus=two))
    for _ in range(2):
        fleet.round(node("n1", gpus=two[1:], gpu_traits=base.gpu_traits[1:]))
    assert fleet.said("n1") == ("certain", "drain")


def test_a_check_that_tells_nothing_for_a_while_makes_no_new_spell() -> None:
    fleet = FleetRounds()
    for _ in range(20):
        fleet.round(node("n3", NOW, _NARROW))
        fleet.round(node("n3", unknown={"denied": ("pcie-link-narrow",)}))
    assert "lemon" not in [one.node_class for one in fleet.verdict.nodes[0].reasons]


def test_an_outage_that_begins_is_told_of_the_new_records() -> None:
    records = {f"n{n}": node(f"n{n}", NOW) for n in range(60)}
    fleet = FleetRounds()
    fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW)
    records |= {f"n{n}": node(f"n{n}", NOW + 60, *([_NARROW] if n < 4 else [])) for n in range(8)}
    fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW + 60)
    assert [one.message for one in fleet.verdict.findings] == [
        "pcie-link-narrow on 4 of 8 nodes with a new record at once: a shared cause, so none is drained for it. "
        "The sentence of pcie-link-narrow."
    ]


def test_a_record_of_long_ago_tells_nothing_of_a_node_that_was_never_heard() -> None:
    for hours, said in ((23, ("certain", "drain")), (25, ("unknown", "none"))):
        fleet = FleetRounds()
        fleet.round()
        fleet.round(node("n100", fleet.at + 3600 - hours * 3600, replace(_FATAL, looks=2)))
        assert fleet.said("n100") == said


def test_nodes_whose_last_record_still_holds_count() -> None:
    """An outage that a tick sees on two new records, beside many that show it and still hold."""
    fleet = FleetRounds(30)
    records = {f"n{n}": node(f"n{n}", NOW, *([_NARROW] if n < 10 else [])) for n in range(30)}
    for after in (0, 60, 120, 180):
        records |= {f"n{n}": node(f"n{n}", NOW + after, _NARROW) for n in range(2)}
        fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW + after)
        assert fleet.to_drain() == []
    assert [one.what for one in fleet.verdict.findings] == ["pcie-link-narrow"]


def test_what_is_usual_is_told_by_all_whose_record_holds() -> None:
    fleet = FleetRounds()
    records = {f"n{n}": node(f"n{n}", NOW) for n in range(20)}
    for after in (0, 60, 120):
        records["n3"] = node("n3", NOW + after, **without(5))
        fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW + after)
    assert fleet.said("n3") == ("certain", "drain")
    assert "none at 0000:aa:00.0" in fleet.verdict.nodes[0].reasons[0].message


def test_a_card_of_which_nobody_knows_the_rate_is_not_a_lost_one() -> None:
    said = {}
    for state in ("up", "strange", "down", "init", "armed", "lowerlayerdown", "dormant"):
        traits = {**fixture_record().traits, "nics": f"7 x roce 400 Gbit/s, 1 x roce {state}"}
        fleet = FleetRounds(6)
        for _ in range(3):
            fleet.round(node("n3", traits=traits))
        said[state] = fleet.said("n3")
    assert said.pop("up") == said.pop("strange") == ("different", "none")
    assert set(said.values()) == {("likely", "drain")}, said


def test_gpus_are_compared_place_by_place_only_where_all_are_listed() -> None:
    base = fixture_record()
    narrow = tuple({**one, "pcie_width": "8"} for one in base.gpu_traits)
    fleet = FleetRounds()
    for _ in range(3):
        fleet.round(
            node("n3", complete=False, gpu_traits=narrow),
            node("n4", gpus=(*base.gpus, base.gpus[0]), gpu_traits=(*narrow, narrow[0])),
        )
    assert fleet.to_drain() == []


def test_a_board_that_was_changed_has_no_past_and_a_node_can_be_forgotten() -> None:
    base = fixture_record()
    four: dict[str, Any] = {"gpus": base.gpus[:4], "gpu_traits": base.gpu_traits[:4]}
    fleet = FleetRounds(2)
    fleet.round(node("n1", fixture="h100-8gpu"))
    for _ in range(2):
        fleet.round(node("n1", **four))
    assert fleet.said("n1") == ("well", "none")
    records = {"n0": node("n0", fleet.at + 60, **four)}
    for at, forget in ((fleet.at + 60, ("n0", "n1")), (fleet.at + 120, ())):
        records["n0"] = replace(records["n0"], taken_at=at)
        fleet.verdict = judge(fleet.memories, Incoming(records, {}, forget), at)
    assert (fleet.verdict.total, fleet.to_drain()) == (1, [])


def _back(fleet: FleetRounds, check: str, *names: str) -> list[EngineCall]:
    """What becomes of nodes that were drained for a check before the last record and then rebooted."""
    reason = f"rocdoctor: {check} [certain] 20261124T1340Z"
    engine = [
        EngineNode(f"n{n}", f"n{n}" in names, reason if f"n{n}" in names else "", True) for n in range(fleet.size)
    ]
    journal = [Drained(name, reason, NOW - 20) for name in names]
    booted = dict.fromkeys(names, NOW - 10)
    return list(plan(fleet.verdict, engine, journal, ActionLimits(), fleet.at, booted).calls)


def test_a_fault_that_many_have_is_still_there_after_a_boot() -> None:
    """Three of forty show it, too few to be common; then they alone have a new record, of which it is all."""
    bad, names = replace(_FATAL, looks=2), ("n1", "n2", "n3")
    fleet = FleetRounds(40)
    records = {f"n{n}": node(f"n{n}", NOW, *([bad] if f"n{n}" in names else [])) for n in range(40)}
    fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW)
    assert fleet.to_drain() == [*names]
    for after, findings, back in ((300, (bad,), []), (600, (), [EngineCall("resume", names, "")])):
        records |= {name: node(name, NOW + after, *findings, boot="b-2") for name in names}
        fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW + after)
        assert len(fleet.verdict.findings) == len(findings)
        assert _back(fleet, "ras-uncorrectable", *names) == back


def test_a_node_with_two_faults_comes_back_when_both_are_known_to_be_gone() -> None:
    """It was drained for one; the other is not told of in the first records of the next boots."""
    fleet = FleetRounds()
    for _ in range(2):
        fleet.round(node("n3", NOW, _FATAL, sick("driver-probe-failed", 3)))
    assert fleet.verdict.nodes[0].first.check == "driver-probe-failed"
    denied: dict[str, Any] = {"unknown": {"denied": ("driver-probe-failed",)}}
    for boot, changes, back in (("b-2", denied, 0), ("b-3", denied, 0), ("b-3", {}, 1)):
        fleet.round(node("n3", boot=boot, **changes))
        assert fleet.said("n3") == ("well", "none")
        assert len(_back(fleet, "ras-uncorrectable", "n3")) == back
    fleet.round(node("n3", **denied))
    assert len(_back(fleet, "ras-uncorrectable", "n3")) == 1, "what was well since is no matter"


def test_a_node_is_not_well_where_its_equals_have_no_usual_value_any_more() -> None:
    """More memory is being put in, or the equals do not tell their links: nothing is left to compare with."""
    base = fixture_record()
    size = int(base.traits["memory_bytes"] or 0)
    low: dict[str, Any] = {"traits": {**base.traits, "memory_bytes": str(size // 2)}}
    more: dict[str, Any] = {"traits": {**base.traits, "memory_bytes": str(size * 2)}}
    narrow: dict[str, Any] = {"gpu_traits": tuple({**one, "pcie_width": "8"} for one in base.gpu_traits)}
    untold: dict[str, Any] = {"gpu_traits": tuple({**one, "pcie_width": None} for one in base.gpu_traits)}
    for check, bad, others in (("fleet-host-below-group", low, more), ("fleet-link-below-group", narrow, untold)):
        fleet = FleetRounds()
        for _ in range(3):
            fleet.round(node("n3", **bad))
        assert fleet.to_drain() == ["n3"]
        equals = [node(f"n{n}", **others) for n in range(20) if n != 3 and (others is untold or n > 11)]
        fleet.round(*equals, node("n3", boot="b-2", **bad))
        assert fleet.said("n3")[1] == "none"
        assert check in fleet.memories["n3"].undecided
        assert _back(fleet, check, "n3") == []
        fleet.round(node("n3", boot="b-2"))
        assert check not in fleet.memories["n3"].undecided
        assert len(_back(fleet, check, "n3")) == 1


def test_counters_that_stand_count_in_each_record_and_lines_once() -> None:
    """The check of PCIe errors reads the counters of the kernel, and its log where nobody read them."""
    bad = sick("pcie-aer-errors", 2, "pcie-link-degraded", "warning")
    for logged_s, ready in ((None, [0, 0, 1, 1]), (0.0, [0, 0, 0, 0]), (500.0, [0, 0, 0, 0])):
        fleet, said = FleetRounds(), []
        for _ in ready:
            fleet.round(node("n3", NOW, replace(bad, logged_s=logged_s)))
            said.append(int(fleet.verdict.nodes[0].first.ready))
        assert said == ready, logged_s
        fleet.round()
        assert fleet.said("n3")[1] == "none"
    fleet = FleetRounds()
    for logged_s in (0.0, 500.0, 500.0, 500.0):
        fleet.round(node("n3", NOW, replace(bad, logged_s=logged_s)))
    assert fleet.verdict.nodes[0].first.seen == 1, "it may be the same line, of which the time is known now"
