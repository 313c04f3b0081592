from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rocdoctor.compare.differences import Comparison, Difference, compare
from rocdoctor.compare.kinds import kinds
from rocdoctor.compare.snapshot import Snapshot, snapshot
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import Finding, Verdict
from rocdoctor.model.subject import MACHINE
from tests.golden.replay import NAMES, judged_fixture
from tests.kit import k, machine, named, nvidia_gpu
from tests.profile_kit import gpu, whole


def _look(of: Machine, name: str = "a", verdicts: Sequence[Verdict] = (), excerpt: bool = False) -> Snapshot:
    return snapshot(name, of, verdicts, excerpt)


def _two(a: Machine, b: Machine) -> Comparison:
    return compare([_look(a, "a"), _look(b, "b")])


def _said(found: Comparison) -> list[tuple[str, str, tuple[str | None, ...]]]:
    return [(one.subject.label, one.what, one.values) for one in found.differences if one.drift]


def _fail(check: str, message: str, subject: str = "machine", severity: str = "error") -> Verdict:
    return Verdict(check, named(subject), "fail", Finding(severity, message))  # type: ignore[arg-type]


def _odd(found: Comparison) -> dict[str, list[str]]:
    return {name: [one.what for one in found.of(n)] for n, name in enumerate(found.names) if found.of(n)}


def test_a_machine_does_not_differ_from_itself() -> None:
    found = _two(whole(), whole())
    assert found.differences == ()
    assert found.unknown == ((), ())
    assert not found.drift


@pytest.mark.parametrize("name", NAMES)
def test_no_fixture_differs_from_itself(name: str) -> None:
    judged = judged_fixture(name)
    looks = [snapshot(word, judged.machine, judged.verdicts) for word in ("a", "b", "c")]
    assert compare(looks[:2]).differences == ()
    assert compare(looks).differences == ()


def test_what_moves_or_names_one_machine_is_no_drift() -> None:
    other = whole(
        *(
            gpu(
                n,
                bdf=f"0000:{0x99 + n:02x}:00.0",
                unique_id=f"0x{n}",
                hive_id="0x9",
                vram_used_bytes=1 << 30,
                busy_percent=99,
                clocks_mhz={"sclk": k(1700.0)},
                name="Aldebaran/MI200 [Instinct MI210]",
            )
            for n in range(2)
        ),
    )
    assert _said(_two(whole(), other)) == []


def test_equal_sets_stand_for_each_other_in_order_also_where_addresses_overlap() -> None:
    a = whole(gpu(0, bdf="0000:23:00.0", numa_node=0), gpu(1, bdf="0000:43:00.0", numa_node=1))
    b = whole(gpu(0, bdf="0000:43:00.0", numa_node=0), gpu(1, bdf="0000:63:00.0", numa_node=1))
    assert _said(_two(a, b)) == []


def test_values_of_both_sides_stand_in_a_difference() -> None:
    faster = replace(whole(), kernel=replace(whole().kernel, release=k("6.8.0-90-generic")))
    (one,) = _two(whole(), faster).differences
    assert one == Difference(MACHINE, "kernel", "version", ("6.8.0-71-generic", "6.8.0-90-generic"), None, (), True)


def test_unknown_on_one_side_is_a_gap_and_no_drift() -> None:
    gap = replace(whole(), kernel=replace(whole().kernel, release=Unknown("not in this evidence")))
    found = _two(whole(), gap)
    assert not found.drift
    assert found.unknown == ((), ("kernel",))
    both = _two(gap, gap)
    assert both.unknown == ((), ())


def test_a_missing_gpu_is_said_with_its_address_and_others_keep_their_places() -> None:
    then = whole(gpu(0), gpu(1), gpu(2, numa_node=1))
    now = replace(then, gpus=(then.gpus[0], replace(then.gpus[2], index=1)), links_complete=False)
    said = _said(_two(then, now))
    assert said == [("machine", "GPUs", ("3 x AMD Instinct MI210", "2 x AMD Instinct MI210 (none at 0000:43:00.0)"))]


def test_a_list_that_may_be_cut_is_not_a_missing_gpu() -> None:
    then = whole(gpu(0), gpu(1))
    part = replace(machine(gpu(0)), gpus_complete=False)
    found = _two(then, part)
    assert not found.drift
    assert "GPUs" in found.unknown[1]


@pytest.mark.parametrize(("other", "count"), [("Ubuntu 24.04", 0), ("Ubuntu 24.04.2 LTS", 1), ("Ubuntu 24.0", 1)])
def test_a_source_that_tells_less_of_a_version_is_no_drift(other: str, count: int) -> None:
    a = replace(whole(), os=replace(whole().os, pretty_name=k("Ubuntu 24.04.3 LTS")))
    b = replace(whole(), os=replace(whole().os, pretty_name=k(other)))
    assert len(_said(_two(a, b))) == count


def test_packages_count_where_the_interpreter_was_asked() -> None:
    def held(question: str = "python default", **packages: str) -> Machine:
        return whole(torch=replace(whole().torch, packages=k(packages, question)))

    assert _said(_two(held(trl="1.0", peft="2.0"), held(trl="1.1"))) == [
        ("machine", "package peft", ("2.0", "not installed")),
        ("machine", "package trl", ("1.0", "1.1")),
    ]
    assert _said(_two(held(trl="1.0", peft="2.0"), held("run pip list", trl="1.0"))) == []


def test_findings_that_come_go_and_change() -> None:
    ras = "Uncorrectable hardware errors (ECC/RAS) since the driver was loaded: {} in the gfx block."
    label = gpu(1).label
    before = [_fail("ras-uncorrectable", ras.format(1), label), _fail("shm-too-small", "It is small.")]
    after = [_fail("ras-uncorrectable", ras.format(40), label), Verdict("shm-too-small", MACHINE, "pass")]
    found = compare([_look(whole(), "a", before), _look(whole(), "b", after)])
    assert _said(found) == [
        ("gpu 1", "ras-uncorrectable", (f"error: {ras.format(1)}", f"error: {ras.format(40)}")),
        ("machine", "shm-too-small", ("error: It is small.", "no finding")),
    ]


def test_the_same_finding_at_other_addresses_is_no_difference() -> None:
    moved = whole(gpu(0, bdf="0000:24:00.0"), gpu(1, bdf="0000:44:00.0"))
    a = [_fail("fan-manual", "Fan of 0000:43:00.0 at 91 °C.", gpu(1).label)]
    b = [_fail("fan-manual", "Fan of 0000:44:00.0 at 93 °C.", moved.gpus[1].label)]
    assert not compare([_look(whole(), "a", a), _look(moved, "b", b)]).drift


@pytest.mark.parametrize("state", ["unknown", "crashed"])
def test_a_check_that_could_not_judge_there_is_a_gap(state: str) -> None:
    label = gpu(1).label
    a = [_fail("fan-manual", "Manual.", label), _fail("nofile-low", "Low.")]
    b = [
        Verdict("fan-manual", gpu(0).subject, "pass"),
        Verdict("fan-manual", named(label), state, why="x"),  # type: ignore[arg-type]
        Verdict("nofile-low", MACHINE, state, why="x"),  # type: ignore[arg-type]
    ]
    found = compare([_look(whole(), "a", a), _look(whole(), "b", b)])
    assert not found.drift
    assert set(found.unknown[1]) == {"fan-manual", "nofile-low"}


def test_of_an_excerpt_the_absence_of_a_finding_says_nothing() -> None:
    a = [_fail("shm-too-small", "It is small.")]
    b = [Verdict("shm-too-small", MACHINE, "pass"), _fail("nofile-low", "Low.")]
    found = compare([_look(whole(), "a", [*a, Verdict("nofile-low", MACHINE, "pass")]), _look(whole(), "b", b, True)])
    assert _said(found) == [("machine", "nofile-low", ("no finding", "error: Low."))]
    n_a = [Verdict("shm-too-small", MACHINE, "not-applicable", why="no GPU in this evidence")]
    part = replace(whole(), gpus_complete=False)
    assert not compare([_look(whole(), "a", a), _look(part, "b", n_a)]).drift


def test_findings_of_the_moment_are_shown_and_do_not_count() -> None:
    found = compare([_look(whole(), "a", [_fail("vram-held-by-others", "Held.")]), _look(whole(), "b")])
    assert [one.what for one in found.differences] == ["vram-held-by-others"]
    assert not found.drift


def test_of_several_machines_the_odd_ones_are_named() -> None:
    odd = replace(whole(), kernel=replace(whole().kernel, release=k("6.8.0-90-generic")))
    found = compare([_look(whole(), "a"), _look(odd, "b"), _look(whole(), "c"), _look(whole(), "d")])
    assert _odd(found) == {"b": ["kernel"]}
    assert found.differences[0].majority == "6.8.0-71-generic"


def test_the_first_machine_may_be_the_odd_one_also_in_its_gpus() -> None:
    less = replace(whole(gpu(0)), links_complete=False)
    found = compare([_look(less, "a"), _look(whole(), "b"), _look(whole(), "c")])
    assert _odd(found) == {"a": ["GPUs"]}
    assert found.differences[0].values[0] == "1 x AMD Instinct MI210 (none at 0000:43:00.0)"


def test_without_a_majority_nobody_is_odd_and_it_is_still_drift() -> None:
    looks = [
        _look(replace(whole(), kernel=replace(whole().kernel, release=k(f"6.8.0-{n // 2}0-generic"))), str(n))
        for n in range(4)
    ]
    found = compare(looks)
    assert _odd(found) == {}
    assert found.drift
    unknown = replace(whole(), kernel=replace(whole().kernel, release=Unknown("x")))
    three_know = compare([*looks[:3], _look(unknown, "3")])
    assert _odd(three_know) == {"2": ["kernel"]}


def test_counts_that_differ_everywhere_do_not_hide_that_the_finding_is_common() -> None:
    def look(name: str, *verdicts: Verdict) -> Snapshot:
        return _look(whole(), name, verdicts)

    common = [look(str(n), _fail("ras-correctable", f"Errors: {n} in umc.", severity="info")) for n in range(3)]
    assert not compare(common).drift
    assert _odd(compare([*common, look("well", Verdict("ras-correctable", MACHINE, "pass"))])) == {
        "well": ["ras-correctable"]
    }


def test_a_node_with_other_cards_differs_in_them_and_its_cards_are_not_set_against_others() -> None:
    def card(n: int) -> Gpu:
        return nvidia_gpu(n)

    other = replace(whole(card(0), card(1)), drivers={})
    found = compare([_look(whole(), "a"), _look(whole(), "b"), _look(other, "c")])
    assert _odd(found) == {"c": ["GPUs"]}


def test_the_majority_is_that_of_the_kind() -> None:
    amd = [_look(whole(gpu(0), gpu(1)), f"amd-{n}") for n in range(5)]
    short = _look(whole(gpu(0)), "amd-short")
    green = [_look(machine(nvidia_gpu(0), nvidia_gpu(1), gpus_complete=True), f"green-{n}") for n in range(4)]
    other = _look(machine(nvidia_gpu(0, vbios="96.00"), nvidia_gpu(1), gpus_complete=True), "green-odd")
    green = [_look(machine(nvidia_gpu(0, vbios="95.00"), nvidia_gpu(1), gpus_complete=True), one.name) for one in green]
    found = compare([*amd, short, *green, other])
    assert found.kinds == 2
    assert _odd(found) == {"amd-short": ["GPUs", "GPUs reached over XGMI or NVLink"], "green-odd": ["VBIOS"]}
    vbios = next(one for one in found.differences if one.what == "VBIOS")
    assert vbios.among == (6, 7, 8, 9, 10)
    assert vbios.values[:6] == (None,) * 6
    assert vbios.majority == "95.00"


def test_a_node_that_shows_no_gpu_belongs_to_its_processors() -> None:
    amd = [_look(whole(gpu(0), gpu(1)), f"amd-{n}") for n in range(5)]
    green = [_look(machine(nvidia_gpu(0), gpus_complete=True), f"green-{n}") for n in range(3)]
    bare = replace(_look(machine(gpus_complete=True), "bare"), traits={"cpu": "Xeon"})
    green = [replace(one, traits={**one.traits, "cpu": "Xeon"}) for one in green]
    assert kinds([*amd, *green, bare]) == ((0, 1, 2, 3, 4), (5, 6, 7, 8))
    assert kinds([*amd, *green[:2], bare]) == (tuple(range(8)),)


def test_many_equal_machines_cost_little() -> None:
    """Eight times the machines cost about eight times as much, not 64: a ratio within one process."""
    one = _look(whole(gpu(0)))
    odd = replace(one, traits={**one.traits, "cpu": "another"})

    def cost_s(count: int) -> float:
        machines = [*[one] * (count - count // 10), *[odd] * (count // 10)]
        costs = []
        for _ in range(3):
            began = time.process_time()
            compare(machines)
            costs.append(time.process_time() - began)
        return min(costs)

    assert cost_s(4000) < 25 * cost_s(500)
