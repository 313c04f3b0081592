"""The PCI tree: bridges, GPUs, network cards, displays of management controllers."""

# A list of names reads better as words.
# ruff: noqa: SIM905
from __future__ import annotations

from dataclasses import dataclass

from tests.machines.files import Files

Link = tuple[str, int]  # GT/s as printed, lanes


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge on the way: its address, ids, and link state (now, best)."""

    bdf: str
    ids: str = "1022:1483"
    now: Link = ("16.0", 16)
    top: Link = ("16.0", 16)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a device sits: the host bridge, the bridges below it, its own address and NUMA node."""

    bdf: str
    bridges: tuple[Bridge, ...] = ()
    numa: int = -1
    root: str = ""

    @property
    def path(self) -> str:
        """The folder of the device in /sys/devices."""
        first = self.bridges[0].bdf if self.bridges else self.bdf
        return "/".join(
            [f"/sys/devices/{self.root or 'pci' + first[:7]}", *(one.bdf for one in self.bridges), self.bdf]
        )


def links(files: Files, folder: str, now: Link, top: Link) -> None:
    """The four files of a link."""
    files.put_all(
        folder,
        {
            "current_link_speed": f"{now[0]} GT/s PCIe",
            "current_link_width": now[1],
            "max_link_speed": f"{top[0]} GT/s PCIe",
            "max_link_width": top[1],
        },
    )


def aer(files: Files, folder: str) -> None:
    """Error counters at zero."""
    correctable = "RxErr BadTLP BadDLLP Rollover Timeout NonFatalErr CorrIntErr HeaderOF".split()
    fatal = "Undefined DLP SDES TLP FCP CmpltTO CmpltAbrt UnxCmplt RxOF MalfTLP ECRC UnsupReq ACSViol".split()
    for name, counters, total in (
        ("correctable", correctable, "COR"),
        ("nonfatal", fatal, "NONFATAL"),
        ("fatal", fatal, "FATAL"),
    ):
        rows = [*(f"{counter} 0" for counter in counters), f"TOTAL_ERR_{total} 0"]
        files.put(f"{folder}/aer_dev_{name}", "\n".join(rows))


def device(
    files: Files, slot: Slot, pci_class: str, ids: str, subsystem: str, driver: str | None, revision: str = "00"
) -> str:
    """A device with its bridges; the folder that its own files go into. ``ids`` is "1002:74A1"."""
    folder = slot.path
    for depth, bridge in enumerate(slot.bridges):
        place = "/".join(folder.split("/")[: 4 + depth + 1])
        _device(files, place, bridge.bdf, "60400", bridge.ids.upper(), "0000:0000", "pcieport", "00", slot.numa)
        links(files, place, bridge.now, bridge.top)
        aer(files, place)
    _device(files, folder, slot.bdf, pci_class, ids.upper(), subsystem.upper(), driver, revision, slot.numa)
    return folder


def _device(
    files: Files,
    folder: str,
    bdf: str,
    pci_class: str,
    ids: str,
    subsystem: str,
    driver: str | None,
    revision: str,
    numa: int,
) -> None:
    vendor, number = ids.split(":")
    maker, board = subsystem.split(":")
    code = pci_class.rjust(6, "0")
    alias = f"pci:v0000{vendor}d0000{number}sv0000{maker}sd0000{board}bc{code[:2]}sc{code[2:4]}i{code[4:]}"
    lines = [f"DRIVER={driver}"] if driver else []
    lines += [f"PCI_CLASS={pci_class}", f"PCI_ID={ids}", f"PCI_SUBSYS_ID={subsystem}", f"PCI_SLOT_NAME={bdf}"]
    files.put_all(
        folder,
        {
            "uevent": "\n".join([*lines, f"MODALIAS={alias}"]),
            "vendor": f"0x{vendor.lower()}",
            "device": f"0x{number.lower()}",
            "class": f"0x{code}",
            "revision": f"0x{revision.lower()}",
            "numa_node": numa,
            "power/runtime_status": "active",
        },
    )
    files.link(f"/sys/bus/pci/devices/{bdf}", folder)


def resource(files: Files, folder: str, bars: tuple[int, ...]) -> None:
    """The address ranges of a device: sizes in bytes of the memory ranges, each followed by its upper half."""
    rows: list[str] = []
    start = 0x6000000000
    for size in bars:
        flags = 0x14220C if size > 2**20 else 0x40200
        rows += [f"0x{start:016x} 0x{start + size - 1:016x} 0x{flags:016x}", _NO_RANGE]
        start += 2 * size
    rows += [_NO_RANGE] * (13 - len(rows))
    files.put(f"{folder}/resource", "\n".join(rows))


_NO_RANGE = "0x0000000000000000 0x0000000000000000 0x0000000000000000"


def management_display(files: Files, bdf: str = "0000:c4:00.0") -> None:
    """The display of a board management controller: no GPU."""
    slot = Slot(bdf, (Bridge(bdf[:5] + "c3:00.0", "1A03:1150", ("5.0", 1), ("5.0", 1)),))
    device(files, slot, "30000", "1A03:2000", "1A03:2000", "ast", "52")
    card = f"{slot.path}/drm/card0"
    files.put(f"{card}/dev", "226:0")
    files.link("/sys/class/drm/card0", card)
    files.link(f"{card}/device", slot.path)


def nic(files: Files, number: int, slot: Slot, gbit: int = 400, infiniband: bool = False) -> None:
    """An RDMA card (ConnectX-7) with one port and its network interface."""
    folder = device(files, slot, "20700" if infiniband else "20000", "15B3:1021", "15B3:0041", "mlx5_core")
    links(files, folder, ("32.0", 16), ("32.0", 16))
    bus = int(slot.bdf[5:7], 16)
    name = f"ibp{bus}s0" if infiniband else f"enp{bus}s0np0"
    port = f"{folder}/infiniband/mlx5_{number}/ports/1"
    files.put_all(
        port,
        {
            "rate": f"{gbit} Gb/sec (4X NDR)",
            "state": "4: ACTIVE",
            "phys_state": "5: LinkUp",
            "link_layer": "InfiniBand" if infiniband else "Ethernet",
        },
    )
    for counter in ("symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards", "link_error_recovery"):
        files.put(f"{port}/counters/{counter}", "0")
    for counter in ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err"):
        files.put(f"{port}/hw_counters/{counter}", "0")
    files.put(f"{folder}/infiniband/mlx5_{number}/fw_ver", "28.43.2026")
    files.link(f"{folder}/infiniband/mlx5_{number}/device", folder)
    files.link(f"/sys/class/infiniband/mlx5_{number}", f"{folder}/infiniband/mlx5_{number}")
    interface(files, name, folder, gbit * 1000, 9000, kind=32 if infiniband else 1)


def interface(files: Files, name: str, folder: str, mbit: int, mtu: int = 1500, kind: int = 1, up: bool = True) -> None:
    """A network interface on a device."""
    net = f"{folder}/net/{name}"
    files.put_all(net, {"speed": mbit, "operstate": "up" if up else "down", "mtu": mtu, "type": kind})
    files.link(f"{net}/device", folder)
    files.link(f"/sys/class/net/{name}", net)


def ethernet(files: Files, bdf: str = "0000:06:00.0", name: str = "enp6s0", mbit: int = 2500) -> None:
    """The network port of a desktop board, and the loopback."""
    slot = Slot(bdf, (Bridge("0000:00:02.1", "1022:14DB", ("8.0", 4), ("16.0", 4)),))
    folder = device(files, slot, "20000", "8086:125C", "1043:87D2", "igc", "06")
    links(files, folder, ("5.0", 1), ("5.0", 1))
    interface(files, name, folder, mbit)
    files.put_all("/sys/devices/virtual/net/lo", {"operstate": "unknown", "mtu": 65536, "type": 772})
    files.link("/sys/class/net/lo", "/sys/devices/virtual/net/lo")
