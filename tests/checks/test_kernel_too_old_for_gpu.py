from __future__ import annotations

from typing import Any

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Gpu, Kernel, Machine
from tests.kit import amd_gpu, judge, k, machine, severities, states, u
from tests.message_kit import messages

NAME = "kernel-too-old-for-gpu"


def with_kernel(gpu: Gpu, release: str, **more: Any) -> Machine:
    return machine(gpu, kernel=Kernel(release=k(release)), **more)


def bare(gfx: str, driver: str | None = None, **more: Any) -> Gpu:
    return amd_gpu(gfx=gfx, driver=driver, kfd_node=NOT_ASKED, **more)


def test_an_old_kernel_that_left_the_gpu_without_a_driver_is_an_error() -> None:
    (verdict,) = judge(NAME, with_kernel(bare("gfx1201"), "6.8.0-45-generic"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.message == (
        "Linux 6.8.0-45-generic is older than the first kernel with compute support for gfx1201 (seen in 6.11), and no "
        "driver is bound to it."
    )
    assert "gpu-without-driver" in verdict.finding.explains


def test_a_driver_that_offers_no_compute_node_at_all_is_an_error_too() -> None:
    none = {"kfd_complete": True, "kfd_gpu_nodes": k(0)}
    (verdict,) = judge(NAME, with_kernel(bare("gfx942", driver="amdgpu"), "6.1.0-18-amd64", **none))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "no compute node" in verdict.finding.message
    some = {"kfd_complete": True, "kfd_gpu_nodes": k(1)}
    assert severities(judge(NAME, with_kernel(bare("gfx942", driver="amdgpu"), "6.1.0-18-amd64", **some))) == ["info"]


def test_a_gpu_that_computes_proves_a_backport() -> None:
    assert states(judge(NAME, with_kernel(amd_gpu(gfx="gfx942"), "5.14.0-503.el9"))) == ["pass"]


def test_enterprise_kernels_integrated_gpus_and_a_bound_driver_are_only_worth_knowing() -> None:
    assert severities(judge(NAME, with_kernel(bare("gfx942"), "5.14.0-503.14.1.el9_5.x86_64"))) == ["info"]
    assert severities(judge(NAME, with_kernel(bare("gfx942", driver="amdgpu"), "6.1.0-18-amd64"))) == ["info"]
    assert severities(judge(NAME, with_kernel(bare("gfx1201", integrated=True), "6.8.0-45-generic"))) == ["info"]


def test_a_driver_of_amds_package_does_not_follow_the_kernel() -> None:
    of = with_kernel(bare("gfx1201", driver="amdgpu"), "6.8.0", drivers={"amdgpu": {"version": k("6.10.5")}})
    assert states(judge(NAME, of)) == ["not-applicable"]


def test_a_kernel_that_is_new_enough_passes() -> None:
    assert states(judge(NAME, with_kernel(bare("gfx1201"), "6.12.5-amd64"))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(bare("gfx1201")))) == ["unknown"]
    assert states(judge(NAME, with_kernel(amd_gpu(driver=u()), "6.8.0"))) == ["unknown"]
    assert states(judge(NAME, with_kernel(bare("gfx1201", driver="vfio-pci"), "6.8.0"))) == ["not-applicable"]
    assert states(judge(NAME, machine(kernel=Kernel(release=k("6.8.0"))))) == ["not-applicable"]


def test_a_text_in_which_the_driver_makes_no_nodes() -> None:
    gpu = amd_gpu(gfx="gfx1200", driver=NOT_ASKED, kfd_node=NOT_ASKED)
    text = messages("Kernel 6.5 and RX 9060 XT, amdgpu does not create /dev/dri.")
    assert severities(judge(NAME, with_kernel(gpu, "6.5.0-35-generic", messages=text))) == ["error"]
    assert severities(judge(NAME, with_kernel(gpu, "6.12.5-amd64", messages=text))) == []


def test_a_text_in_which_no_program_finds_the_gpu() -> None:
    gpu = amd_gpu(gfx="gfx1200", driver=NOT_ASKED, kfd_node=NOT_ASKED)
    text = messages("RX 9060 XT: rocminfo lists only the CPU agent.")
    (verdict,) = judge(NAME, with_kernel(gpu, "6.5.0-35-generic", messages=text))
    assert verdict.finding is not None and verdict.finding.severity == "error"
    assert "no program finds the GPU" in verdict.finding.message and "seen in 6.11" in verdict.finding.message
    for release, said in (
        ("6.12.5-amd64", text),
        ("5.14.0-503.14.1.el9_5.x86_64", text),
        ("6.5.0-35-generic", ()),
        ("6.5.0-35-generic", (*text, *messages("Building initial module for 6.5.0-35-generic"))),
    ):
        judged = judge(NAME, with_kernel(gpu, release, messages=said))
        assert "error" not in severities(judged), release
