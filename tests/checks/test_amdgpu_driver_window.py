from __future__ import annotations

import pytest

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import RocmInstall, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, severities, states
from tests.message_kit import finding_of
from tests.text_kit import diagnosed

NAME = "amdgpu-driver-window"


def rocm(*versions: str) -> tuple[RocmInstall, ...]:
    return tuple(RocmInstall(k(one), f"/opt/rocm-{one}", "classic") for one in versions)


def test_a_listed_pair_passes() -> None:
    driver = {"amdgpu": {"version": k("6.4")}}
    assert states(judge(NAME, machine(amd_gpu(), drivers=driver, rocm=rocm("6.4.1")))) == ["pass"]


def test_a_driver_older_than_the_list_is_a_warning_never_an_error() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), drivers={"amdgpu": {"version": k("5.5")}}, rocm=rocm("6.2.0")))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "driver-too-old"
    assert "driver 5.5 is too old" in verdict.finding.message


def test_a_driver_newer_than_a_closed_list_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), drivers={"amdgpu": {"version": k("30.30")}}, rocm=rocm("5.7.1")))
    assert verdict.finding is not None
    assert verdict.finding.cause == "driver-library-mismatch"
    assert "too new" in verdict.finding.message


def test_one_installed_release_that_fits_is_enough() -> None:
    driver = {"amdgpu": {"version": k("5.5")}}
    assert states(judge(NAME, machine(amd_gpu(), drivers=driver, rocm=rocm("5.7.1", "6.2.0")))) == ["pass"]


def test_drivers_without_a_package_number_are_not_judged() -> None:
    absent = {"amdgpu": {"version": Unknown("no version file", "absent")}}
    assert states(judge(NAME, machine(amd_gpu(), drivers=absent, rocm=rocm("6.2.0")))) == ["not-applicable"]
    odd = {"amdgpu": {"version": k("6.11.7")}}
    assert states(judge(NAME, machine(amd_gpu(), drivers=odd, rocm=rocm("6.2.0")))) == ["not-applicable"]


def test_unknown_and_not_applicable() -> None:
    driver = {"amdgpu": {"version": k("6.4")}}
    assert states(judge(NAME, machine(amd_gpu(), rocm=rocm("6.2.0")))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), drivers=driver))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), drivers=driver, rocm_complete=True))) == ["not-applicable"]
    assert states(judge(NAME, machine(drivers=driver))) == ["not-applicable"]


def test_a_pair_off_the_list_that_works_is_a_note() -> None:
    torch = TorchBuild(version=k("2.9.1"), hip=k("6.4.43482"), cuda=k(None), import_error=k(None), device_count=k(1))
    of = machine(amd_gpu(), drivers={"amdgpu": {"version": k("5.5")}}, rocm=rocm("6.2.0"), torch=torch)
    assert severities(judge(NAME, of)) == ["info"]


def test_a_container_of_a_release_that_the_host_is_too_old_for() -> None:
    text = "Containers of ROCm {}. rocm_driver.cc:1294] failed to query device memory info: HIP_ERROR_InvalidValue"
    host = {"amdgpu": {"version": k("5.16.9.22.20")}}
    found = finding_of(NAME, text.format("6.0"), amd_gpu(), drivers=host)
    assert found is not None
    assert found.cause == "driver-too-old"
    assert "5.16.9.22.20" in found.message
    for fits in (text.format("5.3"), text.format("6.0").replace("HIP_ERROR_InvalidValue", "OK")):
        assert finding_of(NAME, fits, amd_gpu(), drivers=host, rocm=rocm("5.2.3")) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Host has amdgpu-dkms 5.7, the container is rocm/pytorch:rocm7.0. The container crashes with the GPU.\n",
            True,
        ),
        (
            "Host has amdgpu-dkms 6.4, the container is rocm/pytorch:rocm7.0. The container crashes with the GPU.\n",
            False,
        ),
        ("Host has amdgpu-dkms 5.7, the container is rocm/pytorch:rocm7.0: torch in it does not work.\n", True),
        ("Host has amdgpu-dkms 5.7, the container is rocm/pytorch:rocm7.0. Everything runs, but slowly.\n", False),
        (
            "Host had amdgpu-dkms 5.7 and rocm/pytorch:rocm7.0 crashed in the container. I took 6.4, now it works.\n",
            False,
        ),
        ("Will amdgpu-dkms 5.7 on the host do for a container of rocm/pytorch:rocm7.0?\n", False),
    ],
)
def test_a_host_and_a_container_in_words_without_a_card(text: str, found: bool) -> None:
    assert (NAME in {one.check for one in diagnosed(text).causes}) is found
