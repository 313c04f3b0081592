"""Processors other than x86_64: what indexes of torch have for them, and what nobody publishes."""

from __future__ import annotations

from rocdoctor.knowledge.install.steps import Words
from rocdoctor.knowledge.load import load_table, numbers


def cuda_built_for(flavour: str, capability: str, arch: str) -> bool:
    """Whether the build of a CUDA flavour for this processor has code that runs on a GPU of this capability."""
    if arch == "x86_64":
        return True
    row = load_table("install_torch").get(arch, {})
    codes = row.get("cuda", {}).get(flavour, ())
    if capability in row.get("alone", ()):
        return capability in codes
    have = numbers(capability)
    return any(numbers(code)[0] == have[0] and numbers(code) <= have for code in codes) if have else False


def own_wheels(capability: str, arch: str) -> str:
    """Where the wheels are for a GPU that runs code of its capability alone, as a sentence; "" for the others."""
    row = load_table("install_torch").get(arch, {})
    return str(row["alone_why"]).format(capability=capability) if capability in row.get("alone", ()) else ""


def unseen_jetson(kernel: str, arch: str) -> str:
    """What is said of a Jetson by its kernel, where no GPU was seen; "" for other machines. No full stop."""
    tegra = arch == "aarch64" and str(load_table("install_nvidia")["tegra"]["kernel"]) in kernel
    return str(load_table("install_torch")["aarch64"]["jetson"]) if tegra else ""


def wheel_processors() -> Words:
    """The processors that the indexes have builds for."""
    return ("x86_64", "aarch64")


def no_rocm_for(arch: str) -> str:
    """Why there is no ROCm for a processor, as a sentence without its full stop; "" where there is."""
    return "" if arch == "x86_64" else str(load_table("install_torch")["aarch64"]["rocm"])
