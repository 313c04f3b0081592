"""AMD GPUs in sysfs: the device's own files, sensors, DRM cards, device nodes."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from tests.machines import pcie
from tests.machines.cards import Card
from tests.machines.files import Files, Node
from tests.machines.pcie import Bridge, Link, Slot
from tests.machines.system import modules

RENDER_GID = 992
VIDEO_GID = 44


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card in a slot. ``now`` is the link's present state; None takes the best. ``hive`` names its XGMI hive."""

    card: Card
    slot: Slot
    now: Link | None = None
    hive: int = 0
    partitions: int = 1
    memory_mode: str = ""
    compute_mode: str = ""
    heat_c: int = 0
    used_mib: int = 284
    suspended: bool = False
    boot_vga: bool = False
    removable: str = ""

    @property
    def bdf(self) -> str:
        return self.slot.bdf

    @property
    def unique_id(self) -> int:
        """An id that hangs on model and address alone."""
        text = f"{self.card.device} {self.bdf}"
        return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1 | 1 << 60


def behind_switch(bus: int, root: str, card: Card, now: Link | None = None, port: Link = ("32.0", 16)) -> Slot:
    """The slot of a Radeon with a switch on the card: root port, upstream and downstream port, GPU, one bus each.

    ``port`` is the best that the root port can do.
    """
    now = now or card.link
    inside = (card.link[0], 16)
    ports = (
        Bridge(f"0000:{root}", "1022:14DB", now, port),
        Bridge(f"0000:{bus:02x}:00.0", "1002:1478", now, card.link),
        Bridge(f"0000:{bus + 1:02x}:00.0", "1002:1479", inside, inside),
    )
    return Slot(f"0000:{bus + 2:02x}:00.0", ports)


def put_gpus(files: Files, gpus: list[Gpu], first_card: int = 0, release: str = "", first_minor: int = 128) -> None:
    """All GPUs of a machine with the driver's parameters. ``release`` is the version of an AMD driver package."""
    minor = first_minor
    for number, gpu in enumerate(gpus):
        put_gpu(files, gpu, first_card + number, minor, number)
        for extra in range(gpu.partitions):
            files.node(f"/dev/dri/renderD{minor + extra}", Node("0660", RENDER_GID, f"226:{minor + extra}"))
        for extra in range(1, gpu.partitions):
            _partition_card(files, minor + extra, extra)
        minor += gpu.partitions
    if any(gpu.card.driver == "amdgpu" for gpu in gpus):
        modules(files, "amdgpu", "ttm", "drm_buddy")
        files.put_all(
            "/sys/module/amdgpu/parameters",
            {
                "gttsize": -1,
                "lockup_timeout": "",
                "noretry": -1,
                "ppfeaturemask": "0xfff7bfff",
                "vm_fragment_size": -1,
                "cwsr_enable": 1,
                "hws_gws_support": "N",
                "no_system_mem_limit": "N",
                "runpm": -1,
                "bad_page_threshold": -1,
            },
        )
        memory = int(files.texts[("proc", "meminfo")].split()[1])
        files.put("/sys/module/ttm/parameters/pages_limit", str(memory // 8))
        if release:
            files.put("/sys/module/amdgpu/version", release)
    if any(gpu.card.kfd for gpu in gpus):
        files.node("/dev/kfd", Node("0660", RENDER_GID, "509:0"))


def put_gpu(files: Files, gpu: Gpu, card_number: int, minor: int, index: int) -> None:
    """The files of one GPU."""
    card = gpu.card
    folder = pcie.device(
        files, gpu.slot, card.pci_class, f"1002:{card.device}", card.subsystem, card.driver, card.revision
    )
    top = ("16.0", 16) if card.on_card_switch and float(card.link[0]) <= 16 else card.link
    pcie.links(files, folder, top if card.on_card_switch else gpu.now or card.link, top)
    pcie.aer(files, folder)
    bar = 2 ** (max(card.vram_bytes, 256 << 20) - 1).bit_length() if card.large_bar else 256 << 20
    pcie.resource(files, folder, (bar, 2 << 20, 512 << 10))
    files.put(f"{folder}/power/runtime_status", "suspended" if gpu.suspended else "active")
    files.put(f"{folder}/iommu_group/type", "identity")
    if card.pci_class == "30000":
        files.put(f"{folder}/boot_vga", str(int(gpu.boot_vga)))
    if gpu.removable:
        files.put(f"{folder}/removable", gpu.removable)
    name = f"card{card_number}"
    files.put(f"{folder}/drm/{name}/dev", f"226:{card_number}")
    files.put(f"{folder}/drm/renderD{minor}/dev", f"226:{minor}")
    for entry in (name, f"renderD{minor}"):
        files.link(f"{folder}/drm/{entry}/device", folder)
        files.link(f"/sys/class/drm/{entry}", f"{folder}/drm/{entry}")
    if card.pci_class == "30000":
        files.put(f"{folder}/drm/{name}/{name}-DP-1/status", "connected" if gpu.boot_vga else "disconnected")
        files.link(f"/sys/class/drm/{name}-DP-1", f"{folder}/drm/{name}/{name}-DP-1")
    if card.driver == "amdgpu":
        _driver_files(files, gpu, folder)
    _sensors(files, gpu, f"{folder}/hwmon/hwmon{3 + index}", index)


def _driver_files(files: Files, gpu: Gpu, folder: str) -> None:
    card = gpu.card
    gtt = int((card.gtt_gib or 62.7) * 2**30) // 4096 * 4096
    files.put_all(
        folder,
        {
            "power_dpm_force_performance_level": "auto",
            "mem_info_vram_total": card.vram_bytes,
            "mem_info_vram_used": gpu.used_mib << 20,
            "mem_info_gtt_total": gtt,
            "mem_info_gtt_used": 21_078_016,
            "mem_info_vis_vram_total": card.vram_bytes if card.large_bar else 256 << 20,
            "vbios_version": card.vbios,
            "gpu_busy_percent": 0,
            "pcie_replay_count": 0,
        },
    )
    for clock, rates in (("sclk", card.sclk_mhz), ("mclk", card.mclk_mhz)):
        rows = [f"{at}: {rate}Mhz{' *' if at == (1 if len(rates) > 2 else 0) else ''}" for at, rate in enumerate(rates)]
        files.put(f"{folder}/pp_dpm_{clock}", "\n".join(rows))
    if card.unique:
        files.put(f"{folder}/unique_id", f"{gpu.unique_id:016x}")
    if gpu.compute_mode:
        files.put_all(
            folder,
            {
                "current_compute_partition": gpu.compute_mode,
                "current_memory_partition": gpu.memory_mode,
            },
        )
    if gpu.hive:
        files.put(f"{folder}/xgmi_hive_info/xgmi_hive_id", str(gpu.hive))
    if card.ras:
        for block in ("umc", "sdma", "gfx", "mmhub", "xgmi_wafl"):
            files.put(f"{folder}/ras/{block}_err_count", "ue: 0\nce: 0" + ("\nde: 0" if block == "umc" else ""))
        files.put(f"{folder}/ras/gpu_vram_bad_pages", "")
    for name, version in card.firmware.items():
        files.put(f"{folder}/fw_version/{name}", version)


def _sensors(files: Files, gpu: Gpu, folder: str, index: int) -> None:
    card = gpu.card
    files.put(f"{folder}/name", card.driver)
    for channel, (label, now, critical, emergency) in enumerate(card.hot, 1):
        degrees = (gpu.heat_c or now) + index % 3
        files.put(f"{folder}/temp{channel}_input", f"{degrees * 1000}")
        if label != "temp1":
            files.put(f"{folder}/temp{channel}_label", label)
        if critical:
            files.put_all(
                folder,
                {
                    f"temp{channel}_crit": critical * 1000,
                    f"temp{channel}_crit_hyst": -273150,
                    f"temp{channel}_emergency": emergency * 1000,
                },
            )
    now_w, cap_w = card.power_w
    if now_w:
        kind = "input" if card.xccs > 1 else "average"
        files.put_all(folder, {f"power1_{kind}": (now_w + index % 4) * 1_000_000, "power1_label": "PPT"})
    if cap_w:
        files.put_all(
            folder,
            {
                "power1_cap": cap_w * 1_000_000,
                "power1_cap_default": cap_w * 1_000_000,
                "power1_cap_min": 0,
                "power1_cap_max": cap_w * 1_000_000 * (115 if card.fan_max_rpm else 100) // 100,
            },
        )
    if card.fan_max_rpm:
        files.put_all(
            folder,
            {
                "fan1_input": card.fan_rpm,
                "fan1_max": card.fan_max_rpm,
                "fan1_min": 0,
                "fan1_enable": 0,
                "pwm1": card.fan_rpm * 255 // card.fan_max_rpm,
                "pwm1_enable": 2,
                "pwm1_max": 255,
                "pwm1_min": 0,
            },
        )
    if card.driver == "amdgpu":
        files.put_all(
            folder,
            {
                "freq1_label": "sclk",
                "freq1_input": card.sclk_mhz[1 if len(card.sclk_mhz) > 2 else 0] * 1_000_000,
            },
        )


def _partition_card(files: Files, minor: int, number: int) -> None:
    """The render node of a further partition hangs on a platform device, not on the PCI device."""
    folder = f"/sys/devices/platform/amdgpu_xcp_{minor - 128}"
    files.put(f"{folder}/uevent", "DRIVER=amdgpu_xcp\nMODALIAS=platform:amdgpu_xcp_drv")
    files.put(f"{folder}/drm/renderD{minor}/dev", f"226:{minor}")
    files.link(f"{folder}/drm/renderD{minor}/device", folder)
    files.link(f"/sys/class/drm/renderD{minor}", f"{folder}/drm/renderD{minor}")
