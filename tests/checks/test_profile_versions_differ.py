from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import Kernel, RocmInstall, TorchBuild
from tests.kit import judge, k, states, u
from tests.profile_kit import against, findings, gpu, verdicts, whole

NAME = "profile-versions-differ"


def _torch(**changes: object) -> TorchBuild:
    return replace(whole().torch, **changes)  # type: ignore[arg-type]


def test_without_a_profile_and_with_its_own() -> None:
    assert states(judge(NAME, whole())) == ["not-applicable"]
    assert states(verdicts(NAME, whole(), whole())) == ["pass"]


@pytest.mark.parametrize(
    ("version", "severity"), [("2.9.2+rocm6.4", "info"), ("2.11.0+rocm6.4", "warning"), (None, "error")]
)
def test_another_torch(version: str | None, severity: str) -> None:
    found = findings(against(whole(torch=_torch(version=k(version))), whole()))
    words = version or "not installed"
    assert found == [(NAME, "machine", severity, f"Torch: 2.9.1+rocm6.4 when the profile was made, {words} now.")]


def test_another_back_end_of_torch_is_a_warning() -> None:
    cuda = _torch(version=k("2.9.1+cu128"), hip=k(None), cuda=k("12.8"))
    assert [(one[2], one[3].partition(":")[0]) for one in findings(against(whole(torch=cuda), whole()))] == [
        ("info", "Torch"),
        ("warning", "HIP that torch was built with"),
        ("warning", "CUDA that torch was built with"),
    ]


def test_kernel_driver_rocm_and_firmware() -> None:
    then = whole(rocm=(RocmInstall(k("7.2.0"), "/opt/rocm-7.2.0", "classic"),), rocm_complete=True)
    now = whole(
        gpu(0, vbios="113-D67301-064", firmware={"smc": "0x00443800"}),
        gpu(1),
        rocm=(RocmInstall(k("7.10.0"), "/opt/rocm-7.10.0", "classic"),),
        rocm_complete=True,
        kernel=replace(whole().kernel, release=k("6.8.0-90-generic")),
        drivers={"amdgpu": {"version": k("6.16.6")}},
    )
    assert [one[1:] for one in findings(against(now, then))] == [
        ("gpu 0 (0000:23:00.0)", "info", "VBIOS: 113-D67301-063 when the profile was made, 113-D67301-064 now."),
        ("gpu 0 (0000:23:00.0)", "info", "GPU firmware: smc=0x00443700 when the profile was made, smc=0x00443800 now."),
        ("machine", "info", "Kernel: 6.8.0-71-generic when the profile was made, 6.8.0-90-generic now."),
        ("machine", "warning", "Amdgpu driver: 6.14.14 when the profile was made, 6.16.6 now."),
        ("machine", "warning", "ROCm: 7.2.0 when the profile was made, 7.10.0 now."),
    ]


def test_packages_that_were_added_are_no_drift_and_lost_ones_are() -> None:
    now = _torch(packages=k({"trl": "0.24.0", "deepspeed": "0.18.2"}, "python default"))
    assert findings(against(whole(torch=now), whole())) == []
    lost = _torch(packages=k({"trl": "0.24.0"}, "python default"))
    assert [one[2:] for one in findings(against(whole(torch=lost), whole()))] == [
        ("warning", "Package deepspeed: 0.18.2 when the profile was made, not installed now.")
    ]
    pasted = _torch(packages=k({"trl": "0.24.0"}, "run pip list"))
    assert states(verdicts(NAME, whole(torch=pasted), whole())) == ["unknown"]


def test_what_is_not_known_here_is_unknown() -> None:
    found = verdicts(NAME, whole(kernel=Kernel(), torch=_torch(version=u())), whole())
    assert states(found) == ["unknown"]
    assert "kernel, torch" in found[0].why
