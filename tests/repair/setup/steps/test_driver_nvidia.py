"""The NVIDIA driver: which route, which key, which service, and when nothing is to be done."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.knowledge import install
from rocdoctor.model.facts import DeviceNode, Machine, ToolFailure
from rocdoctor.repair.setup.plan import SetupPlan, Step
from tests.install_kit import found as whole
from tests.kit import amd_gpu, event, k, log, nvidia_gpu, u
from tests.repair.setup.desk import desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, states, step_of

_WORKS: dict[str, Any] = {
    "drivers": {"nvidia": {"version": k("580.82.07"), "cuda": k("13.0")}},
    "nvidia_failure": k(None),
}
_KEY = "secure-boot-key-nvidia"


def _driver(of: Machine | SetupPlan) -> Step:
    return step_of(of if isinstance(of, SetupPlan) else planned(of), "driver-nvidia")


def test_a_driver_that_works_is_done_with_its_versions() -> None:
    found = _driver(desk(gpu("ada"), **_WORKS))
    assert found.state == "done" and "580.82.07" in found.why and "13.0" in found.why
    assert [one.value for one in found.evidence] == ["nvidia", "driver 580.82.07", "CUDA 13.0"]


@pytest.mark.parametrize(("release", "suite"), [("12", "bookworm"), ("13", "trixie")])
def test_nvidias_packages_for_debian_need_contrib(release: str, suite: str) -> None:
    found = _driver(desk(nvidia_gpu(0, name="GPU", compute_capability="8.9", driver=None), os=f"debian {release}"))
    place = "/etc/apt/sources.list.d/nvidia-contrib.list"
    files = [action.file for action in found.actions]
    assert found.actions[files.index(place)].lines == (f"deb http://deb.debian.org/debian {suite} contrib",)
    later = [action.command for action in found.actions[files.index(place) + 1 :]]
    assert later.index("apt update") < later.index("apt install nvidia-open")
    assert f"rm -f {place}" in [action.command for action in found.undo]


def test_machines_without_such_a_gpu_have_no_step() -> None:
    for machine in (desk(), desk(gpu("xtx")), desk(gpu("ada", driver="vfio-pci"))):
        assert not [name for name in ids(planned(machine)) if "nvidia" in name]


@pytest.mark.parametrize(
    ("os", "capability", "install"),
    [
        ("ubuntu 22.04", "8.9", "ubuntu-drivers install"),
        ("ubuntu 24.04", "12.0", "ubuntu-drivers install"),
        ("debian 12", "8.9", "apt install nvidia-open"),
        ("debian 12", "12.0", "apt install nvidia-open"),
        ("debian 13", "6.1", "apt install cuda-drivers-580"),
        ("rhel 9.6", "8.9", "dnf module enable nvidia-driver:open-dkms"),
        ("rhel 9.6", "7.0", "dnf module enable nvidia-driver:580-dkms"),
        ("rhel 10.0", "8.9", "dnf install nvidia-open"),
        ("rhel 10.0", "7.0", "dnf versionlock add '*nvidia*580*'"),
        ("fedora 43", "6.1", "dnf install akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda"),
        ("sles 15.7", "8.0", "zypper install --auto-agree-with-licenses nvidia-open-driver-G07-signed-kmp-meta"),
        ("opensuse-leap 16.0", "6.1", "zypper install --auto-agree-with-licenses nvidia-driver-G06-kmp-meta"),
        ("opensuse-tumbleweed 20261101", "12.0", "zypper --gpg-auto-import-keys refresh nvidia-gfx"),
    ],
)
def test_the_route_is_that_of_the_distribution_and_the_gpu(os: str, capability: str, install: str) -> None:
    card = nvidia_gpu(0, name="GPU", compute_capability=capability, driver=None)
    plan = planned(desk(card, os=os))
    found = _driver(plan)
    assert found.state == "todo" and install in commands(found)
    assert (found.risk, found.effective) == ("reboots", "reboot") and found.undo and found.sources
    assert states(plan)["restart"] == "waiting"
    assert not any(command == "reboot" for command in commands(found))


@pytest.mark.parametrize(
    ("kernel", "capability", "said"),
    [
        ("6.16.4-arch1-1", "12.0", "pacman -Syu nvidia-open nvidia-utils"),
        ("6.12.50-1-lts", "7.5", "pacman -Syu nvidia-open-lts nvidia-utils"),
        ("6.16.4-zen1-1-zen", "7.5", "nvidia-open-dkms"),
        ("6.12.50-2-cachyos-lts", "7.5", "nvidia-open-dkms"),  # kernels of others, whose names end or begin like those
        ("6.16.4-arch1-1-surface", "7.5", "nvidia-open-dkms"),
        ("6.16.4-arch1-1", "6.1", "nvidia-580xx-dkms in the AUR"),
    ],
)
def test_arch_has_a_module_for_each_of_its_kernels_and_none_before_turing(
    kernel: str, capability: str, said: str
) -> None:
    card = nvidia_gpu(0, name="GPU", compute_capability=capability, driver=None)
    found = _driver(desk(card, os="arch", kernel={"release": kernel}))
    assert said in (commands(found) or [found.why])[-1 if not found.actions else 0]
    assert (found.state, found.risk) == (("todo", "risky") if found.actions else ("unknown", "safe"))


@pytest.mark.parametrize(
    ("os", "folder"),
    [
        ("sles 15.7", "suse/sle15sp7"),
        ("sles 16.0", "suse/sle16"),
        ("opensuse-leap 15.6", "opensuse/leap/15.6"),
        ("opensuse-leap 16.0", "opensuse/leap/16.0"),
        ("opensuse-tumbleweed 20261101", "opensuse/tumbleweed"),
    ],
)
def test_each_product_of_suse_has_its_own_folder(os: str, folder: str) -> None:
    card = nvidia_gpu(0, name="GPU", compute_capability="8.9", driver=None)
    lines = [line for one in _driver(desk(card, os=os)).actions for line in one.lines]
    assert f"baseurl=https://download.nvidia.com/{folder}/" in lines
    # The keys of other repositories are not taken unasked.
    assert "zypper --gpg-auto-import-keys refresh nvidia-gfx" in commands(_driver(desk(card, os=os)))


def test_a_module_that_suse_signs_needs_no_key_and_one_that_it_does_not_says_so() -> None:
    for capability, said in (("8.9", "SUSE signs this module"), ("6.1", "SUSE does not sign this module")):
        card = nvidia_gpu(0, name="GPU", compute_capability=capability, driver=None)
        plan = planned(desk(card, os="opensuse-leap 16.0", kernel={"secure_boot": True}))
        assert _KEY not in ids(plan) and said in " ".join(_driver(plan).notes)
        assert said not in " ".join(_driver(desk(card, os="opensuse-leap 16.0")).notes)


def _old_and_new(old: str, new: str, **drivers: str | None) -> tuple[Any, Any]:
    return (
        nvidia_gpu(0, name="OLD", compute_capability=old, driver=drivers.get("first")),
        nvidia_gpu(1, name="NEW", compute_capability=new, driver=drivers.get("second")),
    )


@pytest.mark.parametrize(
    ("os", "old", "new", "last"),
    [
        ("debian 13", "3.5", "8.6", "apt install nvidia-open"),  # Kepler for the screen beside a card that trains
        ("fedora 43", "3.5", "8.6", "dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda"),
        ("debian 13", "6.1", "8.9", "apt install cuda-drivers-580"),  # the one branch that runs both
    ],
)
def test_the_driver_is_that_of_the_gpus_which_one_branch_can_serve(os: str, old: str, new: str, last: str) -> None:
    found = _driver(desk(*_old_and_new(old, new), os=os))
    assert commands(found)[-1] == last
    said = " ".join(found.notes)
    assert ("gpu 0" in said and "left out" in said and "stays dark" in said) == (old == "3.5")


@pytest.mark.parametrize("os", ["debian 13", "ubuntu 24.04", "sles 16.0"])
def test_where_two_gpus_need_different_modules_neither_is_installed(os: str) -> None:
    plan = planned(desk(*_old_and_new("6.1", "12.0"), os=os))
    found, wheel = _driver(plan), step_of(plan, "torch")
    assert found.state == "unknown" and not found.actions and "6.1 the proprietary one" in found.why
    assert wheel.state == "unknown" and not wheel.actions


def test_torch_serves_the_gpu_that_runs_where_one_driver_cannot_serve_all() -> None:
    plan = planned(desk(*_old_and_new("6.1", "12.0", first="nvidia"), os="debian 13", build=torch(None), **_WORKS))
    assert _driver(plan).state == "unknown" and not _driver(plan).actions
    assert any("/whl/cu126" in command for command in commands(step_of(plan, "torch")))


@pytest.mark.parametrize(("old", "bound"), [("6.1", "nouveau"), ("3.5", None)])
def test_a_driver_that_runs_the_newer_gpu_is_not_replaced_for_the_older_one(old: str, bound: str | None) -> None:
    found = _driver(desk(*_old_and_new(old, "12.0", first=bound, second="nvidia"), os="debian 13", **_WORKS))
    assert found.state == "done" and not found.actions and "gpu 0" in found.notes[0]


def test_a_gpu_of_a_virtual_machine_does_not_choose_the_driver() -> None:
    found = _driver(desk(*_old_and_new("6.1", "12.0", first="vfio-pci"), os="debian 13"))
    assert commands(found)[-1] == "apt install nvidia-open"


def test_a_server_gpu_of_kepler_gets_no_server_branch() -> None:
    card = nvidia_gpu(0, name="Tesla K80", compute_capability="3.7", driver=None)
    assert commands(_driver(desk(card)))[-1] == "ubuntu-drivers install"  # which may have 470
    assert "580-server" in " ".join(commands(_driver(desk(nvidia_gpu(0, name="Tesla V100", driver=None)))))


def test_what_was_fetched_is_named_and_goes_with_the_undo() -> None:
    found = _driver(desk(gpu("ada", driver=None), os="rhel 9.6"))
    assert "/etc/yum.repos.d/cuda-rhel9.repo" in found.changes
    assert found.undo[-1].words == ("rm", "-f", "/etc/yum.repos.d/cuda-rhel9.repo")


@pytest.mark.parametrize(
    ("os", "card"),
    [
        pytest.param("gentoo 2.18", gpu("ada", driver=None), id="distribution"),
        pytest.param("sles 15.3", gpu("ada", driver=None), id="service pack"),
        pytest.param("ol 9.6", nvidia_gpu(0, name="V100", compute_capability="7.0", driver=None), id="flavour"),
        pytest.param("rhel 9.6", nvidia_gpu(0, name="K80", compute_capability="3.7", driver=None), id="too old"),
    ],
)
def test_what_the_tables_do_not_have_is_unknown_with_the_page(os: str, card: Any) -> None:
    found = _driver(desk(card, os=os))
    assert found.state == "unknown" and not found.actions
    assert any("docs.nvidia.com" in note for note in found.notes)


@pytest.mark.parametrize(
    ("capability", "words"), [("6.1", "proprietary kernel module"), ("12.0", "open kernel module"), ("8.9", "")]
)
def test_which_kernel_module_a_gpu_needs_is_said(capability: str, words: str) -> None:
    card = nvidia_gpu(0, name="GPU", compute_capability=capability, driver=None)
    told = " ".join(_driver(desk(card, os="ubuntu 24.04")).notes)
    assert words in told and ("kernel module" in told) == bool(words)


def test_nouveau_is_replaced() -> None:
    found = _driver(desk(gpu("ada", driver="nouveau"), kernel={"modules": frozenset({"nouveau"})}))
    assert found.state == "todo" and any("nouveau" in note for note in found.notes)
    assert found.verify is not None and found.verify.check == "wrong-kernel-driver"


def test_a_module_that_does_not_fit_the_libraries_needs_a_restart_alone() -> None:
    failure = ToolFailure("run nvidia-smi", "failed", "Driver/library version mismatch", 1, "version-mismatch")
    plan = planned(desk(gpu("ada"), drivers=_WORKS["drivers"], nvidia_failure=k(failure)))
    found = _driver(plan)
    assert (found.state, found.effective) == ("todo", "reboot") and not found.actions
    assert "restart" in ids(plan)


# -- Secure Boot


def test_under_secure_boot_the_key_is_enrolled_before_the_restart() -> None:
    plan = planned(desk(gpu("ada", driver=None), os="debian 13", kernel={"secure_boot": True}))
    order = ids(plan)
    assert order.index("driver-nvidia") < order.index(_KEY) < order.index("restart")
    key = step_of(plan, _KEY)
    assert commands(key)[-2:] == ["apt install mokutil", "mokutil --import /var/lib/dkms/mok.pub"]
    assert key.effective == "reboot"
    assert [one.command for one in key.undo] == ["mokutil --delete /var/lib/dkms/mok.pub"]
    assert "before the restart" in step_of(plan, "driver-nvidia").notes[0]
    assert any("Enroll MOK, Continue and Yes" in note for note in key.notes)
    assert key.verify is not None and key.verify.line == "mokutil --test-key /var/lib/dkms/mok.pub"


def test_ubuntu_signs_its_module_so_no_key_is_needed() -> None:
    plan = planned(desk(gpu("ada", driver=None), kernel={"secure_boot": True}))
    assert _KEY not in ids(plan)
    assert any("Ubuntu signs" in note for note in _driver(plan).notes)


def test_without_secure_boot_there_is_no_key() -> None:
    assert _KEY not in ids(planned(desk(gpu("ada", driver=None), os="debian 13")))


def test_where_nobody_knows_of_secure_boot_the_key_is_a_note() -> None:
    plan = planned(desk(gpu("ada", driver=None), os="debian 13", kernel={"secure_boot": u()}))
    assert _KEY not in ids(plan)
    assert any("It is not known whether Secure Boot is on" in note for note in _driver(plan).notes)


def test_a_refused_module_waits_for_its_key() -> None:
    refused = log(event("module-rejected", "Loading of module with unavailable key is rejected", module="nvidia"))
    plan = planned(desk(gpu("ada", driver=None), os="debian 12", kernel={"secure_boot": True, "log": refused}))
    assert states(plan)[_KEY] == "todo" and states(plan)["driver-nvidia"] == "waiting"
    assert ids(plan).index(_KEY) < ids(plan).index("driver-nvidia")


def test_a_module_that_is_built_waits_for_the_restart() -> None:
    built = ("nvidia/580.82.07, 6.12.41+deb13-amd64, x86_64: installed",)
    found = _driver(desk(gpu("ada", driver=None), os="debian 13", kernel={"dkms": built}))
    assert (found.state, found.effective) == ("waiting", "reboot") and built[0] in found.why


# -- what else


def test_a_flavour_that_the_kernel_refused_is_exchanged() -> None:
    refused = log(event("nvidia-gpu-not-supported", "not supported by open nvidia.ko", flavour="open"))
    card = nvidia_gpu(0, name="GTX 1080", compute_capability="6.1", driver=None)
    found = _driver(desk(card, os="debian 13", kernel={"log": refused}))
    assert found.state == "todo" and "do not support this GPU" in found.why
    assert found.verify is not None and found.verify.check == "nvidia-gpu-not-supported"


def test_a_blacklist_is_taken_out_by_hand() -> None:
    found = _driver(desk(gpu("ada", driver=None), kernel={"blacklisted": {"nvidia": "/etc/modprobe.d/x.conf:1"}}))
    assert found.state == "todo" and found.risk == "manual" and any("x.conf" in note for note in found.notes)


def test_servers_keep_their_services() -> None:
    cards = [nvidia_gpu(index, persistence=False, fabric_state="In Progress") for index in range(2)]
    plan = planned(desk(*cards, **_WORKS, kernel={"uptime_s": 86400.0}))
    persistence, fabric = step_of(plan, "nvidia-persistence"), step_of(plan, "nvidia-fabric-manager")
    assert commands(persistence) == ["systemctl enable --now nvidia-persistenced"] and persistence.optional
    assert commands(fabric) == ["systemctl enable --now nvidia-fabricmanager"] and not fabric.optional
    assert any("580.82.07" in note for note in fabric.notes)
    healthy = [nvidia_gpu(index, persistence=True, fabric_state="Completed") for index in range(2)]
    assert not {"nvidia-persistence", "nvidia-fabric-manager"} & set(ids(planned(desk(*healthy, **_WORKS))))


def test_a_gpu_that_torch_does_not_use_needs_no_driver() -> None:
    kepler = nvidia_gpu(0, name="Tesla K80", compute_capability="3.7", driver=None)
    assert _driver(desk(kepler)).optional
    assert _driver(desk(gpu("xtx"), gpu("ada", 1, driver=None), build=torch("2.11.0+rocm7.2"))).optional
    assert not _driver(desk(gpu("ada", driver=None))).optional


def test_a_container_without_the_runtime_is_started_anew() -> None:
    machine = desk(
        gpu("ada"),
        **_WORKS,
        container={"kind": "docker", "rootless": False},
        nodes=(DeviceNode("/dev/nvidiactl", k(False)),),
    )
    plan = planned(machine)
    access = step_of(plan, "device-access-nvidia")
    assert access.state == "todo" and access.risk == "manual"
    assert access.verify is not None and access.verify.check == "container-no-gpu-runtime"
    assert any("--gpus all" in note for note in access.notes)


def test_open_nodes_are_done() -> None:
    nodes = tuple(DeviceNode(path, k(True), k("read-write")) for path in ("/dev/nvidiactl", "/dev/nvidia-uvm"))
    found = step_of(planned(desk(gpu("ada"), **_WORKS, nodes=nodes)), "device-access-nvidia")
    assert found.state == "done" and len(found.evidence) == 2
    assert "device-access-nvidia" not in ids(planned(desk(amd_gpu(), nodes=nodes)))


@pytest.mark.parametrize(
    ("os", "driver", "flavour"),
    [
        ("ubuntu 24.04", "", "cu130"),
        ("rhel 9.6", "", "cu130"),
        ("ubuntu 24.04", "535.261.03", "cu128"),
        ("ubuntu 24.04", "580.82.07", "cu130"),
        ("fedora 42", "", "cu130"),
        ("opensuse-tumbleweed 20261101", "", "cu130"),
        ("gentoo 2.18", "", "cu128"),  # no way to a driver is in the tables
    ],
)
def test_torch_follows_the_driver_that_is_there_or_that_the_plan_installs(os: str, driver: str, flavour: str) -> None:
    card = gpu("ada", driver=None) if not driver else gpu("ada", driver="nvidia")
    drivers = {"nvidia": {"version": k(driver)}} if driver else {}
    step = step_of(planned(desk(card, os=os, drivers=drivers)), "torch")
    assert commands(step)[-1].endswith(f"/{flavour}")
    assert any("which the driver step installs" in note for note in step.notes) == (flavour == "cu130" and not driver)


def test_a_route_tells_the_oldest_driver_that_it_brings() -> None:
    """Debian's own driver is of CUDA 12: a build of CUDA 13 would see no GPU."""
    for system, capability, least in (
        ("debian 13", "7.0", "580"),
        ("debian 13", "8.9", "580"),
        ("debian 13", None, "550"),
        ("rhel 10", "9.0", "580"),
    ):
        route = install.nvidia_driver(whole(system), capability)
        assert isinstance(route, install.DriverRoute) and route.least == least, (system, capability)


def test_what_drives_a_vgpu_comes_from_its_host() -> None:
    lent = nvidia_gpu(0, name="NVIDIA L40S-12C", compute_capability="8.9", driver=None, vgpu=True)
    found = _driver(desk(lent, os="ubuntu 24.04"))
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())
    assert "NVIDIA L40S-12C" in found.why and "guest driver" in found.title


@pytest.mark.parametrize(("hypervisor", "said"), [("kvm", True), (None, False)])
def test_in_a_virtual_machine_a_vgpu_is_thought_of(hypervisor: str | None, said: bool) -> None:
    bare = nvidia_gpu(0, compute_capability="8.9", driver=None)
    found = _driver(desk(bare, os="ubuntu 24.04", container={"virtual_machine": hypervisor}))
    assert found.actions and any("vGPU" in note for note in found.notes) is said
