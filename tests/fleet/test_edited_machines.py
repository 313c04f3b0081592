"""Whole machines, each broken in one way, among eleven sound equals: from their evidence to the verdict of the fleet.

The other tests of the judge edit records. Here the answers of a machine are edited, and parsers, checks, the record and
the judge make of them what they will.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from rocdoctor.compare.snapshot import snapshot
from rocdoctor.fleet.judge import Incoming, Memories, judge
from rocdoctor.fleet.making import record_of
from rocdoctor.fleet.read_record import RecordReader
from rocdoctor.fleet.record import NodeRecord
from rocdoctor.fleet.verdicts import FleetVerdict
from tests.fleet.kit import NOW, line, node
from tests.golden.edits import Broken
from tests.golden.replay import judged
from tests.golden.test_broken import CASES

_EDITS: dict[str, Callable[[], Broken]] = {what: edit for what, edit, _, _, _ in CASES}
_AMD, _NVIDIA = "mi300x-8gpu", "h100-8gpu"


def _off_the_bus() -> Broken:
    """As the driver and the bus show a GPU that is not there at all."""
    broken = Broken(_AMD).unbind("0000:6a:00.0", "card4", 5)
    return broken.without_lines("list /sys/bus/pci/devices/*", "/0000:6a:00.0").remove("run lspci -D -nn -vv")


def _port_down() -> Broken:
    """A RoCE port: no check speaks of it by itself, since many are not cabled; its equals have one more."""
    return Broken(_AMD).replace("read /sys/class/infiniband/mlx5_3/ports/1/state", "4: ACTIVE", "1: DOWN")


def _other_kernel() -> Broken:
    return Broken(_AMD).set("read /proc/sys/kernel/osrelease", "6.2.0-9-generic")


def _tools_hang() -> Broken:
    broken = Broken(_AMD)
    for question in ("run rocminfo", "run amd-smi static --json", "run amd-smi metric --json"):
        broken.hang(question)
    return broken


def _no_counters() -> Broken:
    """Nothing can be read of the memory's errors: not known is not bad."""
    broken = Broken(_AMD)
    for question in [one for one in broken.host.available() if "/ras/" in one]:
        broken.deny(question)
    return broken


# what is broken -> (fixture, how, class, check, GPU, rounds until it is to be drained; 0: never)
_Want = tuple[str, Callable[[], Broken], str, str, int | None, int]
_WANTED: dict[str, _Want] = {
    "driver unbound": (_AMD, _EDITS["driver unbound"], "certain", "gpu-without-driver", 3, 2),
    "probe failed": (_AMD, _EDITS["probe failed"], "certain", "driver-probe-failed", 3, 2),
    "uncorrectable": (_AMD, _EDITS["uncorrectable errors"], "certain", "ras-uncorrectable", 3, 2),
    "uncorrectable, NVIDIA": (_NVIDIA, _EDITS["uncorrectable errors, NVIDIA"], "certain", "ras-uncorrectable", 0, 2),
    "fell off": (_NVIDIA, _EDITS["GPU fell off the bus"], "certain", "gpu-fell-off-bus", 3, 2),
    "off the bus": (_AMD, _off_the_bus, "certain", "fleet-gpu-missing", 3, 2),
    "link x4": (_AMD, _EDITS["link x4"], "likely", "pcie-link-narrow", 3, 3),
    "XGMI": (_AMD, _EDITS["XGMI link missing"], "likely", "xgmi-links-missing", None, 3),
    "hot": (_AMD, _EDITS["over the emergency limit"], "likely", "gpu-over-temperature", 3, 3),
    "library": (_NVIDIA, _EDITS["library mismatch"], "likely", "nvidia-driver-library-mismatch", None, 3),
    "port down": (_AMD, _port_down, "likely", "fleet-host-below-group", None, 3),
    "torch": (_AMD, _EDITS["CPU-only torch"], "different", "torch-cpu-only-build", None, 0),
    "hidden": (_AMD, _EDITS["all GPUs hidden"], "different", "visible-devices-hides-all", None, 0),
    "kernel": (_AMD, _other_kernel, "different", "fleet-trait-differs.kernel", None, 0),
    "tools hang": (_AMD, _tools_hang, "", "", None, 0),
    "no counters": (_AMD, _no_counters, "", "", None, 0),
}


def _record(broken: Broken) -> NodeRecord:
    """What the machine would send, read back as the fleet reads it."""
    found = judged(broken.host)
    look = snapshot("bad", found.machine, found.verdicts)
    made = record_of("bad", NOW, look, found, tool="0.1.0", rules="r1", boot="b-1")
    return RecordReader().read(line(made).partition(": ")[2], "bad")


@cache
def _rounds(what: str) -> list[FleetVerdict]:
    """Four rounds of a fleet in which one machine is broken from the second on."""
    fixture, edit, *_ = _WANTED[what]
    bad, memories, said = _record(edit()), Memories(), []
    for number in range(4):
        at = NOW + 300 * number
        records = {f"n{n}": node(f"n{n}", at, fixture=fixture) for n in range(11)}
        records["bad"] = replace(bad, taken_at=at) if number else node("bad", at, fixture=fixture)
        said.append(judge(memories, Incoming(records, {}), at))
    return said


def test_each_is_named_by_its_class_its_check_and_its_gpu() -> None:
    wrong: list[tuple[object, ...]] = []
    for what, (_, _, node_class, check, gpu, _) in _WANTED.items():
        found = {one.node: one for one in _rounds(what)[-1].nodes}
        reasons = [(one.node_class, one.check, one.gpu) for one in found["bad"].reasons] if "bad" in found else []
        if (
            set(found) - {"bad"}
            or (not node_class and {one for one, _, _ in reasons} - {"unknown", "different"})
            or (node_class and (node_class, check, gpu) not in reasons)
        ):
            wrong.append((what, reasons, sorted(found)))
        if reasons and node_class and found["bad"].node_class != node_class:
            wrong.append((what, found["bad"].node_class, reasons))
    assert wrong == []


def test_each_is_drained_after_as_many_records_as_its_class_takes() -> None:
    wrong = {}
    for what, (*_, rounds) in _WANTED.items():
        drains = [any(one.proposal == "drain" for one in said.nodes) for said in _rounds(what)]
        if drains != [False, *(bool(rounds) and n >= rounds for n in (1, 2, 3))]:
            wrong[what] = drains
    assert wrong == {}
