"""What checks list as changes is what their commands say, and only where nobody has to judge."""

from __future__ import annotations

import pytest

from rocdoctor.model.change import USER, Change, Command, KernelValue, Unset
from rocdoctor.model.facts import Container, Cpus, DeviceNode, Machine, Memory, NumaNode, User
from rocdoctor.model.finding import Fix
from rocdoctor.repair.fixes.known_changes import is_kernel, is_undoing
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, u

_TWO = (amd_gpu(0), amd_gpu(1))
_BARE = Container(kind=k("none"))
_ALICE = User(uid=k(1000), groups=k(("people",)), login_groups=k(("people",)))


def _node(path: str = "/dev/kfd", access: str = "denied", group: str = "render") -> DeviceNode:
    return DeviceNode(path, k(True), k(access), k("0660"), k(group))


def _denied(**changes: object) -> Machine:
    facts = {"nodes": (_node(), _node("/dev/dri/renderD128", group="video")), "user": _ALICE, "container": _BARE}
    return machine(amd_gpu(render_minor=128), **{**facts, **changes})


def _nodes(count: int) -> tuple[NumaNode, ...]:
    return tuple(NumaNode(number, cpulist=k(str(number))) for number in range(count))


_UDEV = Command(("udevadm", "trigger", "--subsystem-match=kfd"))
_KFD_GONE = (DeviceNode("/dev/kfd", k(False)), DeviceNode("/dev/dri/renderD128", k(True)))
_NVIDIA = (DeviceNode("/dev/nvidiactl", k(True), k("denied"), k("0660"), k("video")),)
_MOUNT = ("mount", "-o", "remount,size=8G", "/dev/shm")
_GOVERNORS = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
_LEVEL = "/sys/bus/pci/devices/0000:23:00.0/power_dpm_force_performance_level"
_FILES = ("/etc/group", "/etc/gshadow")


def _with(**variables: str) -> Machine:
    return machine(*_TWO, environment=environment(variables), rocm_complete=True)


_LISTED: list[tuple[str, Machine, tuple[Change, ...]]] = [
    (
        "cpu-governor-powersave",
        machine(*_TWO, cpus=Cpus(governors=k(("powersave",)), scaling_driver=k("acpi-cpufreq"))),
        (KernelValue(_GOVERNORS, "performance"),),
    ),
    (
        "numa-balancing-on",
        machine(*_TWO, memory=Memory(numa_balancing=k(True)), numa_nodes=_nodes(2)),
        (KernelValue("/proc/sys/kernel/numa_balancing", "0"),),
    ),
    (
        "transparent-hugepages-never",
        machine(*_TWO, memory=Memory(transparent_hugepage=k("never"))),
        (KernelValue("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),),
    ),
    ("performance-level-not-auto", machine(amd_gpu(performance_level="low")), (KernelValue(_LEVEL, "auto"),)),
    ("performance-level-not-auto", machine(amd_gpu(performance_level="profile_peak")), (KernelValue(_LEVEL, "auto"),)),
    (
        "shm-too-small",
        machine(amd_gpu(), memory=Memory(shm_bytes=k(64 << 20))),
        (Command(_MOUNT, (("mount", "-o", "remount,size=67108864", "/dev/shm"),)),),
    ),
    ("kfd-missing", machine(amd_gpu(kfd_node=u()), kfd_present=k(True), nodes=_KFD_GONE, container=_BARE), (_UDEV,)),
    (
        "device-node-denied",
        _denied(),
        (
            Command(
                ("usermod", "-aG", "render,video", USER),
                (("gpasswd", "-d", USER, "render"), ("gpasswd", "-d", USER, "video")),
                _FILES,
            ),
        ),
    ),
    (
        "nvidia-node-denied",
        machine(nvidia_gpu(), nodes=_NVIDIA, container=_BARE, user=_ALICE),
        (Command(("usermod", "-aG", "video", USER), (("gpasswd", "-d", USER, "video"),), _FILES),),
    ),
    ("gfx-override-mismatch", _with(HSA_OVERRIDE_GFX_VERSION="10.3.0"), (Unset("HSA_OVERRIDE_GFX_VERSION"),)),
    ("gfx-override-mismatch", _with(HSA_OVERRIDE_GFX_VERSION="x"), (Unset("HSA_OVERRIDE_GFX_VERSION"),)),
    ("rocm-path-missing", _with(ROCM_PATH="/opt/rocm-0.0.1"), (Unset("ROCM_PATH"),)),
    ("omp-threads", _with(GOMP_CPU_AFFINITY="3"), (Unset("GOMP_CPU_AFFINITY"),)),
    ("debug-variables-on", _with(AMD_SERIALIZE_KERNEL="3"), (Unset("AMD_SERIALIZE_KERNEL"),)),
    (
        "env-old-name",
        _with(PYTORCH_ALLOC_CONF="a:True", PYTORCH_CUDA_ALLOC_CONF="b:True"),
        (Unset("PYTORCH_CUDA_ALLOC_CONF"),),
    ),
    ("env-unknown-name", _with(RCCL_NCHANNELS="4"), (Unset("RCCL_NCHANNELS"),)),
    ("visible-devices-hides-all", _with(HIP_VISIBLE_DEVICES="7"), (Unset("HIP_VISIBLE_DEVICES"),)),
]

_JUDGED: list[tuple[str, Machine]] = [
    # Its clock states would be lost; a desktop sets it on purpose; which card it is, is not known.
    ("performance-level-not-auto", machine(amd_gpu(performance_level="manual"))),
    ("performance-level-not-auto", machine(amd_gpu(performance_level="low"), laptop=k(True))),
    ("performance-level-not-auto", machine(amd_gpu(performance_level="low", bdf=u()))),
    # Which group it is, is not known; a container has the host's.
    ("device-node-denied", _denied(nodes=(DeviceNode("/dev/kfd", k(True), k("denied")),))),
    ("device-node-denied", _denied(nodes=(_node(group="992"),))),
    ("device-node-denied", _denied(nodes=(_node(), _node("/dev/dri/renderD128", group="44")))),
    ("device-node-denied", _denied(container=Container(kind=k("docker")))),
    ("nvidia-node-denied", machine(nvidia_gpu(), nodes=_NVIDIA, container=Container(kind=k("docker")), user=_ALICE)),
    ("shm-too-small", machine(amd_gpu(), memory=Memory(shm_bytes=k(64 << 20)), container=Container(kind=k("docker")))),
    # Another name was meant, or the GPUs are hidden on purpose.
    ("env-unknown-name", _with(HIP_VISIBLE_DEVICE="0")),
    ("env-unknown-name", _with(RCCL_DEBUG="INFO")),
    ("visible-devices-hides-all", _with(HIP_VISIBLE_DEVICES="-1")),
    ("env-wrong-value", _with(NCCL_DEBUG="LOUD")),
]


@pytest.mark.parametrize(("name", "of", "changes"), _LISTED, ids=[f"{n}-{one[0]}" for n, one in enumerate(_LISTED)])
def test_changes_say_what_the_command_says(name: str, of: Machine, changes: tuple[Change, ...]) -> None:
    fixes = {verdict.finding.fix for verdict in judge(name, of) if verdict.finding is not None}
    assert None not in fixes
    assert {fix.changes for fix in fixes if fix is not None} == {changes}
    for fix in fixes:
        assert fix is not None
        _consistent(fix)


@pytest.mark.parametrize(("name", "of"), _JUDGED, ids=[f"{number}-{one[0]}" for number, one in enumerate(_JUDGED)])
def test_where_a_person_has_to_judge_nothing_is_listed(name: str, of: Machine) -> None:
    fixes = [verdict.finding.fix for verdict in judge(name, of) if verdict.finding is not None]
    assert fixes
    assert all(fix is not None and not fix.changes for fix in fixes)


def _consistent(fix: Fix) -> None:
    """What a fix lists is what its command says."""
    words = fix.command.removeprefix("sudo ").split()
    for change in fix.changes:
        if isinstance(change, Unset):
            assert fix.command == f"unset {change.name}"
        elif isinstance(change, KernelValue):
            assert change.value in fix.command.replace("=", " ").split()
            assert is_kernel(change.path.replace("*", "0"), change.value)
        else:
            assert isinstance(change, Command)
            assert list(change.words) == words
            typed, *undo = (
                tuple("alice" if word == USER else word for word in one) for one in (change.words, *change.undo)
            )
            assert is_undoing(typed, undo, change.changes)
            assert all((USER in words) == (USER in undo) for undo in change.undo)
