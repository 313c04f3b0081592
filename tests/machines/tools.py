"""Outputs of ROCm's tools, and the installation that they came with."""

from __future__ import annotations

import json

from tests.machines.amd import Gpu
from tests.machines.files import Files, Program
from tests.machines.kfd import Width, one_link

_SMI_TITLE = "============================ ROCm System Management Interface ============================"


def rocm(files: Files, version: str, build: str = "-71") -> None:
    """A classic installation under /opt with its version files."""
    root = f"/opt/rocm-{version}"
    files.put(f"{root}/.info/version", version + build)
    files.put(f"{root}/bin/rocminfo", "")
    files.put(f"{root}/share/hip/version", "HIP_PACKAGING_VERSION_PATCH=60402")
    files.link("/opt/rocm", "/etc/alternatives/rocm")
    files.link("/etc/alternatives/rocm", root)


def rocminfo(files: Files, cpu_model: str, cpu_nodes: int, gpus: list[Gpu], cpu_gib: int, kernel_driver: str) -> None:
    """rocminfo with the agents that this process may use."""
    driver = f"ROCk module version {kernel_driver} is loaded" if kernel_driver else "ROCk module is loaded"
    text = [
        driver,
        "=====================    ",
        "HSA System Attributes    ",
        "=====================    ",
        "Runtime Version:         1.15",
        "Runtime Ext Version:     1.7",
        "System Timestamp Freq.:  1000.000000MHz",
        "Sig. Max Wait Duration:  18446744073709551615 (0xFFFFFFFFFFFFFFFF) (timestamp count)",
        "Machine Model:           LARGE                              ",
        "System Endianness:       LITTLE                             ",
        "Mwaitx:                  DISABLED",
        "XNACK enabled:           NO",
        "DMAbuf Support:          YES",
        "VMM Support:             YES",
        "",
        "==========               ",
        "HSA Agents               ",
        "==========               ",
    ]
    agent = 0
    for node in range(cpu_nodes):
        agent += 1
        text += _agent(
            agent,
            {
                "Name": cpu_model,
                "Uuid": "CPU-XX",
                "Marketing Name": cpu_model,
                "Vendor Name": "CPU",
                "Feature": "None specified",
                "Profile": "FULL_PROFILE",
                "Node": str(node),
                "Device Type": "CPU",
                "Chip ID": "0(0x0)",
                "BDFID": "0",
                "Internal Node ID": str(node),
                "Compute Unit": "64",
            },
        )
        text += _pool(cpu_gib * 2**20 // cpu_nodes - 70_000, "KERNARG, FINE GRAINED")
    node = cpu_nodes
    for gpu in gpus:
        card = gpu.card
        bus, rest = gpu.bdf[5:].split(":")
        for part in range(gpu.partitions):
            agent += 1
            location = int(bus, 16) << 8 | int(rest.split(".")[0], 16) << 3 | part
            text += _agent(
                agent,
                {
                    "Name": card.gfx,
                    "Uuid": f"GPU-{gpu.unique_id:016x}" if card.unique else "GPU-XX",
                    "Marketing Name": card.name,
                    "Vendor Name": "AMD",
                    "Feature": "KERNEL_DISPATCH",
                    "Profile": "BASE_PROFILE",
                    "Node": str(node),
                    "Device Type": "GPU",
                    "Chip ID": f"{int(card.device, 16)}(0x{card.device.lower()})",
                    "Max Clock Freq. (MHz)": str(card.sclk_mhz[-1]),
                    "BDFID": str(location),
                    "Internal Node ID": str(node),
                    "Compute Unit": str(card.compute_units // gpu.partitions),
                    "Memory Properties": "APU" if card.apu else "",
                },
            )
            size = card.compute_bytes // gpu.partitions // 1024
            text += _pool(size, "COARSE GRAINED")
            features = f":{card.features}" if card.features else ""
            text += ["  ISA Info:                ", "    ISA 1                    "]
            text += [f"      Name:                    amdgcn-amd-amdhsa--{card.gfx}{features}"]
            node += 1
    files.programs["run rocminfo"] = Program("\n".join([*text, "*** Done ***             "]))


def _agent(number: int, rows: dict[str, str]) -> list[str]:
    stars = "*******                  "
    return [stars, f"Agent {number:<19}", stars, *(f"  {name + ':':<25}{value:<35}" for name, value in rows.items())]


def _pool(kib: int, flags: str) -> list[str]:
    return [
        "  Pool Info:               ",
        "    Pool 1                   ",
        f"      {'Segment:':<25}GLOBAL; FLAGS: {flags}",
        f"      {'Size:':<25}{kib}(0x{kib:x}) KB",
        f"      {'Allocatable:':<25}TRUE",
    ]


def amd_smi(files: Files, gpus: list[Gpu], kernel_driver: str) -> None:
    """``amd-smi static`` and ``metric`` in the JSON of ROCm 7."""
    static, metric = [], []
    number = 0
    for gpu in gpus:
        for part in range(gpu.partitions):
            static.append(_static(gpu, number, part, kernel_driver))
            metric.append(_metric(gpu, number))
            number += 1
    files.programs["run amd-smi static --json"] = Program(json.dumps({"gpu_data": static}, indent=4))
    files.programs["run amd-smi metric --json"] = Program(json.dumps({"gpu_data": metric}, indent=4))


def _static(gpu: Gpu, number: int, part: int, driver: str) -> dict[str, object]:
    card = gpu.card
    maker, board = card.subsystem.split(":")
    return {
        "gpu": number,
        "asic": {
            "market_name": card.name,
            "vendor_id": "0x1002",
            "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
            "subvendor_id": f"0x{maker.lower()}",
            "device_id": f"0x{card.device.lower()}",
            "subsystem_id": f"0x{board.lower()}",
            "rev_id": f"0x{card.revision.lower()}",
            "asic_serial": f"0x{gpu.unique_id:016X}",
            "oam_id": number,
            "num_compute_units": card.compute_units // gpu.partitions,
            "target_graphics_version": card.gfx,
        },
        "bus": {
            "bdf": gpu.bdf[:-1] + str(part),
            "max_pcie_width": card.link[1],
            "max_pcie_speed": {"value": int(float(card.link[0])), "unit": "GT/s"},
            "pcie_interface_version": "Gen 5",
            "slot_type": "OAM",
        },
        "vbios": {"name": card.name.upper(), "part_number": card.vbios, "version": "022.040.003.043.000001"},
        "limit": {"max_power": {"value": card.power_w[1], "unit": "W"}},
        "driver": {"name": "amdgpu", "version": driver},
        "numa": {"node": gpu.slot.numa, "affinity": gpu.slot.numa},
        "vram": {"type": "HBM", "size": {"value": card.vram_bytes // gpu.partitions >> 20, "unit": "MB"}},
        "partition": {"compute_partition": gpu.compute_mode, "memory_partition": gpu.memory_mode},
    }


def _metric(gpu: Gpu, number: int) -> dict[str, object]:
    card = gpu.card
    heat = {label: {"value": now, "unit": "C"} for label, now, _, _ in card.hot}
    return {
        "gpu": number,
        "usage": {"gfx_activity": {"value": 0, "unit": "%"}, "umc_activity": {"value": 0, "unit": "%"}},
        "power": {"socket_power": {"value": card.power_w[0], "unit": "W"}, "throttle_status": "N/A"},
        "temperature": {"edge": "N/A", "hotspot": heat.get("junction", "N/A"), "mem": heat.get("mem", "N/A")},
        "pcie": {
            "width": card.link[1],
            "speed": {"value": int(float(card.link[0])), "unit": "GT/s"},
            "replay_count": 0,
        },
        "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0, "total_deferred_count": 0},
        "mem_usage": {"total_vram": {"value": card.vram_bytes // gpu.partitions >> 20, "unit": "MB"}},
    }


def rocm_smi_topology(files: Files, gpus: list[Gpu], width: Width = one_link) -> None:
    """``rocm-smi --showtopo``: weight, hops, type and NUMA node."""
    count = len(gpus)

    def near(a: int, b: int) -> bool:
        return bool(gpus[a].hive and gpus[a].hive == gpus[b].hive and width(a, b))

    tables: tuple[tuple[str, dict[tuple[int, int], str]], ...] = (
        ("Weight between two GPUs", {}),
        ("Hops between two GPUs", {}),
        ("Link Type between two GPUs", {}),
    )
    for a in range(count):
        for b in range(count):
            far = "52" if gpus[a].slot.numa != gpus[b].slot.numa else "40"
            told = ("15", "1", "XGMI") if near(a, b) else (far, "2", "PCIE")
            for (_, cells), word in zip(tables, ("0", "0", "0") if a == b else told, strict=True):
                cells[a, b] = word
    text = ["", "", _SMI_TITLE]
    for title, cells in tables:
        text.append(f" {title} ".center(90, "="))
        text.append(" " * 7 + "".join(f"{f'GPU{b}':<13}" for b in range(count)))
        text += [f"{f'GPU{a}':<7}" + "".join(f"{cells[a, b]:<13}" for b in range(count)) for a in range(count)]
        text.append("")
    text.append(" Numa Nodes ".center(90, "="))
    for number, gpu in enumerate(gpus):
        text.append(f"GPU[{number}]\t\t: (Topology) Numa Node: {gpu.slot.numa}")
        text.append(f"GPU[{number}]\t\t: (Topology) Numa Affinity: {gpu.slot.numa}")
    text.append(" End of ROCm SMI Log ".center(90, "="))
    files.programs["run rocm-smi --showtopo"] = Program("\n".join(text))
