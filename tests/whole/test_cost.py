"""Evidence of twice the size takes about twice the work: calls are counted, not seconds."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from types import FrameType

import pytest

from rocdoctor.collect import collect
from rocdoctor.collect.gpus.merged import MAX_GPUS
from rocdoctor.collect.gpus.records import GpuRecord, join
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost, parse
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.finding import Diagnosis
from rocdoctor.report.diagnosis.text import render
from tests.kit import ROOT
from tests.text_kit import all_checks

# Twice the size may take a little more than twice the work (sorting, a look at all others that costs little).
MOST = 2.5
# One source each of those whose output grows with the machine, and of those that grow without a bound.
GROWING = (
    "run nvidia-smi -q -x",
    "run nvidia-smi nvlink",
    "run rocminfo",
    "run dmesg",
    "run amd-smi static",
    "run amd-smi metric",
    "env",
    "read /proc/cpuinfo",
    "read /proc/modules",
    "read /proc/self/mountinfo",
    "python default --import",
)


def _calls(answers: dict[str, Answer]) -> tuple[int, Diagnosis]:
    """Function calls of collecting, judging and printing."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        diagnosis = diagnose(collect(CaptureHost(Capture({}, "", answers), "made")), all_checks())
        render(diagnosis, verbose=True)
    finally:
        sys.setprofile(before)
    return count, diagnosis


@pytest.fixture(scope="module")
def least() -> int:
    """What a machine of which nothing is known costs, after everything was loaded."""
    _calls({})
    return _calls({})[0]


def _times(data: bytes, number: int) -> bytes:
    """A text that many times, each with other numbers."""

    return b"\n".join(_shifted(data, by) for by in range(0, 7 * number, 7))


def _shifted(data: bytes, by: int) -> bytes:
    return re.sub(rb"\d+", lambda one: b"%d" % (int(one[0]) + by) if len(one[0]) < 9 else one[0], data)


def _largest(start: str) -> Answer:
    """The longest answer of any fixture to a question that begins so."""
    found = [
        answer
        for path in sorted((ROOT / "fixtures").glob("*.capture"))
        for question, answer in parse(path.read_bytes()).answers.items()
        if question.startswith(start) and answer.ok
    ]
    assert found, start
    return max(found, key=lambda one: len(one.data))


@pytest.mark.parametrize("start", GROWING)
def test_a_longer_output_takes_as_much_longer(start: str, least: int) -> None:
    answer = _largest(start)
    copies = max(2, 40_000 // len(answer.data))
    texts = [_times(answer.data, number) for number in (copies, 2 * copies)]
    counts = [_calls({answer.question: replace(answer, data=text)})[0] - least for text in texts]
    assert counts[1] <= MOST * counts[0] + 20_000, counts


def _machine(gpus: int) -> dict[str, Answer]:
    """Equal GPUs with nothing known but their ids."""
    names = [f"{number >> 13:04x}:{number >> 5 & 255:02x}:{number & 31:02x}.0" for number in range(gpus)]
    folder = "/sys/bus/pci/devices"
    found = {f"list {folder}/*": "\n".join(f"{folder}/{name}" for name in names)} | {
        f"read {folder}/{name}/uevent": "\n".join(
            ("DRIVER=amdgpu", "PCI_CLASS=30200", "PCI_ID=1002:74A1", f"PCI_SLOT_NAME={name}")
        )
        for name in names
    }
    return {question: Answer(question, "ok", text.encode()) for question, text in found.items()}


def test_twice_the_gpus_take_twice_the_work(least: int) -> None:
    counts = [_calls(_machine(number))[0] - least for number in (60, 120)]
    assert counts[1] <= MOST * counts[0], counts


def test_records_find_their_device_without_a_look_at_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from rocdoctor.collect.gpus import records
    from rocdoctor.collect.gpus.tools import amd_smi, rocm_smi

    looks = 0
    real = records._same_device

    def counted(device: records.Device, record: GpuRecord) -> bool:
        nonlocal looks
        looks += 1
        return real(device, record)

    monkeypatch.setattr(records, "_same_device", counted)
    made = [
        GpuRecord(source, "amd", bdf=f"0000:{number:02x}:00.0", kfd_node=number)
        for source in (records.SYSFS, records.KFD, rocm_smi.SOURCE)
        for number in range(200)
    ]
    made += [GpuRecord(amd_smi.SOURCE, "amd", kfd_node=number) for number in range(200)]
    devices = join(made)
    assert [len(one.records) for one in devices] == [4] * 200
    assert looks < 4 * len(made)


def test_more_gpus_than_any_machine_has_are_left_out_and_said() -> None:
    machine = collect(CaptureHost(Capture({}, "", _machine(MAX_GPUS + 6)), "made"))
    assert len(machine.gpus) == MAX_GPUS
    assert not machine.gpus_complete
    assert [(one.reason, one.why) for one in machine.unanswered if one.question == "all GPUs"] == [
        ("cut", "the first 1024 of 1030 count")
    ]
    few = collect(CaptureHost(Capture({}, "", _machine(8)), "made"))
    assert few.gpus_complete
    assert not few.unanswered


def test_more_outputs_of_tools_than_anybody_has_are_left_out_and_said(least: int) -> None:
    many = [Answer(f"run lstopo {number}.xml", "ok", b"x", 0) for number in range(3000)]
    count, diagnosis = _calls({one.question: one for one in many})
    assert [one.why for one in diagnosis.machine.failures] == [
        "left out: of 3,000 outputs of tools the first 1,000 are read"
    ]
    assert count - least < 400 * len(many)


def test_many_names_are_not_compared_with_all_that_are_known(least: int) -> None:
    names = b"\n".join(b"NCCL_DEBUGG%d=1" % number for number in range(2000))
    count, _ = _calls({"env": Answer("env", "ok", names)})
    assert count - least < 400 * 2000
