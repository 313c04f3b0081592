"""Inside WSL the buses show no GPU: the tools that work there are asked whose it is."""

from __future__ import annotations

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from tests.machines import enclosed_without, guests
from tests.machines.files import Files, MachineHost


class _Listening(MachineHost):
    """A machine that notes which programs are asked for."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.asked: list[str] = []

    def ask(self, question: str) -> Answer:
        self.asked.append(question)
        return super().ask(question)


def _read(files: Files) -> tuple[Machine, list[str]]:
    host = _Listening(files)
    machine = collect(host)
    return machine, [one for one in host.asked if one.startswith(("run rocminfo", "run nvidia-smi", "run amd-smi"))]


def test_the_gpu_of_windows_is_the_one_that_the_runtime_lists() -> None:
    machine, asked = _read(enclosed_without.wsl2_without_torch())
    assert [(gpu.vendor, value_or(gpu.gfx, None)) for gpu in machine.gpus] == [("amd", "gfx1100")]
    assert asked == ["run rocminfo", "run nvidia-smi -q -x"], "amd-smi does not work there"


def test_without_the_tools_the_gpu_is_not_known() -> None:
    files = enclosed_without.wsl2_without_torch()
    del files.programs["run rocminfo"]
    machine, _ = _read(files)
    assert machine.gpus == ()
    assert machine.failures == ()


def test_elsewhere_no_tool_is_asked_where_no_gpu_is() -> None:
    assert _read(guests.epyc_cpu_only())[1] == []
