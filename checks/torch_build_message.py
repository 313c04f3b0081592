"""torch reports that its build has no GPU support here, or that it finds no suitable driver.

Why
  torch's messages do not say which of three things is wrong: the build is CPU-only ("Torch not compiled with CUDA
  enabled"), it is a CUDA build on a machine with AMD GPUs ("Found no NVIDIA driver"), or the NVIDIA driver is too old
  for the build's CUDA release ("driver version is insufficient"). The machine's GPUs show which it is.

Fix
  Install the build for the GPU's vendor from its own wheel index, in the same environment, together with torchvision
  and torchaudio. If the driver is too old, update it or choose the wheel for an older CUDA release.

References
  https://pytorch.org/get-started/locally/
  https://docs.nvidia.com/deploy/cuda-compatibility/
"""

from __future__ import annotations

import re

from rocdoctor.insight.software.torch_command import build_for_any
from rocdoctor.insight.software.torch_stack import backend
from rocdoctor.insight.texts.pasted import first_value, gpu_words, in_container, said, shown, vendors, when_said
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, not_applicable, warning
from rocdoctor.knowledge.lookup import cuda_min_driver
from rocdoctor.knowledge.software.wheel_indexes import wheel_url
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine, Message

_NO_SUPPORT = "torch-without-gpu-support"
_NO_DRIVER = "no-nvidia-driver"
_OLD_DRIVER = "cuda-driver-insufficient"
_NO_GPU_MEANT = "prose-no-gpu-on-purpose"
_EXPLAINS = ("gpu-arch-not-built", "driver-too-old", "kernel-module-not-loaded", "torch-cpu-only-build")


@check(when_said(_NO_SUPPORT, _NO_DRIVER, _OLD_DRIVER), cause="wrong-backend-build")
def torch_build_message(machine: Machine) -> Outcome:
    here = vendors(machine)
    messages = said(machine, _NO_SUPPORT, _NO_DRIVER, _OLD_DRIVER)
    if here == {"amd"} and any(one.kind in (_NO_DRIVER, _OLD_DRIVER) for one in messages):
        return _cuda_build_on_amd(machine, messages)
    if without := said(machine, _NO_SUPPORT):
        return _no_gpu_support(machine, without)
    if said(machine, _NO_GPU_MEANT) and not here:
        return not_applicable("the text says that the program is meant to run without a GPU")
    if old := said(machine, _OLD_DRIVER):
        return _old_driver(machine, old)
    if here != {"nvidia"}:
        return not_applicable("which GPUs this machine has is not in the text")
    return _no_driver(machine, messages)


def _release(machine: Machine) -> str:
    version = value_or(machine.torch.version, None)
    return f"torch {version}" if version else "The installed torch"


def _cuda_build_on_amd(machine: Machine, messages: tuple[Message, ...]) -> Finding:
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == "amd"]
    fix = build_for_any(machine, ("amd",))
    which = f" ({gpu_words(gpus)})" if gpus else ""
    return error(
        f"{_release(machine)} is a CUDA build for NVIDIA GPUs, but this machine has an AMD GPU{which}: no driver can "
        "satisfy it.",
        evidence=shown(messages),
        fix=Fix(
            "Uninstall this torch and install the ROCm build if the GPU is supported by ROCm, else the CPU build "
            f"(--index-url {wheel_url('cpu')}); a plain pip install gets the CUDA build",
            fix.command,
            fix.safety,
            verify=fix.verify,
        ),
        confidence="certain",
        explains=_EXPLAINS,
    )


def _no_gpu_support(machine: Machine, messages: tuple[Message, ...]) -> Finding:
    here = vendors(machine)
    built = backend(machine.torch)
    sure = any("sure" not in one.values for one in messages)
    wanted = "ROCm" if here == {"amd"} else "CUDA" if here == {"nvidia"} else "CUDA (NVIDIA) or ROCm (AMD)"
    known_build = f", built for {built.value}" if isinstance(built, Known) and built.value != "cpu" else ""
    text = f"{_release(machine)}{known_build} is a build without GPU support (CPU-only), so it cannot use a GPU."
    if not sure:
        text = f"{_release(machine)} cannot use a GPU: it is a CPU-only build, or it sees no device."
    fix = build_for_any(machine, here)
    return (error if sure and here else warning)(
        text,
        evidence=shown(messages),
        fix=Fix(
            f"Install the {wanted} build of torch from its own wheel index in this environment, with torchvision and "
            "torchaudio from the same index; a later pip install without the index can install the CPU build again",
            fix.command,
            fix.safety,
            verify=fix.verify,
        ),
        confidence="certain" if sure and here else "likely",
        explains=_EXPLAINS,
    )


def _old_driver(machine: Machine, messages: tuple[Message, ...]) -> Finding:
    version = first_value(messages, "found")
    cuda = first_value(messages, "cuda")
    if cuda is None and isinstance(machine.torch.cuda, Known):
        cuda = machine.torch.cuda.value
    driver = value_or(machine.drivers.get("nvidia", {}).get("version", machine.torch.version), None)
    if "nvidia" not in machine.drivers:
        driver = None
    supports = (
        f"{int(version) // 1000}.{int(version) % 1000 // 10}"
        if version and re.fullmatch(r"[0-9]{4,6}", version)
        else None
    )
    least = cuda_min_driver(cuda) if cuda else None
    needs = f" needs CUDA {cuda}" if cuda else " needs a newer CUDA release"
    needs += f" (driver {least.minor_compat or least.full} or newer)" if least is not None else ""
    has = f"The NVIDIA driver{f' {driver}' if driver else ''} is too old"
    has += f": it supports CUDA {supports}, and" if supports else ":"
    build = _release(machine) if value_or(machine.torch.version, None) else "the installed CUDA build"
    where = " on the host (a container uses the host's driver)" if in_container(machine) else ""
    return error(
        f"{has} {build}{needs}.",
        evidence=shown(messages),
        fix=Fix(
            f"Update the NVIDIA driver{where} and reboot, or install a build for an older CUDA release"
            f"{f' (CUDA {supports} or older)' if supports else ''}; nvidia-smi shows the highest CUDA version that the "
            "driver supports",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        ),
        cause="driver-too-old",
        confidence="certain" if any("sure" in one.values for one in messages) else "likely",
    )


def _no_driver(machine: Machine, messages: tuple[Message, ...]) -> Finding:
    if in_container(machine):
        return error(
            "The process in the container finds no NVIDIA driver: the GPUs were not passed into it.",
            evidence=shown(messages),
            fix=Fix(
                "Start the container with --gpus all (nvidia-container-toolkit must be installed on the host)",
                command="docker run --rm --gpus all IMAGE nvidia-smi",
                safety="safe",
            ),
            cause="container-device-access",
            confidence="likely",
        )
    return error(
        "torch finds no NVIDIA driver on this machine: the nvidia kernel module is not loaded.",
        evidence=shown(messages),
        fix=Fix(
            "Install the NVIDIA driver of the distribution, or load it if it is installed. The "
            "usual reasons are Secure Boot, or a kernel update without a module rebuild",
            command="nvidia-smi; lsmod | grep nvidia; sudo dmesg | grep -i nvrm",
        ),
        cause="kernel-module-not-loaded",
        confidence="likely",
    )
