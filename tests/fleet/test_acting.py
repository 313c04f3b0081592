"""The bounds of acting hold whatever happens, and what others did is left alone."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.fleet.acting import ActionLimits, Drained, EngineCall, EngineNode, plan, undone
from rocdoctor.fleet.slurm import asides, boots_of, commands, nodes_of
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict, Reason
from rocdoctor.host.base import Answer
from rocdoctor.service.errors import UsageError
from rocdoctor.service.fleet_apply import Acting, run_engine
from tests.examples import examples
from tests.fleet.kit import NOW

_BAD = Reason("certain", "ras-uncorrectable", "", 2, "Errors.", 2, 2, True)
_SLOW = Reason("slow", "fleet-figure-slow.matmul_bf16_tflops", "", 2, "10 % below its neighbours.", 3, 3, True)
_NAMES = [f"n{n:02d}" for n in range(40)]


def _verdict(
    *bad: str, heard: int = NOW, kinds: dict[str, str] | None = None, slow: Iterable[str] = ()
) -> FleetVerdict:
    sick = [NodeVerdict(name, "k", (_BAD,), heard) for name in bad]
    nodes = (*sick, *(NodeVerdict(name, "k", (_SLOW,), heard) for name in slow if name not in bad))
    known = kinds or dict.fromkeys(_NAMES, "k")
    return FleetVerdict(NOW, 40, 40, nodes, (), (), dict.fromkeys(_NAMES, heard), known)


def _engine(**out: str) -> list[EngineNode]:
    return [EngineNode(name, name in out, out.get(name, ""), True) for name in _NAMES]


_WIDE = ActionLimits(share=1.0, rate=1.0)


def test_the_worst_go_first_and_the_rest_is_held() -> None:
    found = plan(_verdict("n05", "n03", "n07"), _engine(), [], ActionLimits(rate=1.0), NOW)
    assert [one.nodes for one in found.calls] == [("n05", "n03")]
    assert found.calls[0].reason == "rocdoctor: ras-uncorrectable [certain] 20261124T1340Z"
    assert len(found.calls[0].reason) <= 80
    assert found.held == (("n07", "at most 2 may be out at once: --share, --most"),)


def test_each_bound_holds() -> None:
    bad = _NAMES[:10]

    def drained(limits: ActionLimits, kinds: dict[str, str] | None = None) -> int:
        return sum(len(one.nodes) for one in plan(_verdict(*bad, kinds=kinds), _engine(), [], limits, NOW).calls)

    assert drained(_WIDE) == 10
    assert drained(replace(_WIDE, share=0.1)) == 4
    assert drained(replace(_WIDE, most=3)) == 3
    assert drained(replace(_WIDE, floor=38)) == 2
    assert drained(replace(_WIDE, rate=0.02)) == 1
    assert drained(replace(_WIDE, share=0.12), {name: "a" if name < "n20" else "b" for name in _NAMES}) == 2
    assert drained(replace(_WIDE, share=0.02)) == 0


def test_what_was_drained_within_an_hour_counts() -> None:
    journal = [Drained("n30", "r", NOW - 600)]
    assert plan(_verdict("n05"), _engine(), journal, ActionLimits(rate=0.02), NOW).calls == ()
    assert (
        plan(_verdict("n05"), _engine(), [replace(journal[0], at=NOW - 4000)], ActionLimits(rate=0.02), NOW).calls != ()
    )


def test_what_others_drained_is_left_alone() -> None:
    engine = _engine(n05="dimm, Ann", n06="rocdoctor: typed by hand")
    found = plan(_verdict("n05"), engine, [Drained("n06", "rocdoctor: ours", NOW - 9000)], _WIDE, NOW + 9000)
    assert found.calls == ()
    assert found.foreign == ("n05", "n06")


def test_a_node_comes_back_after_a_record_of_this_boot_that_speaks_for_it() -> None:
    journal = [Drained("n05", "rocdoctor: x", NOW - 5000)]
    engine = _engine(n05="rocdoctor: x")

    def back(found: FleetVerdict, booted: dict[str, int]) -> list[EngineCall]:
        return list(plan(found, engine, journal, _WIDE, NOW, booted).calls)

    assert back(_verdict(), {"n05": NOW - 6000}) == [EngineCall("resume", ("n05",), "")]
    assert back(_verdict(), {"n05": NOW + 10}) == [], "it has booted since its record"
    assert back(_verdict(), {}) == [], "nobody knows when it booted"
    assert back(_verdict(heard=NOW - 5500), {"n05": NOW - 6000}) == [], "the record is older than the drain"
    assert back(_verdict("n05"), {"n05": NOW - 6000}) == []
    watched = NodeVerdict("n05", "k", (replace(_BAD, node_class="unknown", ready=False),), NOW)
    assert back(replace(_verdict(), nodes=(watched,)), {"n05": NOW - 6000}) == []


def test_a_node_stays_out_while_its_record_cannot_tell_of_what_it_was_drained_for() -> None:
    reason = "rocdoctor: ras-uncorrectable [certain] 20261124T1340Z"
    journal, engine = [Drained("n05", reason, NOW - 5000)], _engine(n05=reason)
    for node, calls in (("n05", 0), ("n06", 1)):
        found = replace(_verdict(), unsettled={node: ("ras-uncorrectable",)})
        assert len(plan(found, engine, journal, _WIDE, NOW, {"n05": NOW - 6000}).calls) == calls, node


def test_a_release_goes_through_where_drains_are_held() -> None:
    journal = [Drained(name, "rocdoctor: x", NOW - 5000) for name in ("n05", "n06")]
    engine = _engine(n05="rocdoctor: x", n06="rocdoctor: x")
    found = plan(
        _verdict("n06", "n07"), engine, journal, ActionLimits(rate=1.0), NOW, dict.fromkeys(_NAMES, NOW - 6000)
    )
    assert [(one.action, one.nodes) for one in found.calls] == [("resume", ("n05",)), ("drain", ("n07",))]
    full = plan(_verdict("n06", "n07"), engine, journal, ActionLimits(most=0), NOW, dict.fromkeys(_NAMES, NOW - 6000))
    assert [one.action for one in full.calls] == ["resume"]


_ASIDE = "rocdoctor: fleet-figure-slow.matmul_bf16_tflops [slow] 20261124T1340Z"


def test_suspects_are_set_aside_only_where_asked_and_in_half_of_the_room() -> None:
    found = _verdict("n05", slow=("n11", "n12", "n13", "n14"))
    limits = ActionLimits(share=0.15, rate=1.0)  # six of forty
    assert [one.action for one in plan(found, _engine(), [], limits, NOW).calls] == ["drain"]
    done = plan(found, _engine(), [], replace(limits, suspects=True), NOW)
    assert [(one.action, one.nodes) for one in done.calls] == [("drain", ("n05",)), ("aside", ("n11", "n12", "n13"))]
    assert done.calls[1].reason == _ASIDE
    assert done.held == (("n14", "at most 3 suspects may be aside at once: half of --share, --most"),)
    out = _engine(n11="dimm, Ann")  # five of thirty-nine
    assert plan(found, out, [], replace(limits, suspects=True), NOW).calls[1].nodes == ("n12", "n13")


def _engine_aside(*names: str, **out: str) -> list[EngineNode]:
    return [replace(one, aside=(_ASIDE,)) if one.name in names else one for one in _engine(**out)]


def test_a_suspect_counts_in_every_bound_and_may_still_be_drained() -> None:
    journal = [Drained("n11", _ASIDE, NOW - 5000, True)]
    limits = ActionLimits(most=1, share=1.0, rate=1.0)
    assert plan(_verdict("n05", slow=["n11"]), _engine_aside("n11"), journal, limits, NOW).calls == ()
    calls = plan(_verdict("n11"), _engine_aside("n11"), journal, limits, NOW).calls
    assert [(one.action, one.nodes) for one in calls] == [("drain", ("n11",))], "it takes no more room"
    floor = ActionLimits(share=1.0, rate=1.0, floor=39)
    assert plan(_verdict("n05", slow=["n11"]), _engine_aside("n11"), journal, floor, NOW).calls == ()
    assert plan(_verdict("n05", slow=["n11"]), _engine_aside(), journal, floor, NOW).calls != ()


def test_a_suspect_comes_back_by_a_record_and_leaves_the_others_aside() -> None:
    journal = [Drained(name, _ASIDE, NOW - 5000, True) for name in ("n11", "n12")]
    engine = _engine_aside("n11", "n12", "n30")
    boots = dict.fromkeys(_NAMES, NOW - 6000)

    def back(found: FleetVerdict, nodes: list[EngineNode] = engine) -> list[EngineCall]:
        return list(plan(found, nodes, journal, _WIDE, NOW, boots).calls)

    assert back(_verdict(slow=["n12"])) == [EngineCall("return", ("n11",), _ASIDE, ("n12", "n30"))]
    assert back(_verdict(slow=["n11", "n12"])) == []
    assert back(_verdict(heard=NOW - 5500)) == [], "the record is older"
    assert back(_verdict(slow=["n12"]), _engine_aside("n30")) == [], "somebody has brought it back"
    theirs = [replace(one, aside=("rocdoctor/suspect=ann",)) if one.aside else one for one in engine]
    assert back(_verdict(slow=["n12"]), theirs) == [], "it stands aside for another reason"
    assert undone(journal[:1], engine) == [EngineCall("return", ("n11",), _ASIDE, ("n12", "n30"))]
    assert undone([replace(journal[0], aside=False)], engine) == []


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["bad", "slow", "well", "apply", "again", "edit", "foreign", "jump", "undo"]),
        st.integers(0, 39),
    ),
    min_size=5,
    max_size=60,
)


@given(_EVENTS, st.floats(0, 0.5), st.integers(0, 10), st.integers(0, 40))
@examples(2)
def test_no_order_of_events_passes_a_bound(events: list[tuple[str, int]], share: float, most: int, floor: int) -> None:
    """A scheduler in little: verdicts change, people drain and edit reasons, clocks jump, apply runs when it will."""
    limits = ActionLimits(share, most, floor, rate=1.0, suspects=True)
    slurm, apart = dict.fromkeys(_NAMES, ""), dict[str, str]()
    journal: list[Drained] = []
    bad: dict[str, None] = {}
    slow: dict[str, None] = {}
    now, foreign = NOW, set[str]()
    for event, number in events:
        name = _NAMES[number]
        now += 60
        if event == "bad":
            bad[name] = None
        elif event == "slow":
            slow[name] = None
        elif event == "well":
            bad.pop(name, None)
            slow.pop(name, None)
        elif event == "edit" and slurm[name]:
            slurm[name] += " (Ann)"
            foreign.add(name)
        elif event == "edit":
            apart.pop(name, None)
        elif event == "foreign" and not slurm[name]:
            slurm[name] = "rocdoctor: looks like ours"
            foreign.add(name)
        elif event == "jump":
            now += random.Random(number).choice((-7200, 7200, 86400))
        elif event in ("apply", "again", "undo"):
            engine = [
                EngineNode(one, bool(reason), reason, True, (apart[one],) if one in apart else ())
                for one, reason in slurm.items()
            ]
            found = plan(_verdict(*bad, heard=now, slow=slow), engine, journal, limits, now, dict.fromkeys(_NAMES, 0))
            calls = undone(journal, engine) if event == "undo" else list(found.calls)
            serving = sum(not reason and one not in apart for one, reason in slurm.items())
            for one in calls:
                assert one.action == "return" or not foreign & set(one.nodes)
                for node in one.nodes:
                    if one.action in ("drain", "resume"):
                        slurm[node] = one.reason
                    elif one.action == "aside":
                        apart[node] = one.reason
                    else:
                        del apart[node]
                    if one.action in ("drain", "aside"):
                        journal.append(Drained(node, one.reason, now, one.action == "aside"))
            ours = {one.node for one in journal if slurm[one.node] == one.reason} | set(apart)
            cap = min(most, int(share * 40 + 1e-9))
            if any(one.action in ("drain", "aside") for one in calls):
                assert len(ours) <= cap
                assert sum(not reason and one not in apart for one, reason in slurm.items()) >= min(floor, serving)
            if any(one.action == "aside" for one in calls):
                assert len(apart) <= cap // 2


# -- Slurm's words


def test_sinfo_is_read() -> None:
    text = (
        "n01|idle|gpu:mi300x:8|none\nn01|idle|gpu:mi300x:8|none\nn02|drained*|gpu:8(S:0-1)|a|b # c\n"
        "n03|mixed|(null)|none\nn04|allocated~|gpu:8|none\n../x|idle|gpu|none\nn05|strange|gpu|none\nn06\n"
        "ALL|idle|gpu|none\nn07|drained|gpu|said\x0bn08|idle|gpu|none\n"
    )
    assert nodes_of(text) == [
        EngineNode("n01", False, "", True),
        EngineNode("n02", True, "a|b # c", True),
        EngineNode("n03", False, "", False),
        EngineNode("n04", False, "", True),
        EngineNode("n07", True, "said\x0bn08|idle|gpu|none", True),
    ]


def test_boots_are_read() -> None:
    line = "NodeName=n01 Arch=x86_64 State=DRAIN BootTime=2026-11-24T10:00:00 SlurmdStartTime=2026-11-24T10:01:00 \n"
    assert list(boots_of(line)) == ["n01"]
    assert boots_of("NodeName=n01 BootTime=None Reason=BootTime=2026\n") == {}


def test_a_suspect_stands_in_a_reservation_that_says_why() -> None:
    name = "ReservationName=rocdoctor-fleet-figure-slow.matmul_bf16_tflops.slow.20261124T1340Z"
    (made,) = commands(EngineCall("aside", ("n01", "n02"), _ASIDE))
    assert made[:3] == ["scontrol", "create", name]
    assert made[3:] == [
        *("StartTime=now", "Duration=UNLIMITED", "Flags=MAINT,IGNORE_JOBS", "Users=root"),
        "Nodes=n[01-02]",
    ]
    assert list(commands(EngineCall("return", ("n01",), _ASIDE, ("n02",)))) == [
        ["scontrol", "update", name, "Nodes=n02"]
    ]
    assert list(commands(EngineCall("return", ("n01", "n02"), _ASIDE))) == [["scontrol", "delete", name]]
    with pytest.raises(ValueError, match="not a reason"):
        list(commands(EngineCall("return", ("n01",), "maintenance")))


def test_reservations_are_read() -> None:
    """Only those whose name is one that we would have given; forms of Slurm 22.05 (scontrol --oneliner)."""
    rest = "StartTime=2026-11-24T13:40:00 EndTime=2027-11-24T13:40:00 Duration=365-00:00:00 "
    label = "fleet-many-spells.lemon.20261124T1340Z"
    lines = [
        f"ReservationName=rocdoctor-{label} {rest}Nodes=n[01-02],n07 NodeCnt=3 CoreCnt=24 Users=root State=ACTIVE",
        f"ReservationName=rocdoctor-ann {rest}Nodes=n03 NodeCnt=1 CoreCnt=8",
        f"ReservationName=maint {rest}Nodes=n04 NodeCnt=1 Comment=ReservationName=rocdoctor-{label}",
        f"ReservationName=rocdoctor-{label} {rest}Nodes=n[01 NodeCnt=1",
        f"ReservationName=rocdoctor-{label} {rest}Nodes= NodeCnt=0",
        "No reservations in the system",
    ]
    why = ("rocdoctor: fleet-many-spells [lemon] 20261124T1340Z",)
    assert asides("\n".join(lines)) == {"n01": why, "n02": why, "n07": why}


def test_five_hundred_nodes_are_one_call() -> None:
    names = tuple(f"n{n:05d}" for n in range(500))
    assert list(commands(EngineCall("drain", names, "rocdoctor: x"))) == [
        ["scontrol", "update", "NodeName=n[00000-00499]", "State=DRAIN", "Reason=rocdoctor: x"]
    ]
    assert len(list(commands(EngineCall("resume", tuple(f"n{n}" for n in range(2500)), "")))) == 3


class _Slurm:
    """What scontrol and sinfo would say."""

    def __init__(self) -> None:
        self.nodes = dict.fromkeys(_NAMES, "")
        self.calls: list[list[str]] = []
        self.fails = False

    def __call__(self, argv: list[str]) -> Answer:
        if argv[0] == "sinfo":
            rows = [f"{name}|{'drained' if why else 'idle'}|gpu:8|{why or 'none'}" for name, why in self.nodes.items()]
            return Answer("q", "ok", "\n".join(rows).encode(), 0)
        if argv[1] != "update":
            rows = [f"NodeName={name} BootTime=2020-01-01T00:00:00 x" for name in _NAMES]
            return Answer("q", "ok", "\n".join(rows).encode(), 0)
        self.calls.append(argv)
        if self.fails:
            return Answer("q", "ok", b"slurm_update error: Access denied", 1)
        names = argv[2].removeprefix("NodeName=")
        assert "[" not in names, "these tests drain single nodes"
        self.nodes[names] = argv[4].removeprefix("Reason=") if argv[3] == "State=DRAIN" else ""
        return Answer("q", "ok", b"", 0)


def test_apply_does_what_it_planned_and_writes_it_down_first(tmp_path: Path) -> None:
    slurm = _Slurm()
    acting = Acting(tmp_path, slurm)
    planned = acting.planned(_verdict("n05"), ActionLimits(), NOW)
    assert slurm.calls == []
    assert acting.journal() == []
    done, failed = acting.apply(_verdict("n05"), ActionLimits(), NOW)
    assert (done.calls, failed) == (planned.calls, [])
    assert slurm.nodes["n05"] == planned.calls[0].reason
    assert acting.journal() == [Drained("n05", planned.calls[0].reason, NOW)]
    assert acting.apply(_verdict("n05"), ActionLimits(), NOW + 60)[0].calls == ()
    assert acting.undo()[0] == [EngineCall("resume", ("n05",), "")]
    assert slurm.nodes["n05"] == ""


def test_a_call_that_fails_is_told_and_a_journal_that_was_cut_is_read(tmp_path: Path) -> None:
    slurm = _Slurm()
    slurm.fails = True
    acting = Acting(tmp_path, slurm)
    _, failed = acting.apply(_verdict("n05"), ActionLimits(), NOW)
    assert "Access denied" in failed[0]
    with (tmp_path / "actions.jsonl").open("a") as stream:
        stream.write('{"action": "drain", "nodes": ["n6"], "reason": "", "at": 1e999}\n')
        stream.write('{"action": "drain", "nodes": ["n0')
    assert [one.node for one in acting.journal()] == ["n05"]
    assert json.loads((tmp_path / "actions.jsonl").read_text().splitlines()[0])["action"] == "drain"
    slurm.fails = False
    acting.apply(_verdict("n07"), ActionLimits(), NOW + 3600)
    assert [one.node for one in acting.journal()] == ["n05", "n07"], "what was cut takes no later line with it"


def test_a_clock_that_was_ahead_once_holds_nothing_for_long(tmp_path: Path) -> None:
    slurm, year = _Slurm(), 365 * 86400
    acting = Acting(tmp_path, slurm)
    acting.apply(replace(_verdict("n05"), at=NOW + year), ActionLimits(), NOW + year)
    done, _ = acting.apply(_verdict("n07"), ActionLimits(), NOW)
    assert [one.nodes for one in done.calls] == [("n07",)], "no drain of this hour is known"
    assert acting.undo()[0] == [EngineCall("resume", ("n07",), "")], "the last apply, not the latest time"


def test_it_does_not_act_on_an_old_round_nor_twice_at_once(tmp_path: Path) -> None:
    acting = Acting(tmp_path, _Slurm())
    with pytest.raises(UsageError, match="min old"):
        acting.apply(_verdict("n05"), ActionLimits(), NOW + 4000)
    with pytest.raises(UsageError, match="min old"):
        acting.planned(_verdict("n05"), ActionLimits(), NOW + 4000)
    with acting._locked(), pytest.raises(UsageError, match="another fleet apply"):
        acting.apply(_verdict("n05"), ActionLimits(), NOW)


def test_an_engine_that_does_not_answer_stops_it(tmp_path: Path) -> None:
    acting = Acting(tmp_path, lambda argv: Answer("q", "timeout", note="60s"))
    with pytest.raises(UsageError, match="did not answer: run this where it does, or name another engine with --on"):
        acting.apply(_verdict("n05"), ActionLimits(), NOW)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
def test_root_takes_no_settings_of_an_engine_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "settings"
    theirs.write_text("")
    os.chown(theirs, 65534, 65534)
    for name in ("SLURM_CONF", "KUBECONFIG"):
        monkeypatch.setenv(name, f"{tmp_path / 'none'}:{theirs}" if name == "KUBECONFIG" else str(theirs))
        answer = run_engine(["true"])
        assert answer.status == "absent"
        assert answer.note.startswith(f"${name}: ")
        monkeypatch.delenv(name)
    assert run_engine(["true"]).ok
    own = tmp_path / "own"
    for name, words in (("SLURM_CONF", "PluginDir="), ("KUBECONFIG", "users:\n- user:\n    exec:\n      command: ")):
        own.write_text(f"{words}{theirs}\n")
        monkeypatch.setenv(name, str(own))
        assert run_engine(["true"]).note.startswith(f"${name}: {theirs} belongs to user 65534")
        monkeypatch.delenv(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="the programs of others get their whole environment")
def test_kubectl_in_a_pod_finds_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for host, port, kept in (("10.0.0.1", "443", 2), ("fd00::1", "443", 2), ("a b", "443;id", 0)):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        lines = run_engine(["env"]).text.splitlines()
        assert (
            sum(one in (f"KUBERNETES_SERVICE_HOST={host}", f"KUBERNETES_SERVICE_PORT={port}") for one in lines) == kept
        )
