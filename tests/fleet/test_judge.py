"""What is concluded of nodes over rounds, and the guards that keep healthy ones in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.fleet.acting import reason_of
from rocdoctor.fleet.judge import Incoming, judge
from rocdoctor.fleet.node_names import folded
from rocdoctor.fleet.record import SeenGpu, Sighting
from rocdoctor.report.fleet.fleet_document import rows, words_of
from rocdoctor.report.fleet.fleet_metrics import metrics
from tests.fleet.kit import NOW, FleetRounds, fixture_record, node, sick, without

_FATAL = sick("ras-uncorrectable", 2, "gpu-hardware-fault")
_NARROW = sick("pcie-link-narrow", 1, "pcie-link-degraded", "warning")


def test_nothing_speaks_against_equal_nodes() -> None:
    fleet = FleetRounds()
    fleet.round()
    assert (fleet.verdict.nodes, fleet.verdict.findings, fleet.verdict.told) == ((), (), 20)


def test_what_is_certain_takes_two_looks() -> None:
    fleet = FleetRounds()
    fleet.round(node("n3", NOW, _FATAL))
    assert fleet.said("n3") == ("certain", "none")
    fleet.round(node("n3", NOW, _FATAL))
    assert fleet.said("n3") == ("certain", "drain")
    reason = fleet.verdict.nodes[0].reasons[0]
    assert (reason.check, reason.cause, reason.gpu, reason.seen, reason.looks) == (
        "ras-uncorrectable",
        "gpu-hardware-fault",
        2,
        2,
        2,
    )
    fleet.round()
    assert fleet.said("n3")[1] == "none"


def test_what_is_certain_and_comes_and_goes_takes_no_more_than_what_is_likely() -> None:
    """A GPU that is gone in every other record is never gone in two of them, one after the other."""
    fleet = FleetRounds()
    said = []
    for number in range(5):
        fleet.round(*([node("n3", NOW, **without(3))] if number % 2 == 0 and number else []))
        said.append(fleet.said("n3")[1])
    assert said == ["none"] * 5
    fleet.round()
    fleet.round(node("n3", NOW, **without(3)))
    assert fleet.said("n3") == ("certain", "drain")


def test_what_is_no_reason_to_drain_names_its_gpu_too() -> None:
    fleet = FleetRounds()
    fleet.round(node("n3", NOW, replace(_FATAL, confidence="possible")))
    (reason,) = fleet.verdict.nodes[0].reasons
    assert (reason.node_class, reason.gpu, reason.cause) == ("different", 2, "gpu-hardware-fault")


def test_two_looks_of_one_record_are_two() -> None:
    fleet = FleetRounds()
    fleet.round(node("n3", NOW, replace(_FATAL, looks=2)))
    assert fleet.said("n3") == ("certain", "drain")


def test_what_comes_and_goes_takes_three_of_five() -> None:
    fleet = FleetRounds()
    shown = [True, False, True, False, True]
    said = []
    for there in shown:
        fleet.round(*([node("n3", NOW, _NARROW)] if there else []))
        said.append(fleet.said("n3")[1])
    assert said == ["none"] * 4 + ["drain"]
    fleet.round()
    assert fleet.said("n3") == ("likely", "none"), "it is well now, and was not"


def test_the_network_takes_two_in_five_minutes() -> None:
    for step, proposal in ((200, "drain"), (400, "none")):
        fleet = FleetRounds()
        for _ in range(2):
            fleet.round(node("n3", NOW, sick("infiniband-port-down", severity="warning")), step=step)
        assert fleet.said("n3") == ("likely", proposal), step


def test_another_boot_begins_anew() -> None:
    fleet = FleetRounds()
    fleet.round(node("n3", NOW, _FATAL))
    fleet.round(node("n3", NOW, _FATAL, boot="b-2"))
    assert fleet.said("n3") == ("certain", "none")


def test_what_is_certain_and_outlasts_five_boots_is_enough() -> None:
    """A node that restarts again and again has one record of each boot."""
    fleet = FleetRounds()
    narrow, seen = sick("pcie-link-narrow", 2), [1, 1, 1, 1, 5]
    for at, count in enumerate(seen):
        fleet.round(node("n3", NOW, _FATAL, boot=f"b-{at}"), node("n4", NOW, narrow, boot=f"b-{at}"))
        assert fleet.verdict.nodes[0].reasons[0].seen == count
        assert fleet.said("n3") == ("certain", "drain" if count == 5 else "none")
    assert fleet.said("n4") == ("likely", "none"), "what comes and goes on sound nodes may do so at each start"


def test_what_is_certain_and_moves_from_gpu_to_gpu_is_enough_after_five_records() -> None:
    fleet = FleetRounds()
    for at in range(5):
        fleet.round(node("n3", NOW, sick("ras-uncorrectable", at)))
        assert fleet.said("n3")[1] == ("drain" if at == 4 else "none")
    assert fleet.said("n3") == ("certain", "drain")
    assert fleet.verdict.nodes[0].reasons[0].gpu == 4
    fleet.round(node("n3", NOW, sick("ras-uncorrectable", 4), sick("ras-uncorrectable", 6)))
    assert [(one.gpu, one.seen) for one in fleet.verdict.nodes[0].reasons if one.ready] == [(4, 5)]


@pytest.mark.parametrize("between", ["a sound record", "a week"])
def test_what_was_gone_between_boots_begins_anew(between: str) -> None:
    fleet = FleetRounds()
    for at in range(4):
        fleet.round(node("n3", NOW, _FATAL, boot=f"b-{at}"))
    if between == "a week":
        fleet.at += 8 * 86400
    else:
        fleet.round(node("n3", boot="b-4"))
    fleet.round(node("n3", NOW, _FATAL, boot="b-5"))
    assert fleet.said("n3") == ("certain", "none")


def test_software_and_settings_never_drain() -> None:
    fleet = FleetRounds()
    base = fixture_record()
    for _ in range(6):
        fleet.round(
            node("n1", NOW, sick("torch-import-fails")),
            node("n2", traits={**base.traits, "kernel": "5.4.0-1-generic"}),
            node("n3", tables={**base.tables, "package": "0" * 12}),
        )
    assert [fleet.said(name) for name in ("n1", "n2", "n3")] == [("different", "none")] * 3
    assert "5.4.0-1-generic; 6.8.0-71-generic on peer nodes" in str(fleet.of("n2"))


def test_a_gpu_that_equal_nodes_have_is_missing() -> None:
    fleet = FleetRounds()
    for _ in range(2):
        fleet.round(node("n3", **without(5)))
    assert fleet.said("n3") == ("certain", "drain")
    reason = fleet.verdict.nodes[0].reasons[0]
    assert (reason.check, reason.gpu) == ("fleet-gpu-missing", 5)
    assert "none at 0000:aa:00.0" in reason.message


def test_among_few_nodes_the_nodes_own_past_tells() -> None:
    fleet = FleetRounds(2)
    fleet.round(node("n1", **without(5)))
    assert fleet.said("n1") == ("well", "none"), "nobody knows that it had eight"
    fleet = FleetRounds(2)
    fleet.round()
    for _ in range(2):
        fleet.round(node("n1", **without(5)))
    assert fleet.said("n1") == ("certain", "drain")


def test_a_list_that_may_not_show_all_gpus_misses_none() -> None:
    fleet = FleetRounds()
    for _ in range(3):
        fleet.round(node("n3", complete=False, **without(5)))
    assert fleet.said("n3") == ("different", "none"), "it is not silent about it either"
    assert "7 GPUs listed, 8 on peer nodes" in str(fleet.of("n3"))


def test_a_link_below_that_of_equals() -> None:
    narrow = tuple({**one, "pcie_width": "8"} if at == 6 else one for at, one in enumerate(fixture_record().gpu_traits))
    fleet = FleetRounds()
    for _ in range(3):
        fleet.round(node("n3", gpu_traits=narrow))
    assert fleet.said("n3") == ("likely", "drain")
    reason = fleet.verdict.nodes[0].reasons[0]
    assert (reason.check, reason.cause, reason.gpu) == ("fleet-link-below-group", "pcie-link-degraded", 6)


def test_a_card_or_memory_that_is_lost_and_nodes_that_were_bought_with_less() -> None:
    base = fixture_record().traits
    seven = {**base, "nics": "7 x roce 400 Gbit/s"}
    short = {**base, "memory_bytes": str(int(base["memory_bytes"] or 0) * 15 // 16)}
    none = {**base, "nics": "none"}
    half = {**base, "memory_bytes": str(int(base["memory_bytes"] or 0) // 2)}
    fleet = FleetRounds(50)
    for _ in range(3):
        fleet.round(
            node("n1", traits=seven),
            node("n2", traits=short),
            node("n3", traits=none),
            *(node(f"n{n}", traits=half) for n in range(4, 8)),
        )
    assert fleet.to_drain() == ["n1", "n2"]
    assert {one.node: one.node_class for one in fleet.verdict.nodes} == {
        "n1": "likely",
        "n2": "likely",
        "n3": "different",
        **dict.fromkeys(("n4", "n5", "n6", "n7"), "different"),
    }


def test_ports_that_a_node_itself_had_were_lost_and_not_bought_so() -> None:
    base = fixture_record().traits
    none, slow = {**base, "nics": "none"}, {**base, "nics": "7 x roce 400 Gbit/s, 1 x roce 100 Gbit/s"}
    fleet = FleetRounds(60)
    bought = [node("n9", traits=none)]  # it never had any
    fleet.round(*bought)
    for _ in range(3):
        fleet.round(*bought, node("n1", traits=none), *(node(f"n{n}", traits=slow) for n in range(2, 5)))
    assert fleet.to_drain() == ["n1", "n2", "n3", "n4"]
    said = {one.node: one.reasons[0] for one in fleet.verdict.nodes}
    assert said["n1"].message == (
        "InfiniBand and RoCE ports: none; 8 x roce 400 Gbit/s here earlier, 8 x roce 400 Gbit/s on peer nodes."
    )
    assert (said["n9"].node_class, said["n9"].check) == ("different", "fleet-trait-differs.nics")
    for _ in range(5):
        fleet.round(*bought)
    assert fleet.to_drain() == [], "they are back"
    for _ in range(3):  # a switch that is set to less takes many at once
        fleet.round(*bought, *(node(f"n{n}", traits=slow) for n in range(10, 40)))
    assert fleet.to_drain() == []


def test_what_many_have_at_once_drains_nobody_then_or_later() -> None:
    """An outage on a third of the nodes, in three rounds of which one more would be enough."""
    fleet = FleetRounds(30)
    hit = [f"n{n}" for n in range(10)]
    for _ in range(3):
        fleet.round(*(node(name, NOW, _NARROW) for name in hit))
        assert fleet.to_drain() == []
        assert [one.what for one in fleet.verdict.findings] == ["pcie-link-narrow"]
    fleet.round(node("n1", NOW, _NARROW))
    assert fleet.to_drain() == []
    assert fleet.verdict.findings == ()
    for _ in range(2):
        fleet.round(node("n1", NOW, _NARROW))
    assert fleet.to_drain() == ["n1"], "one that stays broken is found all the same"


def test_a_release_of_ours_that_fails_everywhere_drains_nobody() -> None:
    fleet = FleetRounds()
    for _ in range(4):
        fleet.round(*(node(f"n{n}", NOW, replace(_FATAL, looks=2)) for n in range(20)))
    assert fleet.to_drain() == []
    assert len(fleet.verdict.findings) == 1


def test_a_tool_that_hangs_everywhere_is_one_finding() -> None:
    fleet = FleetRounds()
    fleet.round(*(node(f"n{n}", unanswered={"run amd-smi static": "timeout"}) for n in range(20)))
    assert [one.kind for one in fleet.verdict.findings] == ["unknown"]
    assert fleet.verdict.nodes == ()


def test_a_tool_that_hangs_on_one_node_is_told_of_it_and_drains_nothing() -> None:
    fleet = FleetRounds()
    for _ in range(4):
        fleet.round(node("n3", unanswered={"run amd-smi static": "timeout", "read /x": "denied"}))
    assert fleet.said("n3") == ("unknown", "none")
    assert [one.message for one in fleet.verdict.nodes[0].reasons] == [
        "run amd-smi static gave no answer in time; why is not known."
    ]
    fleet.round()
    assert fleet.verdict.nodes == ()


def test_a_node_without_any_gpu_has_lost_all() -> None:
    fleet = FleetRounds()
    fleet.round()
    for _ in range(2):
        fleet.round(node("n3", gpus=(), gpu_traits=()))
    assert fleet.said("n3") == ("certain", "drain")
    assert "0 GPUs on the bus, 8 on peer nodes" in fleet.verdict.nodes[0].reasons[0].message


def test_nodes_that_were_bought_with_fewer_gpus_have_lost_none() -> None:
    base = fixture_record()
    four: dict[str, Any] = {"gpus": base.gpus[:4], "gpu_traits": base.gpu_traits[:4]}
    fleet = FleetRounds()
    for _ in range(3):
        fleet.round(node("n3", gpus=(), gpu_traits=()), node("n4", **four))
    assert [fleet.said(name) for name in ("n3", "n4")] == [("different", "none")] * 2
    for _ in range(2):
        fleet.round(node("n4", gpus=base.gpus[:3], gpu_traits=base.gpu_traits[:3]))
    assert fleet.said("n4") == ("certain", "drain"), "one that had four is held against that"


def test_two_kinds_of_nodes_have_norms_of_their_own() -> None:
    fleet = FleetRounds()
    others = [node(f"h{n}", fixture="h100-8gpu") for n in range(8)]
    for _ in range(3):
        fleet.round(*others)
    assert fleet.verdict.nodes == ()


def test_a_change_under_way_makes_nobody_odd() -> None:
    fleet = FleetRounds()
    new = {**fixture_record().traits, "amdgpu": "6.16.0"}
    fleet.round(*(node(f"n{n}", traits=new) for n in range(9)))
    assert fleet.verdict.nodes == ()
    assert [(one.kind, one.nodes, one.among) for one in fleet.verdict.findings] == [("rollout", 9, 20)]


def test_no_record_is_not_known_and_never_drains() -> None:
    fleet = FleetRounds()
    fleet.round(node("n3", NOW, _FATAL))
    for _ in range(5):
        fleet.round(absent=["n3"], problems={"n3": "not a JSON text"})
    assert fleet.said("n3") == ("unknown", "none")
    assert "no usable record for 5 rounds" in fleet.verdict.nodes[0].reasons[0].message


def test_a_record_that_is_read_again_holds_for_a_while_and_proves_nothing_more() -> None:
    fleet = FleetRounds()
    records = {f"n{n}": node(f"n{n}", NOW, *([_FATAL] if n == 3 else [])) for n in range(20)}
    said = []
    for after in (0, 300, 600, 1500):
        fleet.verdict = judge(fleet.memories, Incoming(records, {}), NOW + after)
        said.append((fleet.verdict.told, fleet.said("n3")))
    assert said == [(20, ("certain", "none"))] * 3 + [(0, ("unknown", "none"))]


def test_a_clock_that_jumps_costs_its_own_node_alone() -> None:
    fleet = FleetRounds()
    for _ in range(2):
        fleet.round()
        fleet.round(node("n3", fleet.at + 10**7), node("n4", 5))
        assert [fleet.said(name) for name in ("n3", "n4")] == [("unknown", "none")] * 2
        assert {one.node for one in fleet.verdict.nodes} == {"n3", "n4"}
    fleet.round()
    assert fleet.verdict.nodes == ()


def test_a_card_that_was_changed_is_news() -> None:
    base = fixture_record()
    known = tuple(replace(one, id=f"g-{n}") for n, one in enumerate(base.gpus))
    fleet = FleetRounds()
    fleet.round(node("n3", gpus=known))
    fleet.round(node("n3", gpus=(*known[:7], SeenGpu(known[7].bdf, known[7].chip, "g-new"))))
    assert fleet.said("n3") == ("different", "none")
    assert "GPU 7 is not the card it was" in fleet.verdict.nodes[0].reasons[0].message


def test_eight_spells_in_a_week_make_a_lemon() -> None:
    fleet = FleetRounds()
    said = []
    for number in range(16):
        fleet.round(*([node("n3", NOW, _NARROW)] if number % 4 == 0 else []))
        said.append(fleet.said("n3")[1])
    assert "test" not in said
    for number in range(20):
        fleet.round(*([node("n3", NOW, _NARROW)] if number % 4 == 0 else []))
    assert fleet.said("n3")[1] == "test"
    assert any(one.node_class == "lemon" for one in fleet.verdict.nodes[0].reasons)


def test_names_are_folded() -> None:
    assert folded(["gpu0712", "gpu0003", "gpu0713", "head", "a1b", "gpu0714"]) == "head,a1b,gpu[0003,0712-0714]"
    assert folded(["n9", "n10"]) == "n9,n10"
    assert folded([]) == ""


def test_the_reason_to_name_is_the_gravest_that_is_enough_to_act() -> None:
    fleet = FleetRounds()
    for fatal in ((), (), (_FATAL,)):
        fleet.round(node("n1", NOW, _NARROW, *fatal))
    one = fleet.verdict.nodes[0]
    assert (one.node_class, one.proposal, one.first.check) == ("certain", "drain", "pcie-link-narrow")
    assert reason_of(one, NOW).startswith("rocdoctor: pcie-link-narrow [likely] ")
    assert rows([one])[0].first == one.first
    assert words_of(one.first).endswith("[pcie-link-narrow 3/3]")
    assert 'check="pcie-link-narrow"' in metrics(fleet.verdict)


def test_the_gravest_reason_stands_first() -> None:
    fleet = FleetRounds()
    odd: Sighting = sick("torch-import-fails")
    for _ in range(3):
        fleet.round(node("n1", NOW, odd, _NARROW, _FATAL), node("n2", NOW, odd))
    assert [one.node for one in fleet.verdict.nodes] == ["n1", "n2"]
    assert [one.node_class for one in fleet.verdict.nodes[0].reasons] == ["certain", "likely", "different"]
