"""Which torch goes where: by GPU, Python, back end and what is installed already."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.insight.software.torch_command import install_command, right_build
from rocdoctor.knowledge import install
from rocdoctor.model.facts import Gpu, RocmInstall, TorchBuild
from rocdoctor.repair.setup.plan import Step
from rocdoctor.repair.setup.torch_environment import Interpreter, proof
from tests.kit import amd_gpu, k, nvidia_gpu, u
from tests.repair.setup.desk import ROCM72, VENV, desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, plan_in, states, step_of

_PIP = f"{VENV} -m pip"
_INDEX = "https://download.pytorch.org/whl"


def xtx(**changes: Any) -> Gpu:
    return gpu("xtx", **changes)


def _torch(*gpus: Gpu, build: TorchBuild | None = None, **changes: Any) -> Step:
    return step_of(planned(desk(*gpus, build=build, **changes)), "torch")


def _undo(step: Step) -> list[str]:
    return [action.command for action in step.undo]


# -- what is done


def test_a_rocm_torch_with_code_for_the_gpu_is_done() -> None:
    found = _torch(xtx(), build=torch("2.11.0+rocm7.2"))
    assert found.state == "done" and not found.actions
    assert "gfx1100" in found.why
    shown = [one.value for one in found.evidence]
    assert "torch 2.11.0+rocm7.2" in shown and " ".join(ROCM72) in shown and "1 devices" in shown


def test_torch_that_works_makes_any_interpreter_right() -> None:
    build = torch("2.9.1+rocm6.4", path="/usr/bin/python3", environment="system", externally_managed=True)
    found = planned(desk(xtx(), os="fedora 42", build=build))
    assert states(found)["torch"] == states(found)["python-environment"] == "done"


def test_on_the_cpu_every_torch_that_can_be_imported_is_done() -> None:
    assert _torch(build=torch("2.9.1+cpu")).state == "done"
    assert _torch(build=torch("2.9.1+cu128", device_count=0)).state == "done"
    broken = _torch(build=torch("2.9.1+cpu", import_error="ImportError: libc10.so: undefined symbol: x"))
    assert broken.state == "todo" and "cannot be imported" in broken.why


def test_an_apu_beside_nothing_else_is_used_only_where_amd_lists_it() -> None:
    phoenix = amd_gpu(0, gfx="gfx1103", pci_id="1002:15bf", integrated=True)
    listed = _torch(phoenix, build=torch("2.9.1+cpu"))
    assert listed.state == "todo" and commands(listed)[-1].endswith("/rocm/whl-next/"), "rocBLAS of rocm7.2 lacks it"
    rembrandt = _torch(amd_gpu(0, gfx="gfx1035", pci_id="1002:1681", integrated=True), build=torch("2.9.1+cpu"))
    assert rembrandt.state == "done"
    assert any("HSA_OVERRIDE_GFX_VERSION=10.3.0" in note for note in rembrandt.notes)


def test_a_card_without_any_wheel_is_served_by_the_cpu_build_and_said_so() -> None:
    polaris = amd_gpu(0, name="RX 580", gfx="gfx803", pci_id="1002:67df")
    have = _torch(polaris, build=torch("2.9.1+cpu", device_count=0))
    assert have.state == "done" and "gfx803" in have.why and "CPU" in have.support
    none = _torch(polaris, build=torch())
    assert commands(none) == [f"{_PIP} install torch==2.14.1 torchvision==0.29.1 --index-url {_INDEX}/cpu"]


# -- what is installed and replaced


def test_the_wheel_is_that_of_the_gpu_and_the_index_is_named() -> None:
    found = _torch(xtx())
    assert found.state == "todo" and found.risk == "safe"
    assert commands(found) == [f"{_PIP} install torch==2.14.0 torchvision==0.29.0 --index-url {_INDEX}/rocm7.2"]
    assert "stable index of pytorch.org" in found.why and found.title.endswith("(rocm7.2)")
    assert any("AMD lists gfx1100" in note or "AMD's list" in note for note in found.notes)
    assert found.support == "" and found.table == "install_torch" and found.sources
    assert found.verify is not None and found.verify.check == "torch-not-installed"


def test_what_is_known_of_the_release_is_said() -> None:
    eight = [amd_gpu(index, gfx="gfx942", pci_id="1002:74a1", name="AMD Instinct MI300X") for index in range(8)]
    assert any("ResNet-50" in note and "slower" in note for note in _torch(*eight).notes)
    assert not any("ResNet-50" in note for note in _torch(xtx()).notes)


@pytest.mark.parametrize(
    ("version", "more", "back"),
    [
        pytest.param("2.9.1+cpu", {}, [f"{_PIP} install torch==2.9.1+cpu --index-url {_INDEX}/cpu"], id="cpu"),
        pytest.param("2.9.1", {"cuda": "12.8"}, [f"{_PIP} install torch==2.9.1"], id="PyPI"),
        pytest.param(
            "2.6.0+rocm6.2.4",
            {"arch_list": ("gfx942",)},
            [f"{_PIP} install torch==2.6.0+rocm6.2.4 --index-url {_INDEX}/rocm6.2.4"],
            id="three numbers",
        ),
        pytest.param("2.12.0.dev20260101+rocm7.2", {"arch_list": ("gfx942",)}, [], id="nightly"),
        pytest.param("2.9.1+rocm7.2.1.git7e1940d4", {"arch_list": ("gfx942",)}, [], id="vendor build"),
    ],
)
def test_a_wrong_torch_is_replaced_and_can_come_back(version: str, more: dict[str, Any], back: list[str]) -> None:
    found = _torch(xtx(), build=torch(version, **more))
    assert found.state == "todo" and version in found.title
    assert commands(found)[0] == f"{_PIP} uninstall -y torch"
    assert commands(found)[1].endswith(f"--index-url {_INDEX}/rocm7.2")
    assert f"Removed: torch {version}." in found.notes
    assert _undo(found)[1:] == back
    assert bool(back) != any("no command here can restore it" in note for note in found.notes)


def test_the_whole_family_goes_and_comes_with_torch() -> None:
    packages = {"pip": "25.2", "torch": "2.9.1", "torchaudio": "2.9.1", "triton": "3.5.1", "numpy": "2.3.2"}
    found = _torch(xtx(), build=torch("2.9.1", cuda="12.8", packages=packages))
    assert commands(found)[0] == f"{_PIP} uninstall -y torch torchaudio triton"
    assert " torchaudio " in commands(found)[1]
    assert _undo(found) == [
        f"{_PIP} uninstall -y torch torchaudio torchvision",
        f"{_PIP} install torch==2.9.1 torchaudio==2.9.1",
    ]


def test_before_the_driver_runs_a_build_for_the_wrong_thing_is_still_the_wrong_one() -> None:
    found = _torch(xtx(driver=None), build=torch("2.9.1+cpu"))
    assert found.state == "todo" and "CPU-only" in found.why
    assert found.verify is not None and found.verify.check == "torch-cpu-only-build"


def test_several_targets_need_one_wheel_for_all() -> None:
    assert _torch(xtx(), gpu("navi48", 1), build=torch("2.11.0+rocm7.2")).state == "done"
    lacking = _torch(xtx(), gpu("navi48", 1), build=torch("2.5.1+rocm6.2", arch_list=("gfx1030", "gfx1100")))
    assert lacking.state == "todo" and "gfx1201" in lacking.why and "rocm7.2" in commands(lacking)[-1]


def test_an_integrated_gpu_beside_a_card_asks_nothing_of_the_wheel() -> None:
    assert _torch(xtx(), gpu("raphael", 1), build=torch("2.11.0+rocm7.2")).state == "done"


def test_a_packaged_driver_that_does_not_serve_the_newest_rocm_keeps_the_older_wheel() -> None:
    mi210 = amd_gpu(0)
    newest = _torch(mi210, drivers={"amdgpu": {"version": k("30.10.1")}})
    assert "rocm7.2" in commands(newest)[-1]
    old = (RocmInstall(k("6.2.4"), "/opt/rocm-6.2.4", "classic"),)
    held = _torch(mi210, drivers={"amdgpu": {"version": k("6.8.5")}}, rocm=old)
    assert commands(held)[-1].endswith(f"{_INDEX}/rocm6.2")


def test_what_the_system_keeps_from_being_imported_is_not_installed_again() -> None:
    words = "ImportError: /lib/libc.so.6: version `GLIBC_2.38' not found"
    found = _torch(xtx(), build=torch("2.11.0+rocm7.2", import_error=words, device_count=u()))
    assert found.state == "todo" and found.risk == "manual" and not found.actions
    assert any("newer distribution" in note for note in found.notes)


def test_pip_is_brought_into_an_environment_that_lacks_it() -> None:
    found = _torch(xtx(), build=torch(packages={}))
    assert commands(found)[0] == f"{VENV} -m ensurepip"


def test_conda_is_recognised_and_warned_of() -> None:
    python = "/home/user/miniconda3/envs/x/bin/python"
    found = planned(desk(xtx(), build=torch("2.9.1+cpu", path=python, environment="conda")))
    assert "a conda environment" in step_of(found, "python-environment").why
    step = step_of(found, "torch")
    assert commands(step)[0].startswith(f"{python} -m pip uninstall")
    assert any("conda" in note for note in step.notes)


# -- where nothing is certain


@pytest.mark.parametrize(
    ("gpus", "build", "words"),
    [
        pytest.param((amd_gpu(gfx=u(), pci_id="1002:ffff", name=u()),), torch(), "target (gfx)", id="target"),
        pytest.param((xtx(),), TorchBuild(), "It is not known whether torch is installed", id="no interpreter"),
        pytest.param(
            (xtx(),),
            torch("2.13.0+rocm7.2", arch_list=u(), device_count=u(), import_error=u()),
            "It is not known whether the installed torch has code",
            id="targets of the build",
        ),
    ],
)
def test_what_nobody_knows_is_unknown(gpus: tuple[Gpu, ...], build: TorchBuild, words: str) -> None:
    found = _torch(*gpus, build=build)
    assert found.state == "unknown" and words in found.why and not found.actions


def test_a_build_whose_targets_nobody_listed_is_done_where_it_counts_gpus() -> None:
    build = torch("2.13.0+rocm7.2", arch_list=u(), device_count=1)
    assert _torch(xtx(), build=build).state == "done"


def test_the_indexes_have_builds_for_aarch64_but_none_of_rocm() -> None:
    cpu = commands(_torch(arch="aarch64"))[-1]
    assert "torch==2.14.1" in cpu and cpu.endswith("--index-url https://download.pytorch.org/whl/cpu")
    amd = planned(desk(xtx(), arch="aarch64"))
    assert "AMD publishes ROCm and its wheels for x86_64 only: training runs on the CPU." in amd.notes
    assert commands(step_of(amd, "torch"))[-1] == cpu
    assert step_of(amd, "rocm").optional
    other = _torch(arch="riscv64")
    assert other.state == "unknown" and "riscv64" in other.why


@pytest.mark.parametrize(
    ("capability", "driver", "flavour"),
    [
        ("9.0", "580.95.05", "cu130"),  # GH200
        ("12.1", "580.95.05", "cu130"),  # GB10 runs code for 12.0
        ("8.9", "580.95.05", "cu130"),
        ("9.0", "550.90", "cu128"),
        ("7.5", "580.95.05", None),  # x86_64 has code for it, aarch64 has not
        ("7.0", "580.95.05", None),
    ],
)
def test_cuda_builds_for_aarch64_have_code_for_fewer_gpus(capability: str, driver: str, flavour: str | None) -> None:
    found = install.cuda_wheel(capability, "3.12", driver, "aarch64")
    assert (found.flavour if found is not None else None) == flavour
    assert install.cuda_wheel(capability, "3.12", driver) is not None


@pytest.mark.parametrize("capability", ["5.3", "6.2", "7.2", "8.7", "10.1"])
def test_the_gpu_of_a_jetson_runs_no_code_for_earlier_ones_of_its_generation(capability: str) -> None:
    """NVIDIA's guide leaves Tegra out of binary compatibility: a build for 8.0 fails at the first kernel of an Orin."""
    for flavour in ("cu126", "cu128", "cu130"):
        assert not install.cuda_built_for(flavour, capability, "aarch64")
    assert install.cuda_wheel(capability, "3.10", "540.4.0", "aarch64") is None


def test_a_jetson_is_sent_to_the_wheels_of_nvidia() -> None:
    orin = nvidia_gpu(0, name="Orin", compute_capability="8.7")
    machine = desk(orin, os="ubuntu 22.04", arch="aarch64", drivers={"nvidia": {"version": k("540.4.0")}})
    found = step_of(planned(machine), "torch")
    assert found.state == "unknown" and not found.actions and "Jetson" in found.why
    assert "install-pytorch-jetson-platform" in found.why
    assert install_command(machine, orin) == "" == right_build(machine, orin).command
    beside = nvidia_gpu(0, name="NVIDIA A10", compute_capability="8.6")
    assert install_command(replace(machine, gpus=(beside,)), beside)


def test_a_server_of_grace_gets_the_build_of_its_processor() -> None:
    grace = nvidia_gpu(0, name="NVIDIA GH200 480GB", compute_capability="9.0")
    found = _torch(grace, arch="aarch64", drivers={"nvidia": {"version": k("580.95.05")}})
    assert commands(found)[-1].endswith("--index-url https://download.pytorch.org/whl/cu130")
    assert "aarch64-archs" in found.sources


def test_a_list_of_gpus_that_may_lack_some_decides_nothing() -> None:
    assert step_of(planned(replace(desk(), gpus_complete=False)), "torch").state == "unknown"


# -- goals and vendors


def test_goals_without_torch_have_no_such_step() -> None:
    for goal in ("rocm", "container"):
        assert not {"torch", "python-environment"} & set(ids(planned(desk(xtx()), goal)))
    inside = desk(xtx(), container={"kind": "docker", "rootless": False})
    assert "torch" in ids(planned(inside, "container"))


def test_with_two_vendors_the_installed_torch_decides() -> None:
    cuda = _torch(xtx(), nvidia_gpu(1), build=torch("2.9.1+cu128", arch_list=("sm_90",), device_count=1))
    assert cuda.state == "done" and any("two vendors" in note for note in cuda.notes)
    none = _torch(xtx(), nvidia_gpu(1))
    assert none.state == "todo" and "rocm7.2" in commands(none)[0]


@pytest.mark.parametrize(
    ("capability", "driver", "flavour"),
    [("8.9", "580.82.07", "cu130"), ("8.9", "550.163.01", "cu128"), ("6.1", "580.82.07", "cu126")],
)
def test_the_cuda_flavour_follows_gpu_and_driver(capability: str, driver: str, flavour: str) -> None:
    card = nvidia_gpu(0, name="GPU", compute_capability=capability)
    found = _torch(card, drivers={"nvidia": {"version": k(driver)}})
    assert commands(found)[-1].endswith(f"{_INDEX}/{flavour}")


def test_a_capability_that_is_not_known_waits_for_the_driver_or_for_a_question() -> None:
    told = {"name": u(), "pci_id": "10de:ffff", "compute_capability": u()}
    waiting = _torch(nvidia_gpu(0, driver=None, **told))
    assert waiting.state == "waiting" and "driver" in waiting.why
    unknown = _torch(nvidia_gpu(0, **told), drivers={"nvidia": {"version": k("580.82.07")}})
    assert unknown.state == "unknown" and unknown.verify is not None and "compute_cap" in unknown.verify.line


def test_a_driver_older_than_every_wheel_comes_first() -> None:
    gpu = nvidia_gpu(0, name="GPU", compute_capability="8.6")
    found = planned(
        desk(gpu, os="ubuntu 22.04", drivers={"nvidia": {"version": k("470.256.02")}}, nvidia_failure=k(None))
    )
    assert step_of(found, "torch").state == "waiting"
    assert step_of(found, "driver-nvidia").state == "todo" and "470.256.02" in step_of(found, "driver-nvidia").why


def test_gpus_that_are_kept_for_guests_train_nothing() -> None:
    for card in (gpu("ada", driver="vfio-pci"), xtx(driver="vfio-pci")):
        found = _torch(card)
        assert commands(found)[-1].endswith(f"{_INDEX}/cpu") and "virtual machines" in found.why


# -- hostile evidence


@pytest.mark.parametrize(
    "path", ["rm", "/tmp/$(id)/python", "/tmp/`id`", "/a;b/python", "-x", "/a\nb", "/a/../../python"]
)
def test_a_path_that_could_do_more_is_in_no_command(path: str) -> None:
    found = planned(desk(xtx(), build=torch("2.9.1+cpu", path=path)))
    assert step_of(found, "python-environment").state == "unknown"
    for step in found.steps:
        for action in (*step.actions, *step.undo):
            assert not any(path in word for word in (*action.words, action.file, *action.lines))


@pytest.mark.parametrize("version", ["2.9.1 --index-url=https://x", "2.9.1;x", "2.9.1+$(id)", "-r x", "2.9.1\nx"])
def test_a_version_that_could_do_more_is_in_no_command(version: str) -> None:
    packages = {"pip": "25.2", "torch": version, "torchvision": version, "numpy": version, "triton": version}
    for build in (torch(version, packages=packages), torch("2.11.0+rocm7.2", packages=packages | {"triton-rocm": "1"})):
        for step in planned(desk(xtx(), build=build)).steps:
            for action in (*step.actions, *step.undo):
                assert not any(version in word for word in action.words)


def test_the_proof_runs_with_the_variable_that_the_build_needs() -> None:
    into = Interpreter("~/torch-venv/bin/python", "3.12", "venv", True, False)
    typed, words = proof(into, True, {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert typed.startswith("env HSA_OVERRIDE_GFX_VERSION=10.3.0 ~/torch-venv/bin/python -c ")
    assert words[:3] == ("env", "HSA_OVERRIDE_GFX_VERSION=10.3.0", "~/torch-venv/bin/python")
    plain = step_of(plan_in("xtx-ubuntu2404-fresh"), "torch")
    assert plain.proof[:2] == ("~/torch-venv/bin/python", "-c")
    assert "a.cuda() @ a.cuda()" in plain.proof[2]


class _Matrix:
    """As much of a tensor as the proof asks for; a GPU whose BLAS has no files for it adds, and cannot multiply."""

    def __init__(self, value: float, blas: str = "") -> None:
        self.value, self.blas = value, blas

    def cuda(self) -> _Matrix:
        return _Matrix(self.value, _Matrix.gpu)

    def cpu(self) -> _Matrix:
        return _Matrix(self.value)

    def __matmul__(self, other: _Matrix) -> _Matrix:
        if self.blas == "absent":
            raise RuntimeError("rocBLAS error")
        return _Matrix(self.value * other.value + (self.blas == "wrong"), self.blas)

    gpu = ""


@pytest.mark.parametrize(("gpu", "good"), [("good", True), ("absent", False), ("wrong", False)])
def test_the_proof_fails_where_the_gpu_cannot_multiply_matrices(
    gpu: str, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """rocBLAS of a wheel may lack the target that torch's own kernels have: a sum alone would pass."""
    fake = SimpleNamespace(
        __version__="2.14.0",
        cuda=SimpleNamespace(get_device_name=lambda: "GPU"),
        rand=lambda *_: _Matrix(3.0),
        allclose=lambda one, other, rtol: abs(one.value - other.value) <= rtol,
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(_Matrix, "gpu", gpu)
    _, words = proof(Interpreter("/e/bin/python", "3.12", "venv", True, False), True, {})
    with nullcontext() if good else pytest.raises((RuntimeError, AssertionError)):
        exec(words[-1], {})


@pytest.mark.parametrize(
    ("label", "variables", "state"),
    [
        ("rocm7.2", {}, "unknown"),
        ("rocm6.3", {}, "done"),
        ("rocm7.2.0", {}, "done"),
        ("rocm7.2", {"HSA_OVERRIDE_GFX_VERSION": "9.0.6"}, "done"),
    ],
)
def test_an_installed_wheel_whose_flavour_was_seen_without_rocblas_is_not_called_good(
    label: str, variables: dict[str, str], state: str
) -> None:
    """Nobody looked into this wheel, so it is not called wrong either."""
    vega = gpu("xtx", name="AMD Radeon VII", pci_id="1002:66af", gfx="gfx906")
    found = _torch(vega, build=torch(f"2.9.1+{label}", arch_list=("gfx900", "gfx906")), variables=variables)
    assert found.state == state and not found.actions
    assert ("had no files for it" in found.why) == (state == "unknown")
