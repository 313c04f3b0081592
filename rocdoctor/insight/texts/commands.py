"""What checks of command lines share: what a container was given, how many ranks a launcher starts, on which GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rocdoctor.insight.texts.pasted import SOURCE, said, vendors
from rocdoctor.judging.check import Selector, quote
from rocdoctor.model.facts import CommandLine, Machine
from rocdoctor.model.finding import Evidence, NotApplicable, Selected, Subjects
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.subject import MACHINE

Vendor = Literal["amd", "nvidia", ""]

CONTAINERS = frozenset(("docker", "podman", "nerdctl", "compose", "kubernetes", "apptainer"))
LAUNCHERS = frozenset(("torchrun", "accelerate", "deepspeed", "vllm", "sglang"))
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
# Messages by which a program says that it finds no GPU.
NO_GPU = (
    "no-hip-device",
    "no-cuda-gpus",
    "torch-sees-no-gpu",
    "no-nvidia-driver",
    "kfd-absent",
    "kfd-not-there",
    "nvml-missing-in-pod",
    "contained-without-devices",
    "triton-no-driver",
    "bitsandbytes-no-gpu",
    "no-gpu-for-program",
)
_AMD_IMAGE = regex(r"rocm|amdgpu|amdih|(?<![a-z0-9])gfx\d|-hip(?![a-z])|(?<![a-z])amd/", 2)
_NVIDIA_IMAGE = regex(r"nvcr\.io|(?<![a-z])nvidia/|cuda|(?<![a-z])cu1[1-3]\d(?!\d)|tensorrt", 2)


def when_commands(*programs: str) -> Selector[None]:
    """The machine, when the text shows a command of one of these programs."""

    def select(machine: Machine) -> Subjects[None]:
        if any(one.program in programs for one in machine.commands):
            return [Selected(MACHINE, None)]
        return NotApplicable("no such command in this evidence")

    return select


def shown_command(*commands: CommandLine) -> tuple[Evidence, ...]:
    """Commands as evidence."""
    return tuple(quote(SOURCE, one.text, one.line) for one in commands)


def image_vendor(image: str) -> Vendor:
    """For whose GPUs an image is made, by its name; "" where the name does not tell."""
    amd, nvidia = bool(_AMD_IMAGE.search(image)), bool(_NVIDIA_IMAGE.search(image))
    return "amd" if amd and not nvidia else "nvidia" if nvidia and not amd else ""


def meant_for(machine: Machine, box: CommandLine) -> Vendor:
    """Whose GPUs a container is meant to use: by its image, else by the only vendor of GPUs here."""
    seen = vendors(machine)
    image = image_vendor(box.image)
    if image and (not seen or image in seen):
        return image
    if image or len(seen) > 1:
        return ""
    if not seen:
        tools = {str(one.values.get("vendor", "")) for one in said(machine, "mentions-vendor-tool")}
        return "amd" if tools == {"amd"} else "nvidia" if tools == {"nvidia"} else ""
    return "amd" if "amd" in seen else "nvidia"


def opens_amd(box: CommandLine) -> Literal["all", "part", "none"]:
    """Whether a container was given the nodes of AMD GPUs: both, one of the two kinds, or none."""
    devices = box.options.get("device", ())
    told = [*devices, *box.options.get("resource", ())]
    if any("amd.com/" in one for one in told) or "amd" in (box.value("runtime") or "") or "claims" in box.options:
        return "all"
    if "rocm" in box.options or _is_on(box, "privileged") or "AMD_VISIBLE_DEVICES" in box.environment:
        return "all"
    if any("$" in one or one in ("/dev", "/dev:/dev") for one in devices) or "extends" in box.options:
        return "all"  # what stands behind a name is not known
    kfd, dri = any("kfd" in one for one in devices), any("/dev/dri" in one for one in devices)
    if any("/dev/dxg" in one for one in devices):
        return "all"
    return "all" if kfd and dri else "part" if kfd or dri else "none"


def opens_nvidia(box: CommandLine) -> bool:
    """Whether a container was given NVIDIA GPUs in one of the ways there are."""
    told = [*box.options.get("device", ()), *box.options.get("resource", ())]
    if any("nvidia" in one or "$" in one for one in told) or "nvidia" in (box.value("runtime") or ""):
        return True
    if (
        "gpus" in box.options
        or "nv" in box.options
        or "nvccli" in box.options
        or "NVIDIA_VISIBLE_DEVICES" in box.environment
    ):
        return True
    return _is_on(box, "privileged") or "extends" in box.options or "claims" in box.options


def _is_on(box: CommandLine, name: str) -> bool:
    return (box.value(name) or "true").lower() != "false" if name in box.options else False


def outermost(machine: Machine, programs: frozenset[str] = CONTAINERS) -> list[CommandLine]:
    """The containers that are started on the host; of a text that starts several all, in its order."""
    return [one for one in machine.commands if one.program in programs and not one.inside]


def misses_gpu(machine: Machine) -> bool:
    """Whether a program of the text finds no GPU."""
    return bool(said(machine, *NO_GPU))


def ranks_of(one: CommandLine) -> tuple[int, str] | None:
    """(processes that take a GPU of their own on one machine, the option as it was given), where a launcher says so."""
    if one.program == "torchrun":
        number, name = one.number("nproc-per-node"), "--nproc_per_node"
    elif one.program == "accelerate":
        number, name = one.number("num-processes"), "--num_processes"
        machines = one.number("num-machines") or 1
        number = number // machines if number else None
    elif one.program == "deepspeed":
        number, name = one.number("num-gpus"), "--num_gpus"
    elif one.program == "sglang":
        number, name = one.number("tp", "tp-size", "tensor-parallel-size"), "--tp"
        number = None if (one.number("nnodes") or 1) > 1 else number
    else:
        number, name = one.number("tensor-parallel-size"), "--tensor-parallel-size"
        number = None if one.value("distributed-executor-backend") == "ray" else number
    return (number, f"{name} {number}") if number else None


def visible_to(one: CommandLine, machine: Machine) -> tuple[int, str] | None:
    """(GPUs that a command's processes see by a variable, the variable as it is set)."""
    for name in VISIBLE:
        told = one.environment.get(name)
        if told is None and name in machine.environment.variables:
            told = machine.environment.variables[name].value
        if told and "$" not in told:
            return len([part for part in told.split(",") if part.strip()]), f"{name}={told}"
    return None


def packages_of(one: CommandLine) -> Sequence[str]:
    """The packages of an installation, in lower case, without versions and extras."""
    return tuple(_NAME_END.split(word.lower())[0] for word in one.words)


_NAME_END = regex(r"[\[=<>~!@;,:]")
