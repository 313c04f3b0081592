"""Healthy machines, each broken in one way: the finding that it gives, how bad it is, and the first cause."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocdoctor.repair.setup.planner import plan
from rocdoctor.train.recommend.fleet.cpu_fleet import cpu_fleet
from rocdoctor.train.recommend.fleet.machine_gpus import choose
from rocdoctor.tui.story import story
from tests.golden.edits import NODES, Broken
from tests.golden.replay import facts_of, judged, judged_fixture, report_of, text_of
from tests.machines.files import Files
from tests.machines.python import CPU_TORCH, CUDA_TORCH, Torch, python

MI300X = "mi300x-8gpu"
FOURTH = "/sys/bus/pci/devices/0000:6a:00.0"

Edit = Callable[[], Broken]
# (what is broken, edit, check, severity, first cause)
Case = tuple[str, Edit, str, str, str]


def _unbound() -> Broken:
    return Broken(MI300X).unbind("0000:6a:00.0", "card4", 5)


def _probe_failed() -> Broken:
    return _unbound().log(
        "[   31.204118] [drm] amdgpu kernel modesetting enabled.",
        "[   39.118221] amdgpu 0000:6a:00.0: amdgpu: get invalid ip discovery binary signature",
        "[   39.118244] [drm:amdgpu_discovery_set_ip_blocks [amdgpu]] *ERROR* amdgpu_discovery_init failed",
        "[   39.118390] amdgpu 0000:6a:00.0: amdgpu: Fatal error during GPU init",
        "[   39.120012] amdgpu: probe of 0000:6a:00.0 failed with error -22",
    )


def _no_driver_at_all() -> Broken:
    broken = Broken("rx9070xt").unbind("0000:03:00.0", "card0", 1).remove("stat /dev/kfd")
    modules = [line for line in broken.text("read /proc/modules").splitlines() if not line.startswith("amdgpu")]
    for pattern in ("parameters", "initstate"):
        broken.without_lines(f"list /sys/module/*/{pattern}", f"/amdgpu/{pattern}")
    broken.set("list /sys/class/drm/card*", "").set(f"list {NODES}/*", "").set("list /dev/dri/renderD*", "")
    return broken.set("read /proc/modules", "\n".join(modules))


def _kfd_denied() -> Broken:
    return (
        Broken("rx7900xtx-2gpu")
        .set("open /dev/kfd", "denied")
        .replace("read /proc/self/status", "Groups:\t27 44 992 1000", "Groups:\t27 44 1000")
        .replace("read /etc/group", "render:x:992:user", "render:x:992:")
    )


def _kfd_not_in_container() -> Broken:
    return Broken("mi300x-docker").remove("stat /dev/kfd").remove("open /dev/kfd")


def _narrow_link() -> Broken:
    broken = Broken(MI300X)
    for bridge in ("/sys/bus/pci/devices/0000:68:00.0", FOURTH):
        broken.set(f"read {bridge}/current_link_width", "4")
    return broken.set("read /sys/class/drm/card4/device/current_link_width", "4")


def _ecc() -> Broken:
    return Broken(MI300X).set("read /sys/class/drm/card4/device/ras/umc_err_count", "ue: 3\nce: 118\nde: 0")


def _nvidia_ecc() -> Broken:
    text = Broken("h100-8gpu").text("run nvidia-smi -q -x")
    first = text.replace("<dram_uncorrectable>0<", "<dram_uncorrectable>2<", 1)
    return Broken("h100-8gpu").set("run nvidia-smi -q -x", first, 0)


def _xgmi_pair() -> Broken:
    broken = Broken(MI300X).unlink(4, 5)
    return broken.remove("run amd-smi static --json").remove("run amd-smi metric --json")


def _override() -> Broken:
    return Broken("rx7900xtx-2gpu").env(HSA_OVERRIDE_GFX_VERSION="10.3.0")


def _torch(build: Torch) -> Broken:
    """A torch that sees no GPU."""
    files = Files("donor", "")
    python(files, build)
    question = "python default --import"
    return Broken(MI300X).set(question, files.programs[question].output.rstrip("\n"), 0)


def _all_hidden() -> Broken:
    return Broken(MI300X).env(HIP_VISIBLE_DEVICES="-1")


def _hot(degrees: int = 106) -> Broken:
    folder = next(
        line.removeprefix("list ").removesuffix("/*")
        for line in Broken(MI300X).host.available()
        if line.startswith("list /sys/class/drm/card4/device/hwmon/hwmon") and line.endswith("/*")
    )
    return Broken(MI300X).set(f"read {folder}/temp1_input", f"{degrees}000")


def _library_mismatch() -> Broken:
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 575.64"
    broken = Broken("h100-8gpu")
    for question in ("run nvidia-smi -q -x", "run nvidia-smi nvlink --status", "run nvidia-smi topo -m"):
        broken.set(question, text, 18)
    return broken


def _small_shm() -> Broken:
    return Broken("mi300x-docker").set("space /dev/shm", "67108864 67104768")


def _gpu_fell_off() -> Broken:
    lost = "Unable to determine the device handle for GPU2: 0000:5E:00.0: GPU is lost.  Reboot the system to recover"
    broken = Broken("h100-8gpu").log(
        "[2404512.401177] NVRM: GPU at PCI:0000:5e:00: GPU-66d1c3c8-9b5e-1a1f-8f4d-2f0d1b7a55e1",
        "[2404512.401181] NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "[2404512.401183] NVRM: GPU 0000:5e:00.0: GPU has fallen off the bus.",
    )
    for question in ("run nvidia-smi -q -x", "run nvidia-smi nvlink --status", "run nvidia-smi topo -m"):
        broken.set(question, lost, 15)
    return broken


CASES: tuple[Case, ...] = (
    ("driver unbound", _unbound, "gpu-without-driver", "error", "kernel-module-not-loaded"),
    ("driver not loaded", _no_driver_at_all, "driver-module-not-loaded", "error", "kernel-module-not-loaded"),
    ("probe failed", _probe_failed, "driver-probe-failed", "error", "kernel-module-not-loaded"),
    ("kfd denied", _kfd_denied, "device-node-denied", "error", "device-permission"),
    ("kfd not in container", _kfd_not_in_container, "device-node-missing", "error", "container-device-access"),
    ("link x4", _narrow_link, "pcie-link-narrow", "warning", "pcie-link-degraded"),
    ("uncorrectable errors", _ecc, "ras-uncorrectable", "error", "gpu-hardware-fault"),
    ("uncorrectable errors, NVIDIA", _nvidia_ecc, "ras-uncorrectable", "error", "gpu-hardware-fault"),
    ("XGMI link missing", _xgmi_pair, "xgmi-links-missing", "warning", ""),
    ("override of another family", _override, "gfx-override-mismatch", "error", "hsa-override-wrong"),
    ("CPU-only torch", lambda: _torch(CPU_TORCH), "torch-cpu-only-build", "error", "wrong-backend-build"),
    ("CUDA torch on AMD", lambda: _torch(CUDA_TORCH), "torch-wrong-vendor-build", "error", "wrong-backend-build"),
    ("all GPUs hidden", _all_hidden, "visible-devices-hides-all", "warning", "visible-devices-conflict"),
    ("over the critical limit", lambda: _hot(101), "gpu-over-temperature", "warning", "thermal-or-power-limit"),
    ("over the emergency limit", _hot, "gpu-over-temperature", "error", "thermal-or-power-limit"),
    ("library mismatch", _library_mismatch, "nvidia-driver-library-mismatch", "error", "driver-library-mismatch"),
    ("64 MiB of shared memory", _small_shm, "shm-too-small", "warning", "shm-too-small"),
    ("GPU fell off the bus", _gpu_fell_off, "gpu-fell-off-bus", "error", "gpu-hardware-fault"),
)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_broken_machine(case: Case) -> None:
    _, edit, check, severity, cause = case
    diagnosis = judged(edit().host)
    found = [one for one in diagnosis.verdicts if one.finding is not None and one.finding.severity != "info"]
    assert (check, severity) in {(one.check, one.finding.severity) for one in found if one.finding is not None}
    # Without a fitting id in the table of causes a finding stands for itself.
    assert [one.cause for one in diagnosis.causes][:1] == ([cause] if cause else [])
    assert not [one.check for one in diagnosis.verdicts if one.state == "crashed"]


def test_only_the_broken_gpu_is_named() -> None:
    for edit, check in (
        (_ecc, "ras-uncorrectable"),
        (_hot, "gpu-over-temperature"),
        (_narrow_link, "pcie-link-narrow"),
    ):
        found = [one for one in judged(edit().host).verdicts if one.check == check and one.finding is not None]
        assert [one.subject.label for one in found] == ["gpu 3 (0000:6a:00.0)"]


@pytest.mark.parametrize("tool", ["amd-smi metric --json", "rocminfo"])
def test_a_tool_that_hangs_costs_only_itself(tool: str) -> None:
    diagnosis = judged(Broken(MI300X).hang(f"run {tool}").host)
    healthy = judged_fixture(MI300X)
    assert [gpu.label for gpu in diagnosis.machine.gpus] == [gpu.label for gpu in healthy.machine.gpus]
    assert [gpu.gfx for gpu in diagnosis.machine.gpus] == [gpu.gfx for gpu in healthy.machine.gpus]
    (slow,) = [one for one in diagnosis.verdicts if one.check == "tool-failed"]
    assert slow.state == "unknown"  # one that may only have been slow is not accused
    assert f"run {tool}" in report_of(diagnosis)
    passed = {
        (one.check, one.subject) for one in healthy.verdicts if one.state == "pass" and one.check != "tool-failed"
    }
    still = {(one.check, one.subject) for one in diagnosis.verdicts if one.state == "pass"}
    assert len(passed - still) <= 8 * 4


def test_half_a_json_document_costs_only_itself() -> None:
    broken = Broken(MI300X)
    question = "run amd-smi static --json"
    text = broken.text(question)
    diagnosis = judged(broken.set(question, text[: len(text) // 2], 0).host)
    errors = [one for one in diagnosis.verdicts if one.finding is not None and one.finding.severity == "error"]
    assert not errors
    assert len(diagnosis.machine.gpus) == 8
    assert text_of(diagnosis).count("8 x AMD Instinct MI300X") == 1


def test_closed_kernel_log_names_the_command_that_opens_it() -> None:
    diagnosis = judged(
        Broken("rx9070xt").set("run dmesg", "dmesg: read kernel buffer failed: Operation not permitted", 1).host
    )
    assert "sudo dmesg | rocdoctor check --add -" in [one.command for one in diagnosis.next]
    unknown = [one for one in diagnosis.verdicts if one.check == "ring-timeout"]
    assert [one.state for one in unknown] == ["unknown"]


def test_a_missing_file_is_unknown_not_healthy() -> None:
    broken = Broken(MI300X)
    for name in ("umc", "sdma", "gfx", "mmhub", "xgmi_wafl"):
        broken.remove(f"read /sys/class/drm/card4/device/ras/{name}_err_count")
    broken.remove("run amd-smi metric --json")
    states = {one.subject.label: one.state for one in judged(broken.host).verdicts if one.check == "ras-uncorrectable"}
    assert states.pop("gpu 3 (0000:6a:00.0)") == "unknown"
    assert set(states.values()) == {"pass"}


def test_a_closed_sensor_leaves_the_other_facts() -> None:
    broken = Broken("rx9070xt")
    for question in broken.host.available():
        if "/hwmon/" in question and question.startswith("read "):
            broken.deny(question)
    diagnosis = judged(broken.host)
    assert '"gfx1201"' in facts_of(diagnosis)
    assert [one.state for one in diagnosis.verdicts if one.check == "gpu-over-temperature"] == ["unknown"]


@pytest.mark.parametrize("question", ["list /sys/bus/pci/devices/*", "read /sys/bus/pci/devices/0000:00:02.0/uevent"])
def test_a_bus_that_gives_no_answer_does_not_show_that_no_gpu_is_there(question: str) -> None:
    diagnosis = judged(Broken("cpu-only-laptop").hang(question).host)
    first, *rest = text_of(diagnosis).replace("\n ", " ").splitlines()
    assert first.startswith(f"Which GPUs are here is unknown: {question}: no answer")
    assert not any("none" in line for line in rest)
    assert any(line.startswith("GPU       others unknown") for line in rest)
    assert "driver-module-not-loaded" in {one.check for one in diagnosis.verdicts if one.state == "unknown"}
    assert {one.id: one.state for one in plan(diagnosis, "pytorch").steps}["torch"] == "unknown"
    said = story(diagnosis, plan(diagnosis, "pytorch"), preliminary=False)
    assert (said.title, said.wrong[:10]) == ("do next", "Which GPUs")
    notes = cpu_fleet(diagnosis.machine, 1, choose(diagnosis.machine)).notes
    assert any(one.startswith(f"which GPUs are here is unknown: {question}") for one in notes)
    assert not any("no usable GPU" in one for one in notes)
