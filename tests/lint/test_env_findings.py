"""What the checks say of files: faults with file and line, nothing of healthy ones, on machines of several kinds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from rocdoctor.judging.loading import check_files, load_check, name_of
from rocdoctor.lint.env_files import read_sheet
from rocdoctor.lint.env_findings import CHECKS, judge
from rocdoctor.lint.linted_file import read_advised
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Finding
from rocdoctor.parsers.shell import settings
from tests.kit import ROOT, amd_gpu, k, machine, nvidia_gpu
from tests.lint.samples import HEALTHY

ALL = [load_check(path) for path in check_files(ROOT / "checks") if name_of(path) in CHECKS]
MACHINES = {
    "text alone": Machine(),
    "no GPU": machine(),
    "eight AMD GPUs": machine(*(amd_gpu(index) for index in range(8))),
    "one AMD GPU": machine(amd_gpu()),
    "eight NVIDIA GPUs": machine(*(nvidia_gpu(index) for index in range(8))),
}


def _found(path: str, text: str, on: Machine, named: bool = False) -> list[tuple[str, str, Finding]]:
    sheet = read_sheet(path, text)
    assert sheet is not None
    verdicts = judge([sheet], on, ALL, named)
    assert not [one for one in verdicts if one.state == "crashed"]
    return [(one.check, one.subject.label, one.finding) for one in verdicts if one.finding is not None]


def test_every_check_of_the_list_exists() -> None:
    assert [one.name for one in ALL] == sorted(CHECKS)


@pytest.mark.parametrize("on", MACHINES)
@pytest.mark.parametrize("path", HEALTHY)
def test_healthy_files_are_silent(path: str, on: str) -> None:
    assert _found(path, HEALTHY[path], MACHINES[on]) == []


@pytest.mark.parametrize(
    ("line", "check", "severity"),
    [
        ("export HIP_VISIBLE_DEVICE=0", "env-unknown-name", "info"),
        ("export RCCL_DEBUG=INFO", "env-unknown-name", "info"),
        ("export NCCL_IB_DISABLE=true", "env-wrong-value", "warning"),
        ("export OMP_NUM_THREADS=auto", "env-wrong-value", "warning"),
        ("export PYTORCH_ALLOC_CONF=max_split_size_mb=64", "env-wrong-value", "warning"),
        ("export AMD_SERIALIZE_KERNEL=3", "debug-variables-on", "warning"),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3", "env-wrong-value", "warning"),
        ("export NCCL_BLOCKING_WAIT=0 TORCH_NCCL_BLOCKING_WAIT=off", "env-old-name", "warning"),
        ("export GOMP_CPU_AFFINITY=0", "omp-threads", "warning"),
    ],
)
def test_faults_of_the_text_alone(line: str, check: str, severity: str) -> None:
    found = _found("run.sh", f"#!/bin/bash\n{line}\n", Machine())
    assert [(name, place) for name, place, _ in found if name == check] == [(check, "run.sh:2")]
    (finding,) = [one for name, _, one in found if name == check]
    assert finding.evidence[0].source == "read run.sh"
    assert finding.evidence[0].line == 2
    assert finding.fix is not None
    assert "run.sh:2" in finding.fix.text
    assert finding.fix.verify == "rocdoctor lint run.sh"
    assert finding.severity == severity


def test_a_file_is_held_against_the_gpus_of_the_machine() -> None:
    two = machine(amd_gpu(0), amd_gpu(1))
    text = "export HSA_OVERRIDE_GFX_VERSION=10.3.0\nexport ROCR_VISIBLE_DEVICES=1\nexport HIP_VISIBLE_DEVICES=1\n"
    found = [(name, place, one.severity) for name, place, one in _found("run.sh", text, two)]
    assert found == [
        ("gfx-override-mismatch", "run.sh:1", "error"),
        ("visible-devices-conflict", "run.sh:3", "error"),
    ]
    assert _found("run.sh", "export HSA_OVERRIDE_GFX_VERSION=9.0.10\n", two) == []


def test_what_runs_elsewhere_is_not_held_against_this_machine_unless_it_was_named() -> None:
    one = machine(amd_gpu())
    job = "#!/bin/bash\n#SBATCH -N 1\nexport ROCR_VISIBLE_DEVICES=4,5\n"
    assert _found("job.sbatch", job, one) == []
    assert [name for name, _, _ in _found("job.sbatch", job, one, named=True)] == ["visible-devices-hides-all"]


def test_interfaces_count_for_files_of_this_machine_and_named_machines() -> None:
    here = machine(amd_gpu(), interfaces=k({"lo": "up", "eno1": "up"}))
    text = "export NCCL_SOCKET_IFNAME=ib0\n"
    assert _found("run.sh", text, here) == []
    assert [one.severity for _, _, one in _found("run.sh", text, here, named=True)] == ["error"]
    assert [one.severity for _, _, one in _found("/etc/profile.d/nccl.sh", text, here)] == ["error"]


def test_what_depends_on_a_condition_is_possible_and_no_error() -> None:
    text = 'if [ -n "$OLD" ]; then\n  export HSA_OVERRIDE_GFX_VERSION=10.3.0\nfi\n'
    ((_, place, finding),) = _found("run.sh", text, machine(amd_gpu()))
    assert (place, finding.severity, finding.confidence) == ("run.sh:2", "warning", "possible")


def test_hiding_every_gpu_is_meant_for_a_command_and_grave_in_a_profile() -> None:
    one = machine(amd_gpu())
    assert _found("run.sh", "CUDA_VISIBLE_DEVICES= python prepare.py\n", one) == []
    assert [found.severity for _, _, found in _found("run.sh", "export CUDA_VISIBLE_DEVICES=-1\n", one)] == ["info"]
    assert [found.severity for _, _, found in _found("/etc/environment", "CUDA_VISIBLE_DEVICES=-1\n", one)] == [
        "warning"
    ]


def test_a_finding_stands_once_though_it_holds_in_many_scopes() -> None:
    text = "export CUDA_LAUNCH_BLOCKING=1\n" + "OMP_NUM_THREADS=2 python a.py\n" * 5
    assert len(_found("run.sh", text, machine(nvidia_gpu()))) == 1


TraceFunction = Callable[[FrameType, str, Any], Any]


def _steps(run: Callable[[], object], folder: str) -> int:
    """How many lines of the modules below a folder are run: what a clock would tell on a machine at rest."""
    count = 0

    def within(_frame: FrameType, event: str, _arg: object) -> TraceFunction | None:
        nonlocal count
        count += event == "line"
        return within

    def entered(frame: FrameType, _event: str, _arg: object) -> TraceFunction | None:
        return within if folder in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def _dense(lines: int) -> str:
    return "#!/bin/bash\n" + "if [ $A = 1 ]; then export NCCL_DEBUG=INFO; else unset NCCL_DEBUG; fi\n" * lines


def test_a_dense_script_costs_little_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MAX_SCOPES", 200)  # beyond it all settings stand in one scope

    def judged(text: str) -> int:
        def run() -> None:
            found = read_advised("x.sh", text)
            assert found is not None
            assert found.sheet is not None
            judge([found.sheet], Machine(), [])

        return _steps(run, "/rocdoctor/")

    few, many = judged(_dense(150)), judged(_dense(600))
    assert many < 4.4 * few, "more lines, no more for each"
    # A line of it has three commands, sixteen words and two settings; read once and told once, it takes about 1,400.
    assert many < 600 * 1800
