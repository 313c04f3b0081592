"""What the table of kernel texts recognises. Lines follow the formats of the kernel sources that the table names."""
# Log lines stand whole: a line with its event reads better than one in pieces.
# ruff: noqa: E501

from __future__ import annotations

import re

import pytest

from rocdoctor.knowledge.messages.kernel_log import kernel_signatures
from rocdoctor.parsers.logs import dmesg, log_match
from rocdoctor.parsers.logs.dmesg import KernelEvent
from tests.examples import rows

GPU = "amdgpu 0000:03:00.0: amdgpu: "
SEV = {"fatal", "degraded", "note", "benign"}


def events(text: str) -> tuple[KernelEvent, ...]:
    stamped = "".join(f"[ {n}.000000] {line}\n" for n, line in enumerate(text.strip("\n").split("\n"), 1))
    return dmesg.parse(stamped, kernel_signatures()).events


CASES: list[tuple[str, str, str | None, dict[str, object]]] = [
    # the driver does not start
    (
        "amdgpu: probe of 0000:1b:00.0 failed with error -22",
        "gpu-probe-failed",
        "0000:1b:00.0",
        {"driver": "amdgpu", "error": -22},
    ),
    (
        "amdgpu 0000:1b:00.0: probe with driver amdgpu failed with error -22",
        "gpu-probe-failed",
        "0000:1b:00.0",
        {"driver": "amdgpu", "error": -22},
    ),
    (GPU + "Fatal error during GPU init", "amdgpu-init-failed", "0000:03:00.0", {}),
    (GPU + "get invalid ip discovery binary signature", "amdgpu-discovery-failed", "0000:03:00.0", {}),
    (
        "[drm:amdgpu_device_init [amdgpu]] *ERROR* hw_init of IP block <gfx_v11_0> failed -110",
        "amdgpu-ip-block-failed",
        None,
        {"phase": "hw_init", "ip_block": "gfx_v11_0", "error": -110},
    ),
    (
        "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/navi31_sos.bin failed with error -2",
        "gpu-firmware-missing",
        "0000:03:00.0",
        {"driver": "amdgpu", "firmware": "amdgpu/navi31_sos.bin", "error": -2},
    ),
    (
        GPU + 'psp v11.0: Failed to load firmware "amdgpu/navi10_sos.bin"',
        "gpu-firmware-missing",
        "0000:03:00.0",
        {"firmware": "amdgpu/navi10_sos.bin"},
    ),
    (
        GPU + "socket: 2, aid: 1, fw_status: 0xE6985B2D, firmware load failed at boot time",
        "amdgpu-firmware-boot-failed",
        "0000:03:00.0",
        {"socket": 2, "aid": 1, "fw_status": "0xe6985b2d"},
    ),
    (
        "amdgpu: unknown parameter 'gtt_size' ignored",
        "module-parameter-unknown",
        None,
        {"module": "amdgpu", "parameter": "gtt_size"},
    ),
    # the compute driver
    (
        "kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 494<509",
        "kfd-pci-atomics-missing",
        None,
        {"pci_id": "1002:744c", "firmware_version": 494, "needed_version": 509},
    ),
    (
        "kfd kfd: skipped device 1002:67df, PCI rejects atomics",
        "kfd-pci-atomics-missing",
        None,
        {"pci_id": "1002:67df"},
    ),
    ("kfd kfd: amdgpu: PITCAIRN  not supported in kfd", "kfd-not-supported", None, {"asic": "PITCAIRN"}),
    ("kfd kfd: amdgpu: added device 1002:1586", "kfd-device-added", None, {"pci_id": "1002:1586"}),
    ("kfd kfd: amdgpu: Total number of KFD nodes to be created: 4", "kfd-node-count", None, {"nodes": 4}),
    # facts
    ("[drm] amdgpu version: 6.10.5", "driver-version", None, {"driver": "amdgpu", "version": "6.10.5"}),
    (
        "[drm] Initialized amdgpu 3.64.0 for 0000:c6:00.0 on minor 0",
        "driver-version",
        "0000:c6:00.0",
        {"driver": "amdgpu", "drm_version": "3.64.0", "minor": 0},
    ),
    (
        "[drm] Initialized amdgpu 3.25.0 20150101 for 0000:07:00.0 on minor 1",
        "driver-version",
        "0000:07:00.0",
        {"driver": "amdgpu", "drm_version": "3.25.0", "minor": 1},
    ),
    (
        "[drm] initializing kernel modesetting (NAVI21 0x1002:0x73BF 0x1DA2:0xE438 0xC3).",
        "gpu-initialising",
        None,
        {"asic": "NAVI21", "pci_id": "1002:73bf", "subsystem_id": "1da2:e438", "revision": "C3"},
    ),
    (
        GPU + "VRAM: 1024M 0x0000008000000000 - 0x000000803FFFFFFF (512M used)",
        "vram-size",
        "0000:03:00.0",
        {"vram_bytes": 1 << 30, "used_bytes": 1 << 29, "start": "0x0000008000000000", "end": "0x000000803fffffff"},
    ),
    ("[drm] Detected VRAM RAM=8176M, BAR=256M", "vram-bar", None, {"vram_bytes": 8176 << 20, "bar_bytes": 256 << 20}),
    (
        GPU + "[drm] GTT size has been set as 128849018880 but TTM size has been set as 66818834432, this is unusual",
        "gtt-ttm-mismatch",
        "0000:03:00.0",
        {"gtt_bytes": 128849018880, "ttm_bytes": 66818834432},
    ),
    (
        GPU + "SE 2, SH per SE 2, CU per SH 10, active_cu_number 40",
        "gpu-cu-count",
        "0000:03:00.0",
        {"shader_engines": 2, "shader_arrays_per_engine": 2, "cu_per_array": 10, "compute_units": 40},
    ),
    ("amdgpu: ATOM BIOS: 113-STRXLGEN-001", "vbios", None, {"vbios": "113-STRXLGEN-001"}),
    # RAS
    (
        GPU + "12 uncorrectable hardware errors detected in umc block",
        "ras-uncorrectable",
        "0000:03:00.0",
        {"new_count": 12, "block": "umc"},
    ),
    (
        GPU + "{3}socket: 0, die: 1, 2 new uncorrectable hardware errors detected in gfx block",
        "ras-uncorrectable",
        "0000:03:00.0",
        {"ras_event": 3, "socket": 0, "die": 1, "new_count": 2, "block": "gfx"},
    ),
    (
        GPU + "socket: 6, die: 1, 1533 new correctable hardware errors detected in xgmi_wafl block",
        "ras-correctable",
        "0000:03:00.0",
        {"socket": 6, "die": 1, "new_count": 1533, "block": "xgmi_wafl"},
    ),
    (
        GPU + "3 correctable hardware errors detected in umc block, no user action is needed.",
        "ras-correctable",
        "0000:03:00.0",
        {"new_count": 3, "block": "umc"},
    ),
    (
        "amdgpu 0000:dd:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        "ras-uncorrectable",
        "0000:dd:00.0",
        {"ras_event": 1, "source": "ERREVENT_ATHUB_INTERRUPT"},
    ),
    (
        GPU + "RAS records:131 exceed threshold:128",
        "ras-bad-page-threshold",
        "0000:03:00.0",
        {"bad_pages": 131, "threshold": 128},
    ),
    (
        GPU + "RAS records:120 exceeds 90% of threshold:128",
        "ras-bad-page-near-threshold",
        "0000:03:00.0",
        {"bad_pages": 120, "threshold": 128},
    ),
    ("[drm] Found existing EEPROM table with 12 records", "ras-bad-pages-recorded", None, {"bad_pages": 12}),
    (
        GPU + "GPU reset for umc RAS poison consumption is issued!",
        "ras-poison-consumed",
        "0000:03:00.0",
        {"block": "umc"},
    ),
    # hangs and resets
    (GPU + "GPU reset begin!. Source:  1", "gpu-reset-begin", "0000:03:00.0", {}),
    (GPU + "GPU reset(4) succeeded!", "gpu-reset-succeeded", "0000:03:00.0", {"reset_number": 4}),
    (GPU + "GPU reset(4) failed", "gpu-reset-failed", "0000:03:00.0", {"reset_number": 4}),
    (GPU + "GPU reset end with ret = -19", "gpu-reset-failed", "0000:03:00.0", {"error": -19}),
    (GPU + "GPU reset end with ret = 0", "gpu-reset-succeeded", "0000:03:00.0", {"error": 0}),
    (GPU + "BACO reset", "gpu-reset-method", "0000:03:00.0", {"method": "baco"}),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=91, emitted seq=93",
        "gpu-ring-timeout",
        None,
        {"ring": "gfx_0.0.0", "signaled_seq": 91, "emitted_seq": 93},
    ),
    (GPU + "ring sdma0 timeout, but soft recovered", "gpu-ring-soft-recovered", "0000:03:00.0", {"ring": "sdma0"}),
    (GPU + "Ring gfx_0.0.0 reset failed", "gpu-ring-reset", "0000:03:00.0", {"ring": "gfx_0.0.0"}),
    (
        "amdgpu 0000:03:00.0: [drm] device wedged, but recovered through reset",
        "gpu-wedged",
        "0000:03:00.0",
        {"outcome": "but recovered through reset"},
    ),
    (
        GPU + "The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
        "kfd-queue-preemption-failed",
        "0000:03:00.0",
        {},
    ),
    ("amdgpu: Failed to evict process queues", "kfd-evict-restore-failed", None, {"action": "evict"}),
    (
        GPU + "MES(0) failed to respond to msg=MISC (WAIT_REG_MEM)",
        "mes-no-response",
        "0000:03:00.0",
        {"message": "MISC"},
    ),
    (GPU + "device lost from bus!", "gpu-lost", "0000:03:00.0", {}),
    # power management
    (
        GPU + "SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012 SMN_C2PMSG_82:0x00000005",
        "smu-no-response",
        "0000:03:00.0",
        {"message": "0x00000012", "parameter": "0x00000005"},
    ),
    (GPU + "SMU driver if version not matched", "smu-version-mismatch", "0000:03:00.0", {}),
    (GPU + "ERROR: GPU over temperature range(SW CTF) detected!", "gpu-over-temperature", "0000:03:00.0", {}),
    (
        GPU + "WARN: GPU thermal throttling temperature reached, expect performance decrease. HBM.",
        "gpu-thermal-throttling",
        "0000:03:00.0",
        {"reason": "HBM"},
    ),
    (GPU + "RAS: optional ras ta ucode is not available", "psp-optional-ta-missing", "0000:03:00.0", {"ta": "RAS"}),
    ("amdgpu 0000:c6:00.0: [drm] Cannot find any crtc or sizes", "no-display", "0000:c6:00.0", {}),
    # PCIe
    (
        "pci 0000:01:00.0: 4.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
        "pcie-bandwidth-limited",
        "0000:01:00.0",
        {
            "available_gbit_s": 4.0,
            "speed_gt_s": 5.0,
            "width": 1,
            "limit_bdf": "0000:00:00.0",
            "capable_gbit_s": 252.048,
            "capable_speed_gt_s": 16.0,
            "capable_width": 16,
        },
    ),
    (
        "pci 0000:01:00.0: 63.008 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x8 link)",
        "pcie-bandwidth",
        "0000:01:00.0",
        {"available_gbit_s": 63.008, "speed_gt_s": 8.0, "width": 8},
    ),
    (
        "pcieport 0000:00:01.1: AER: Multiple Corrected error received: 0000:01:00.0",
        "pcie-aer-report",
        "0000:00:01.1",
        {"multiple": "Multiple", "severity": "Corrected", "source_bdf": "0000:01:00.0"},
    ),
    (
        "pcieport 0000:00:01.1: AER: Uncorrectable (Fatal) error message received from 0000:01:00.0",
        "pcie-aer-report",
        "0000:00:01.1",
        {"severity": "Uncorrectable (Fatal)", "source_bdf": "0000:01:00.0"},
    ),
    (
        "amdgpu 0000:03:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        "pcie-aer-nonfatal",
        "0000:03:00.0",
        {"type": "Transaction Layer", "agent": "Requester ID"},
    ),
    (
        "amdgpu 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)",
        "pcie-aer-fatal",
        "0000:03:00.0",
        {"type": "Data Link Layer", "agent": "Receiver ID"},
    ),
    (
        "pcieport 0000:00:01.1: DPC: containment event, status:0x1f01 source:0x0000",
        "pcie-dpc-containment",
        "0000:00:01.1",
        {"status": "0x1f01", "source": "0x0000"},
    ),
    ("pcieport 0000:00:01.1: pciehp: Slot(7): Link Down", "pcie-slot-link-down", "0000:00:01.1", {"slot": "7"}),
    (
        "pci 0000:03:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space",
        "pci-bar-unassigned",
        "0000:03:00.0",
        {"bar": 0, "region": "mem", "size": "0x400000000"},
    ),
    (
        "pci 0000:03:00.0: BAR 2: no space for [mem size 0x10000000 64bit pref]",
        "pci-bar-unassigned",
        "0000:03:00.0",
        {"bar": 2, "region2": "mem", "size2": "0x10000000"},
    ),
    (
        "amdgpu 0000:03:00.0: Unable to change power state from D3cold to D0, device inaccessible",
        "pci-device-inaccessible",
        "0000:03:00.0",
        {},
    ),
    # IOMMU
    (
        "iommu: Default domain type: Translated (set via kernel command line)",
        "iommu-domain-type",
        None,
        {"domain_type": "Translated", "from_command_line": "(set via kernel command line)"},
    ),
    ("iommu: Default domain type: Passthrough", "iommu-domain-type", None, {"domain_type": "Passthrough"}),
    (
        "amdgpu 0000:03:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000c address=0x7fff0000 flags=0x0020]",
        "iommu-fault",
        "0000:03:00.0",
        {"domain": "0x000c", "address": "0x7fff0000", "flags": "0x0020"},
    ),
    (
        "DMAR: [DMA Read NO_PASID] Request device [03:00.0] fault addr 0x7fff0000 [fault reason 0x06] PTE Read access is not set",
        "iommu-fault",
        "0000:03:00.0",
        {
            "direction": "DMA Read",
            "address": "0x7fff0000",
            "reason_code": "0x06",
            "reason": "PTE Read access is not set",
        },
    ),
    # NVIDIA
    (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "nvidia-xid",
        "0000:3b:00.0",
        {"xid": 79, "pid": "<unknown>", "process": "<unknown>", "detail": "GPU has fallen off the bus."},
    ),
    (
        "NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, pid=7194, name=python, Contained: CE User Channel",
        "nvidia-xid",
        "0000:3b:00.0",
        {"gpu_instance": 5, "xid": 94, "pid": "7194", "process": "python", "detail": "Contained: CE User Channel"},
    ),
    (
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x65:1239)",
        "nvidia-init-failed",
        "0000:01:00.0",
        {"code": "0x26:0x65:1239"},
    ),
    (
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "nvswitch-sxid-fatal",
        "0000:c1:00.0",
        {"switch": 3, "sxid": 20034, "link": 30, "detail": "LTSSM Fault Up"},
    ),
    (
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
        "nvswitch-sxid",
        "0000:c1:00.0",
        {"switch": 3, "sxid": 12028, "link": 32, "detail": "egress non-posted PRIV error"},
    ),
    ("nouveau 0000:01:00.0: NVIDIA GP104 (134000a1)", "nouveau-bound", "0000:01:00.0", {"chipset": "GP104"}),
    (
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  565.57.01  Thu Oct 10 12:29:05 UTC 2024",
        "driver-load",
        None,
        {"driver": "nvidia", "version": "565.57.01"},
    ),
    (
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.163.01  Release Build",
        "driver-load",
        None,
        {"driver": "nvidia", "version": "550.163.01"},
    ),
    # modules
    (
        "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
        "module-rejected",
        None,
        {"process": "modprobe"},
    ),
    (
        "Loading of module with unavailable key is rejected",
        "module-rejected",
        None,
        {"reason": "module with unavailable key"},
    ),
    (
        "amdgpu: disagrees about version of symbol drm_sched_init",
        "module-symbol-mismatch",
        None,
        {"module": "amdgpu", "symbol": "drm_sched_init"},
    ),
    (
        "nvidia: version magic '6.8.0-49-generic SMP' should be '6.8.0-50-generic SMP'",
        "module-symbol-mismatch",
        None,
        {"module": "nvidia", "built_for": "6.8.0-49-generic SMP", "kernel": "6.8.0-50-generic SMP"},
    ),
    (
        "amdgpu: module verification failed: signature and/or required key missing - tainting kernel",
        "module-unsigned",
        None,
        {"module": "amdgpu"},
    ),
    # memory, processes
    (
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0",
        "edac-corrected",
        None,
        {"controller": 0, "count": 1, "detail": "memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0"},
    ),
    (
        "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: bea0000000000108",
        "machine-check",
        None,
        {"cpu": 12, "mcg_status": "0", "bank": 5, "status": "bea0000000000108"},
    ),
    (
        "INFO: task python3:4242 blocked for more than 122 seconds.",
        "hung-task",
        None,
        {"process": "python3", "pid": 4242, "seconds": 122},
    ),
    (
        "watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [kworker/17:1:812]",
        "cpu-lockup",
        None,
        {"cpu": 17, "seconds": 22, "process": "kworker/17:1", "pid": 812},
    ),
    (
        "BUG: unable to handle page fault for address: ffffffffc0de0000",
        "kernel-bug",
        None,
        {"what": "page fault", "address": "ffffffffc0de0000"},
    ),
    (
        "traps: python3[4242] trap invalid opcode ip:7f00 sp:7ffc error:0 in libtorch_cpu.so[7f00+1000]",
        "process-invalid-opcode",
        None,
        {"process": "python3", "pid": 4242, "ip": "7f00", "library": "libtorch_cpu.so"},
    ),
    # network
    ("mlx5_core 0000:9e:00.0 ens1np0: Link down", "network-link-down", "0000:9e:00.0", {"interface": "ens1np0"}),
    ("ice 0000:31:00.0 eno1: NIC Link is Down", "network-link-down", "0000:31:00.0", {"interface": "eno1"}),
    ("IPv6: ADDRCONF(NETDEV_CHANGE): ib0: link becomes ready", "network-link-up", None, {"interface": "ib0"}),
    (
        "mlx5_core 0000:9e:00.0: Port module event[error]: module 0, Cable error, High Temperature",
        "mlx5-module-error",
        "0000:9e:00.0",
        {"module": 0, "status": "Cable error", "error": "High Temperature"},
    ),
    ("No NUMA configuration found", "numa-none", None, {}),
]


@rows(("line", "kind", "bdf", "values"), CASES)
def test_each_text_gives_its_kind_device_and_values(
    line: str, kind: str, bdf: str | None, values: dict[str, object]
) -> None:
    (event,) = events(line)
    assert (event.kind, event.bdf) == (kind, bdf)
    assert event.values == values


@pytest.mark.parametrize(
    "line",
    [
        "iwlwifi 0000:02:00.0: Direct firmware load for iwlwifi-ty-a0-gf-a0-89.ucode failed with error -2",
        "snd_hda_intel: probe of 0000:03:00.1 failed with error -110",
        "amdgpu 0000:03:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "[drm] Found existing EEPROM table with 0 records",
        "pcieport 0000:00:01.1: pciehp: Slot(7): Link Down/Up ignored (recovered by DPC)",
        "EDAC MC0: Giving out device to module skx_edac",
        "Booting paravirtualized kernel on bare hardware",
        "pcieport 0000:00:01.1:    [ 0] RxErr                  (First)",
    ],
)
def test_lookalikes_are_no_events(line: str) -> None:
    assert events(line) == ()


def test_the_lines_of_a_page_fault_are_one_event() -> None:
    (event,) = events(
        f"""{GPU}[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32771)
{GPU} for process python3 pid 4242 thread python3 pid 4243)
{GPU}  in page starting at address 0x00007f3a12345000 from IH client 0x1b (UTCL2)
{GPU}VM_L2_PROTECTION_FAULT_STATUS:0x00801031
{GPU}\t Faulty UTCL2 client ID: TCP (0x8)
{GPU}\t MORE_FAULTS: 0x1
{GPU}\t WALKER_ERROR: 0x0
{GPU}\t PERMISSION_FAULTS: 0x3
{GPU}\t MAPPING_ERROR: 0x0"""
    )
    assert (event.kind, event.bdf, event.line) == ("gpu-page-fault", "0000:03:00.0", 1)
    assert event.values == {
        "hub": "gfxhub0",
        "retry": "no-retry",
        "src_id": 0,
        "ring": 24,
        "vmid": 8,
        "pasid": 32771,
        "process": "python3",
        "pid": 4242,
        "thread": "python3",
        "tid": 4243,
        "address": "0x00007f3a12345000",
        "client": "0x1b",
        "client_name": "UTCL2",
        "status": "0x00801031",
        "utcl2_client": "TCP",
        "more_faults": "0x1",
        "walker_error": "0x0",
        "permission_faults": "0x3",
        "mapping_error": "0x0",
    }


def test_the_old_wording_of_a_page_fault_names_the_process_too() -> None:
    (event,) = events(
        GPU + "[gfxhub0] retry page fault (src_id:0 ring:0 vmid:8 pasid:32769, "
        "for process my job pid 7 thread my job pid 9)"
    )
    assert (event.values["process"], event.values["pid"], event.values["tid"]) == ("my job", 7, 9)


def test_faults_of_two_gpus_that_mix_stay_apart() -> None:
    first, second = "amdgpu 0000:03:00.0: amdgpu: ", "amdgpu 0000:43:00.0: amdgpu: "
    found = events(
        f"{first}[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:1)\n"
        f"{second}[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:2)\n"
        f"{first}  in page starting at address 0x0000000000001000 from client 0x1b (UTCL2)\n"
        f"{second}  in page starting at address 0x0000000000002000 from client 0x1b (UTCL2)"
    )
    assert [(event.bdf, event.values["address"]) for event in found] == [
        ("0000:03:00.0", "0x0000000000001000"),
        ("0000:43:00.0", "0x0000000000002000"),
    ]


def test_aer_details_belong_to_the_error_before_them() -> None:
    report, error = events(
        """pcieport 0000:00:01.1: AER: Corrected error message received from 0000:00:01.1
pcieport 0000:00:01.1: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
pcieport 0000:00:01.1:   device [1022:1483] error status/mask=00000001/00006000
pcieport 0000:00:01.1:    [ 0] RxErr                  (First)"""
    )
    assert report.kind == "pcie-aer-report"
    assert error.kind == "pcie-aer-corrected"
    assert error.values == {
        "type": "Physical Layer",
        "agent": "Receiver ID",
        "pci_id": "1022:1483",
        "status": "00000001",
        "mask": "00006000",
        "bit": 0,
        "error": "RxErr",
    }


def test_total_counts_join_the_new_ones_and_registers_their_entry() -> None:
    count, entry = events(
        f"""{GPU}{{1}}socket: 6, die: 1, 15 new correctable hardware errors detected in xgmi_wafl block
{GPU}{{1}}socket: 6, die: 1, 1533 correctable hardware errors detected in total in xgmi_wafl block
{GPU}{{1}}[Hardware Error]: aca entry[00].STATUS=0xd820000000060150
{GPU}{{1}}[Hardware Error]: aca entry[00].SYND=0x009c732d4a000000"""
    )
    assert (count.values["new_count"], count.values["total_count"]) == (15, 1533)
    assert (entry.values["status"], entry.values["synd"]) == ("0xd820000000060150", "0x009c732d4a000000")


def test_an_oom_kill_in_a_container_tells_its_group() -> None:
    invoked, kill = events(
        """python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job,mems_allowed=0-1,oom_memcg=/job_7,task_memcg=/job_7/a,task=python,pid=4242,uid=1000
Memory cgroup out of memory: Killed process 4242 (python) total-vm:2048kB, anon-rss:1024kB, file-rss:0kB"""
    )
    assert invoked.kind == "oom-killer-invoked"
    assert kill.values == {
        "constraint": "CONSTRAINT_MEMCG",
        "memcg": "/job_7",
        "process": "python",
        "pid": 4242,
        "uid": 1000,
        "scope": "cgroup",
        "total_vm_bytes": 2048 * 1024,
        "anon_rss_bytes": 1024 * 1024,
    }


def test_two_line_messages_of_the_nvidia_driver() -> None:
    (mismatch,) = events(
        """NVRM: API mismatch: the client has the version 550.163.01, but
NVRM: this kernel module has the version 535.261.03.  Please"""
    )
    assert mismatch.values == {"client_version": "550.163.01", "module_version": "535.261.03"}
    _, unsupported = events(
        """NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:0fc1)
NVRM: installed in this system is not supported by open"""
    )
    assert (unsupported.kind, unsupported.bdf) == ("nvidia-gpu-not-supported", "0000:01:00.0")
    assert unsupported.values == {"pci_id": "10de:0fc1", "flavour": "open"}


def test_every_entry_of_the_table_is_usable() -> None:
    known = kernel_signatures()
    kinds = [signature.kind for signature in known.signatures]
    assert len(kinds) == len(set(kinds))
    indexed = {id(wording) for entries in known.index.values() for _, _, wording, _ in entries}
    for signature in known.signatures:
        assert signature.severity in SEV, signature.kind
        assert {severity for severity, _ in signature.codes.values()} <= SEV
        assert signature.means.endswith(".")
        for wording in signature.wordings:
            assert wording.source
            assert id(wording) in indexed, wording.find
            assert set(wording.join) <= set(kinds)
            if wording.match:
                assert log_match.compiled(wording.match).pattern != "(?!)", wording.match
                # A repeated group inside a repeated group makes matching slow on hostile lines.
                assert not re.search(r"[+*}]\)[+*{]", wording.match), wording.match


@pytest.mark.parametrize(
    ("line", "kind", "values"),
    [
        (
            "mce: CPU3: Package temperature is above threshold, cpu clock is throttled (total events = 41)",
            "cpu-thermal-throttling",
            {"cpu": 3, "scope": "Package", "events": 41},
        ),
        (
            "amdgpu 0000:03:00.0: not ready 65535ms after bus reset; giving up",
            "pci-device-inaccessible",
            {"after": "bus reset"},
        ),
        (
            "NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please",
            "nvidia-gpu-not-supported",
            {"legacy_branch": "470"},
        ),
        (
            "amdgpu 0000:03:00.0: Runlist is getting oversubscribed due to too many processes. Expect reduced ROCm performance.",
            "kfd-oversubscribed",
            {"reason": "too many processes"},
        ),
        (
            "WARNING: drivers/gpu/drm/drm_mm.c:1000 at drm_mm_takedown+0x23/0x30, CPU#5: kworker/7",
            "kernel-warning",
            {"cpu": 5},
        ),
        (
            "coredump: 812(python3): over core_pipe_limit, skipping core dump",
            "process-core-dumped",
            {"pid": 812, "process": "python3"},
        ),
        (
            "mlx5_core 0000:01:00.0 ens1: NETDEV WATCHDOG: CPU: 4: transmit queue 7 timed out 5120 ms",
            "network-tx-timeout",
            {"interface": "ens1", "queue": 7},
        ),
    ],
)
def test_wordings_of_newer_releases(line: str, kind: str, values: dict[str, object]) -> None:
    (found,) = events(line)
    assert found.kind == kind
    assert values.items() <= dict(found.values).items(), found.values
