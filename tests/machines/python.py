"""What the interpreter under test answers: packages, the torch build, and torch imported."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.machines.amd import Gpu
from tests.machines.files import Files, Program

ROCM_ARCHES = (
    "gfx900",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx1030",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1200",
    "gfx1201",
    "gfx950",
    "gfx1150",
    "gfx1151",
)
CUDA_ARCHES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")


@dataclass(frozen=True, slots=True)
class Torch:
    """A torch build: its version with the local part, and the runtime it was built for."""

    version: str
    hip: str | None = None
    cuda: str | None = None
    arches: tuple[str, ...] = ()
    companions: tuple[tuple[str, str], ...] = ()


ROCM_TORCH = Torch(
    "2.9.1+rocm6.4",
    "6.4.43484-123eb5128",
    None,
    ROCM_ARCHES[:11],
    (("torchvision", "0.24.1+rocm6.4"), ("pytorch-triton-rocm", "3.5.1")),
)
ROCM7_TORCH = Torch(
    "2.11.0+rocm7.2",
    "7.2.53211-e1a6bc5663",
    None,
    ROCM_ARCHES,
    (("torchvision", "0.26.0+rocm7.2"), ("triton-rocm", "3.6.0")),
)
ROCM57_TORCH = Torch(
    "2.3.1+rocm5.7",
    "5.7.31921-d1770ee1b",
    None,
    ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030", "gfx1100"),
    (("torchvision", "0.18.1+rocm5.7"), ("pytorch-triton-rocm", "2.3.1")),
)
CUDA_TORCH = Torch(
    "2.9.1+cu128",
    None,
    "12.8",
    CUDA_ARCHES[1:],
    (("torchvision", "0.24.1+cu128"), ("triton", "3.5.1"), ("nvidia-nccl-cu12", "2.27.5")),
)
CPU_TORCH = Torch("2.9.1+cpu", companions=(("torchvision", "0.24.1+cpu"),))


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as torch names it."""

    name: str
    arch: str
    memory_bytes: int
    units: int
    bdf: str
    capability: tuple[int, int] = (9, 4)


def amd_devices(gpus: list[Gpu]) -> list[Device]:
    """The devices that torch shows of these GPUs."""
    found = []
    for gpu in gpus:
        card = gpu.card
        arch = card.gfx + (f":{card.features}" if card.features else "")
        size = card.compute_bytes // gpu.partitions - (16 << 20)
        capability = (card.gfx_version // 10000, card.gfx_version // 100 % 100)
        units = card.compute_units // gpu.partitions
        found += [Device(card.name, arch, size, units, gpu.bdf, capability)] * gpu.partitions
    return found


def python(
    files: Files,
    torch: Torch | None,
    devices: list[Device] | None = None,
    version: str = "3.12.3",
    prefix: str = "/home/user/train/.venv",
) -> None:
    """The answers of the interpreter, without and with the import."""
    minor = ".".join(version.split(".")[:2])
    site = f"{prefix}/lib/python{minor}/site-packages"
    packages = {"pip": "25.2", "setuptools": "80.9.0"}
    if torch is not None:
        packages |= {"numpy": "2.3.2", "torch": torch.version, **dict(torch.companions)}
    static = {
        "python": {
            "executable": f"{prefix}/bin/python",
            "version": version,
            "release_level": "final",
            "implementation": "cpython",
            "prefix": prefix,
            "base_prefix": "/usr",
            "kind": "venv",
            "base_kind": "system",
            "system_site_packages": False,
            "platform": "linux",
            "machine": "x86_64",
            "bits": 64,
            "libc": "glibc 2.39",
            "soabi": f"cpython-{minor.replace('.', '')}-x86_64-linux-gnu",
            "gil": True,
        },
        "path": [{"path": site, "origin": "environment", "exists": True}],
        "shadows": [],
        "torch": _static_torch(torch, site),
        "torch_known": True,
        "errors": [],
        "packages": [
            {
                "name": name,
                "version": one,
                "metadata": f"{site}/{name}-{one}.dist-info",
                "requires": [],
                "origin": "environment",
            }
            for name, one in sorted(packages.items())
        ],
        "packages_total": len(packages) + 31,
        "requirements_complete": True,
        "leftovers": [],
    }
    parts = [_line("static", **static)]
    if torch is not None:
        name = "libtorch_hip.so" if torch.hip else "libtorch_python.so"
        flags = {
            "source": "torch/lib/libtorch_python.so",
            "method": "build-flags",
            "targets": list(torch.arches),
            "complete": bool(torch.arches),
            "reason": None if torch.arches else "no constant",
        }
        sources = [flags]
        if torch.hip:
            sources.append(
                {
                    "source": f"torch/lib/{name}",
                    "method": "code-objects",
                    "targets": sorted(torch.arches),
                    "complete": True,
                    "reason": None,
                }
            )
        parts.append(_line("device-code", sources=sources, errors=[]))
    end = _line("end")
    files.programs["python default"] = Program("".join([*parts, end]))
    imported = _imported(torch, devices or [], site)
    files.programs["python default --import"] = Program("".join([*parts, *imported, end]))
    files.env["VIRTUAL_ENV"] = prefix


def _static_torch(torch: Torch | None, site: str) -> dict[str, object] | None:
    if torch is None:
        return None
    runtime = ["libamdhip64.so", "librccl.so", "libtorch_hip.so"] if torch.hip else []
    runtime += ["libtorch_cuda.so"] if torch.cuda else []
    return {
        "path": f"{site}/torch",
        "kind": "package",
        "version_file": {
            "__version__": torch.version,
            "debug": False,
            "cuda": torch.cuda,
            "hip": torch.hip,
            "rocm": None,
            "git_version": "5811a8d7da873dd699ff6687092c225caffcf1bb",
            "xpu": None,
        },
        "lib": sorted([*runtime, "libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so"]),
        "rocm_init": False,
        "rocm_sdk": [],
    }


def _imported(torch: Torch | None, devices: list[Device], site: str) -> list[str]:
    if torch is None:
        error = {"class": "ModuleNotFoundError", "message": "No module named 'torch'", "frames": []}
        return [_line("begin", step="import torch"), _line("step", step="import torch", ok=False, error=error)]
    steps: list[tuple[str, object]] = [
        ("import torch", {"file": f"{site}/torch/__init__.py", "version": torch.version}),
        ("version", {"__version__": torch.version, "cuda": torch.cuda, "hip": torch.hip}),
        ("threads", 16),
        ("distributed", {"is_available": True, "is_nccl_available": bool(torch.arches), "is_gloo_available": True}),
        ("cuda.is_available", bool(devices)),
        ("cuda.device_count", len(devices)),
    ]
    if torch.arches:
        steps += [("nccl.version", [2, 22, 3] if torch.hip else [2, 27, 5]), ("allocator", "native")]
    for index, device in enumerate(devices):
        domain, bus, rest = device.bdf.split(":")
        steps.append(
            (
                f"device.{index}",
                {
                    "index": index,
                    "name": device.name,
                    "gcnArchName": device.arch,
                    "major": device.capability[0],
                    "minor": device.capability[1],
                    "total_memory": device.memory_bytes,
                    "multi_processor_count": device.units,
                    "pci_domain_id": int(domain, 16),
                    "pci_bus_id": int(bus, 16),
                    "pci_device_id": int(rest.split(".")[0], 16),
                },
            )
        )
    if devices:
        steps += [("arch_list", list(torch.arches)), ("bf16", True)]
    lines: list[str] = []
    for step, value in steps:
        lines.append(_line("begin", step=step))
        lines.append(
            _line(
                "step", step=step, elapsed_s=1.204 if step == "import torch" else 0.0, ok=True, value=value, warnings=[]
            )
        )
    return lines


def _line(part: str, **fields: object) -> str:
    return "\n" + json.dumps({"schema": "rocdoctor.probe/1", "part": part, **fields}) + "\n"
