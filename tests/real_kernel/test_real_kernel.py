"""A real kernel with its amdgpu module and a display device of AMD: report, bundle, plan and screens end to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from tests.kit import ROOT
from tests.real_kernel import guest

# QEMU's Rage 128, which amdgpu refuses: what is right to say of it is known.
_GPU = "1002:5046"
_SCRIPT = f"""
cd {ROOT}; export PYTHONPATH={ROOT} PYTHONDONTWRITEBYTECODE=1
modprobe amdgpu && ls -l /dev/kfd
/lib/systemd/systemd-udevd --daemon
gpu=$(dirname "$(grep -l 0x1002 /sys/bus/pci/devices/*/vendor)")
tool="{sys.executable} -m rocdoctor"
$tool check --timeout 100 --json > {guest.OUT}/check.json; echo "check $?"
$tool bundle --timeout 100 --quiet -o {guest.OUT}/bundle; echo "bundle $?"
$tool setup --timeout 100 --json > {guest.OUT}/setup.json; echo "setup $?"
{sys.executable} -m tests.real_kernel.plugged "$gpu" {guest.OUT}; echo "screens $?"
"""


@pytest.mark.heavy
def test_report_bundle_plan_and_screens_of_a_machine_with_a_real_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, out = tmp_path / "kernel", tmp_path / "out"
    for folder in (kernel, out):
        folder.mkdir()
    said = guest.run(guest.kernel(kernel), out, _SCRIPT)
    assert "/dev/kfd" in said, said
    for word in ("check 0", "bundle 0", "screens 0"):
        assert word in said, said
    report = json.loads((out / "check.json").read_text())
    failed = {one["check"]: one["severity"] for one in report["verdicts"] if one["state"] == "fail"}
    assert failed["gpu-without-driver"] == "info", "a card that amdgpu refuses is no fault"
    assert report["causes"] == []
    assert report["summary"]["crashed"] == 0
    capsys.readouterr()
    assert run(["check", "--from", str(out / "bundle")]) == 0
    replayed = capsys.readouterr().out
    assert f"AMD GPU {_GPU}, no driver bound" in replayed
    assert "guest of qemu" in replayed
    steps = {one["id"]: one for one in json.loads((out / "setup.json").read_text())["steps"]}
    assert steps["rocm"]["state"] == "impossible", steps["rocm"]
    before, gone, without, back = ((out / f"{name}.txt").read_text() for name in ("before", "gone", "without", "back"))
    assert _GPU in before
    assert "is gone" in gone
    assert _GPU not in without
    assert "appeared" in back
