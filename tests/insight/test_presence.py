from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    capped,
    command_line_block,
    count_words,
    events_of,
    harm,
    is_driven,
    kfd_path,
    module_loaded,
    reason_elsewhere,
    wants,
    worst_harm,
)
from rocdoctor.model.facts import Kernel, RocmInstall, ToolFailure
from tests.kit import amd_gpu, event, k, log, machine, nvidia_gpu, u


def test_counts_are_words_up_to_twelve() -> None:
    assert count_words(1) == "one GPU"
    assert count_words(8) == "eight GPUs"
    assert count_words(16) == "16 GPUs"
    assert count_words(2, "die") == "two dies"


def test_driven_is_unknown_without_the_driver() -> None:
    assert is_driven(amd_gpu()) is True
    assert is_driven(amd_gpu(driver="vfio-pci")) is False
    assert is_driven(amd_gpu(driver=u())) is None


def test_the_compute_path_follows_the_chip_table() -> None:
    assert kfd_path(amd_gpu(pci_id="1002:6818")) is False
    assert kfd_path(amd_gpu()) is True
    assert kfd_path(amd_gpu(pci_id="1002:7550")) is None
    assert kfd_path(nvidia_gpu()) is None


def test_a_line_without_an_address_counts_for_a_lone_gpu_only() -> None:
    kernel = Kernel(log=log(event("psp-load-failed")))
    one, two = amd_gpu(), amd_gpu(1)
    assert len(events_of(machine(one, kernel=kernel), one, "psp-load-failed")) == 1
    assert events_of(machine(one, two, kernel=kernel), one, "psp-load-failed") == ()


def test_a_bound_device_proves_its_module() -> None:
    assert module_loaded(machine(amd_gpu()), "amdgpu") is True
    assert module_loaded(machine(amd_gpu(driver=None)), "amdgpu") is None
    assert (
        module_loaded(machine(kernel=Kernel(modules_complete=True, modules=k(frozenset({"ext4"})))), "amdgpu") is False
    )


def test_words_of_the_command_line_are_compared_whole() -> None:
    def block(line: str, module: str = "amdgpu") -> str | None:
        return command_line_block(machine(kernel=Kernel(cmdline=k(line))), module)

    assert block("quiet modprobe.blacklist=amdgpu") == "modprobe.blacklist=amdgpu"
    assert block("modprobe.blacklist=amdgpu_old") is None
    assert block("initrd=nomodeset.img") is None
    assert block("nomodeset") == "nomodeset"
    assert block("nomodeset", "nvidia") is None


def test_reasons_are_named_in_the_order_of_their_proof() -> None:
    gpu = amd_gpu(driver=None)
    absent = k(frozenset({"ext4"}))
    assert reason_elsewhere(machine(gpu), gpu) is None
    assert (
        reason_elsewhere(machine(gpu, kernel=Kernel(modules_complete=True, modules=absent)), gpu)
        == "driver-module-not-loaded"
    )
    refused = Kernel(modules_complete=True, modules=absent, log=log(event("module-rejected")))
    assert reason_elsewhere(machine(gpu, kernel=refused), gpu) == "secure-boot-refuses-module"


def test_wanting_needs_something_installed_or_run() -> None:
    assert not wants(machine(amd_gpu()), "amd")
    assert wants(machine(amd_gpu(), rocm=(RocmInstall(k("7.0.0"), "/opt/rocm", "classic"),)), "amd")
    assert wants(machine(failures=(ToolFailure("run rocminfo", "it failed"),)), "amd")
    assert not wants(machine(failures=(ToolFailure("run rocminfo", "it failed"),)), "nvidia")


def test_harm_follows_what_is_left_for_training() -> None:
    lone = amd_gpu(driver=None)
    assert harm(machine(lone), lone) == "error"
    assert harm(machine(lone, nvidia_gpu()), lone) == "warning"
    assert harm(machine(lone, laptop=k(True)), lone) == "warning"
    old = amd_gpu(driver=None, pci_id="1002:6818")
    assert worst_harm(machine(old, lone), [old, lone]) == "error"
    assert worst_harm(machine(), []) == "info"
    assert capped("error", "warning") == "warning"
    assert capped("info", "warning") == "info"


def test_libraries_that_a_distribution_brings_along_show_no_wish_to_compute() -> None:
    along = (RocmInstall(k("5.7.1"), "/usr", "distribution"),)
    assert not wants(machine(amd_gpu(), rocm=along), "amd")
    assert wants(machine(amd_gpu(), rocm=(*along, RocmInstall(k("6.4.1"), "/opt/rocm-6.4.1", "classic"))), "amd")


def test_a_list_of_modules_that_may_be_a_part_says_only_what_is_loaded() -> None:
    part = machine(kernel=Kernel(modules=k(frozenset({"ext4", "nvidia"}))))
    assert module_loaded(part, "nvidia") is True
    assert module_loaded(part, "amdgpu") is None


def test_management_chips_and_hosts_of_guests_lose_nothing() -> None:
    console = amd_gpu(pci_id="1002:515e", driver=None, gfx=u())
    assert kfd_path(console) is False
    assert harm(machine(console), console) == "info"
    unbound = nvidia_gpu(driver=None)
    host = Kernel(modules=k(frozenset({"vfio_pci"})))
    assert harm(machine(unbound, kernel=host), unbound) == "info"
    assert harm(machine(unbound), unbound) == "error"
