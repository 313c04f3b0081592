"""NVIDIA GPUs: the PCI device, the driver's own files, nvidia-smi."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from tests.machines import pcie
from tests.machines.files import Files, Node, Program
from tests.machines.pcie import Link, Slot
from tests.machines.python import Device
from tests.machines.system import modules


@dataclass(frozen=True, slots=True)
class Card:
    """One model as nvidia-smi describes it; ``fan`` is -1 for cards without one, ``ecc`` None where there is none."""

    name: str
    device: str
    subsystem: str
    architecture: str
    capability: tuple[int, int]
    memory_mib: int
    units: int
    link: Link
    limit_w: tuple[float, float, float]  # now, limit, the most that may be set
    heat_c: tuple[int, int, int]  # now, slowdown, shutdown
    clock_mhz: int
    vbios: str
    fan: int = 0
    ecc: bool | None = None
    mig: bool = False
    nvlinks: int = 0
    pci_class: str = "30000"
    bar_mib: int = 256


H100 = Card(
    "NVIDIA H100 80GB HBM3",
    "2330",
    "10DE:16C1",
    "Hopper",
    (9, 0),
    81559,
    132,
    ("32.0", 16),
    (68.4, 700.0, 700.0),
    (27, 89, 92),
    1980,
    "96.00.A5.00.01",
    -1,
    True,
    True,
    18,
    "30200",
    131072,
)
RTX_4090 = Card(
    "NVIDIA GeForce RTX 4090",
    "2684",
    "1043:889A",
    "Ada Lovelace",
    (8, 9),
    24564,
    128,
    ("16.0", 16),
    (14.2, 450.0, 600.0),
    (31, 97, 100),
    3105,
    "95.02.3C.40.74",
    0,
    bar_mib=32768,
)
A10G = Card(
    "NVIDIA A10G",
    "2237",
    "10DE:152F",
    "Ampere",
    (8, 6),
    23028,
    80,
    ("16.0", 16),
    (17.3, 300.0, 300.0),
    (24, 95, 98),
    1710,
    "94.02.75.00.3A",
    0,
    True,
    pci_class="30200",
    bar_mib=32768,
)
GTX_1660_TI_LAPTOP = Card(
    "NVIDIA GeForce GTX 1660 Ti",
    "2191",
    "1043:1F8D",
    "Turing",
    (7, 5),
    6144,
    24,
    ("8.0", 16),
    (6.1, 80.0, 80.0),
    (43, 94, 97),
    2100,
    "90.16.27.40.0D",
    -1,
)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card in a slot; ``gen`` is the present PCIe generation (idle cards fall back)."""

    card: Card
    slot: Slot
    gen: int
    lanes: int = 16
    persistence: bool = True
    display: bool = False
    virtual: bool = False

    @property
    def uuid(self) -> str:
        text = sha256(f"{self.card.device} {self.slot.bdf}".encode()).hexdigest()
        return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0"}


def put_gpus(files: Files, gpus: list[Gpu], driver: str, cuda: str, first_card: int = 0) -> None:
    """All GPUs with the files of the driver, device nodes and the outputs of nvidia-smi."""
    modules(files, "nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm")
    files.put("/sys/module/nvidia/version", driver)
    files.put(
        "/proc/driver/nvidia/version",
        (
            f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build  (dvs-builder@U22)\n"
            "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)"
        ),
    )
    files.put("/proc/driver/nvidia/params", 'ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nRegistryDwords: ""')
    files.put("/sys/module/nvidia_drm/parameters/modeset", "Y")
    for path, major_minor in (("/dev/nvidiactl", "195:255"), ("/dev/nvidia-uvm", "511:0")):
        files.node(path, Node("0666", 0, major_minor))
    for number, gpu in enumerate(gpus):
        card = gpu.card
        folder = pcie.device(files, gpu.slot, card.pci_class, f"10DE:{card.device}", card.subsystem, "nvidia", "A1")
        pcie.links(files, folder, (_SPEEDS[gpu.gen], gpu.lanes), card.link)
        pcie.aer(files, folder)
        pcie.resource(files, folder, (16 << 20, card.bar_mib << 20, 32 << 20))
        files.node(f"/dev/nvidia{number}", Node("0666", 0, f"195:{number}"))
        files.put(f"/proc/driver/nvidia/gpus/{gpu.slot.bdf}/information", f"Model: \t\t {card.name}")
        name = f"card{first_card + number}"
        minor = 128 + first_card + number
        for entry, device_minor in ((name, first_card + number), (f"renderD{minor}", minor)):
            files.put(f"{folder}/drm/{entry}/dev", f"226:{device_minor}")
            files.link(f"{folder}/drm/{entry}/device", folder)
            files.link(f"/sys/class/drm/{entry}", f"{folder}/drm/{entry}")
        files.node(f"/dev/dri/renderD{minor}", Node("0660", 992, f"226:{minor}"))
    files.programs["run nvidia-smi -q -x"] = Program(_xml(gpus, driver, cuda))
    files.programs["run nvidia-smi nvlink --status"] = Program(_nvlinks(gpus))
    files.programs["run nvidia-smi topo -m"] = Program(_topology(gpus))


def devices(gpus: list[Gpu]) -> list[Device]:
    """The devices that torch shows."""
    return [
        Device(
            one.card.name,
            one.card.name,
            (one.card.memory_mib - 400) << 20,
            one.card.units,
            one.slot.bdf,
            one.card.capability,
        )
        for one in gpus
    ]


def _xml(gpus: list[Gpu], driver: str, cuda: str) -> str:
    head = [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">',
        "<nvidia_smi_log>",
        "\t<timestamp>Tue Sep  2 10:14:07 2025</timestamp>",
        f"\t<driver_version>{driver}</driver_version>",
        f"\t<cuda_version>{cuda}</cuda_version>",
        f"\t<attached_gpus>{len(gpus)}</attached_gpus>",
    ]
    body = [line for number, gpu in enumerate(gpus) for line in _gpu_xml(gpu, number, driver)]
    return "\n".join([*head, *body, "</nvidia_smi_log>"])


def _gpu_xml(gpu: Gpu, number: int, driver: str) -> list[str]:
    card, bdf = gpu.card, gpu.slot.bdf
    domain, bus, rest = bdf.split(":")
    dev = rest.split(".")[0]
    maker, board = card.subsystem.split(":")
    ecc = "N/A" if card.ecc is None else "Enabled" if card.ecc else "Disabled"
    zero = "N/A" if card.ecc is None else "0"
    mig = "Disabled" if card.mig else "N/A"
    best = next(gen for gen, speed in _SPEEDS.items() if speed == card.link[0])
    now_w, limit_w, most_w = card.limit_w
    counts = {
        "sram_correctable": zero,
        "sram_uncorrectable_parity": zero,
        "sram_uncorrectable_secded": zero,
        "dram_correctable": zero,
        "dram_uncorrectable": zero,
    }
    inactive = (
        "applications_clocks_setting",
        "sw_power_cap",
        "hw_slowdown",
        "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
        "sync_boost",
        "sw_thermal_slowdown",
        "display_clocks_setting",
    )
    reasons = {"clocks_event_reason_gpu_idle": "Active"} | {
        f"clocks_event_reason_{reason}": "Not Active" for reason in inactive
    }
    tree: dict[str, object] = {
        "product_name": card.name,
        "product_brand": "GeForce" if "GeForce" in card.name else "NVIDIA",
        "product_architecture": card.architecture,
        "display_active": "Enabled" if gpu.display else "Disabled",
        "persistence_mode": "Enabled" if gpu.persistence else "Disabled",
        "mig_mode": {"current_mig": mig, "pending_mig": mig},
        "mig_devices": "None",
        "serial": "N/A",
        "uuid": gpu.uuid,
        "minor_number": number,
        "vbios_version": card.vbios,
        "multigpu_board": "No",
        "board_id": f"0x{int(bus, 16) << 8:x}",
        "gpu_virtualization_mode": {"virtualization_mode": "Pass-Through" if gpu.virtual else "None"},
        "gpu_reset_status": {"reset_required": "No", "drain_and_reset_recommended": "No"},
        "gpu_recovery_action": "None",
        "gsp_firmware_version": driver,
        "pci": {
            "pci_bus": bus.upper(),
            "pci_device": dev.upper(),
            "pci_domain": domain,
            "pci_device_id": f"{card.device}10DE",
            "pci_bus_id": f"0000{bdf.upper()}",
            "pci_sub_system_id": f"{board}{maker}",
            "pci_gpu_link_info": {
                "pcie_gen": {
                    "max_link_gen": best,
                    "current_link_gen": gpu.gen,
                    "device_current_link_gen": gpu.gen,
                    "max_device_link_gen": best,
                    "max_host_link_gen": best,
                },
                "link_widths": {"max_link_width": f"{card.link[1]}x", "current_link_width": f"{gpu.lanes}x"},
            },
            "replay_counter": 0,
            "replay_rollover_counter": 0,
        },
        "fan_speed": "N/A" if card.fan < 0 else f"{card.fan} %",
        "performance_state": "P0" if card.fan < 0 else "P8",
        "clocks_event_reasons": reasons,
        "fb_memory_usage": {
            "total": f"{card.memory_mib} MiB",
            "reserved": "434 MiB",
            "used": f"{312 if gpu.display else 1} MiB",
            "free": f"{card.memory_mib - 435 - (311 if gpu.display else 0)} MiB",
        },
        "bar1_memory_usage": {"total": f"{card.bar_mib} MiB", "used": "1 MiB", "free": f"{card.bar_mib - 1} MiB"},
        "compute_mode": "Default",
        "utilization": {"gpu_util": "0 %", "memory_util": "0 %"},
        "ecc_mode": {"current_ecc": ecc, "pending_ecc": ecc},
        "ecc_errors": {
            "volatile": counts,
            "aggregate": {**counts, "sram_threshold_exceeded": "N/A" if zero != "0" else "No"},
        },
        "retired_pages": {
            "multiple_single_bit_retirement": {"retired_count": "N/A"},
            "double_bit_retirement": {"retired_count": "N/A"},
            "pending_retirement": "N/A",
        },
    }
    if card.ecc is not None:
        tree["remapped_rows"] = {
            "remapped_row_corr": 0,
            "remapped_row_unc": 0,
            "remapped_row_pending": "No",
            "remapped_row_failure": "No",
        }
    tree |= {
        "temperature": {
            "gpu_temp": f"{card.heat_c[0] + number % 3} C",
            "gpu_temp_max_threshold": f"{card.heat_c[2]} C",
            "gpu_temp_slow_threshold": f"{card.heat_c[1]} C",
        },
        "gpu_power_readings": {
            "power_state": "P0",
            "power_draw": f"{now_w:.2f} W",
            "current_power_limit": f"{limit_w:.2f} W",
            "requested_power_limit": f"{limit_w:.2f} W",
            "default_power_limit": f"{limit_w:.2f} W",
            "min_power_limit": f"{limit_w / 3:.2f} W",
            "max_power_limit": f"{most_w:.2f} W",
        },
        "clocks": {"graphics_clock": "345 MHz", "sm_clock": "345 MHz", "mem_clock": "405 MHz"},
        "max_clocks": {"graphics_clock": f"{card.clock_mhz} MHz", "sm_clock": f"{card.clock_mhz} MHz"},
    }
    if card.nvlinks:
        tree["fabric"] = {"state": "Completed", "status": "Success"}
    tree["processes"] = ""
    return [f'\t<gpu id="0000{bdf.upper()}">', *_elements(tree, 2), "\t</gpu>"]


def _elements(tree: dict[str, object], depth: int) -> list[str]:
    tabs = "\t" * depth
    lines: list[str] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{tabs}<{name}>", *_elements(value, depth + 1), f"{tabs}</{name}>"]
        else:
            lines.append(f"{tabs}<{name}>{value}</{name}>")
    return lines


def _nvlinks(gpus: list[Gpu]) -> str:
    lines: list[str] = []
    for number, gpu in enumerate(gpus):
        if gpu.card.nvlinks:
            lines.append(f"GPU {number}: {gpu.card.name} (UUID: {gpu.uuid})")
            lines += [f"\t Link {link}: 26.562 GB/s" for link in range(gpu.card.nvlinks)]
    return "\n".join(lines)


def _topology(gpus: list[Gpu]) -> str:
    names = [f"GPU{number}" for number in range(len(gpus))]
    rows = ["\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for a, gpu in enumerate(gpus):
        cells = []
        for b, other in enumerate(gpus):
            far = "SYS" if gpu.slot.numa != other.slot.numa else "PHB" if gpu.slot.numa < 0 else "NODE"
            cells.append(" X " if a == b else f"NV{gpu.card.nvlinks}" if gpu.card.nvlinks else far)
        numa = str(gpu.slot.numa) if gpu.slot.numa >= 0 else "N/A"
        rows.append(f"{names[a]}\t" + "\t".join([*cells, "0-31", numa, "N/A"]))
    legend = "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect"
    return "\n".join([*rows, legend])
