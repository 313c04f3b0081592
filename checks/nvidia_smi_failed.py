"""nvidia-smi does not work, although this machine has an NVIDIA GPU.

Why
  nvidia-smi and CUDA reach the GPU through the same kernel module, so what stops one usually stops the other. The
  message says what is wrong:
  - "couldn't communicate with the NVIDIA driver": the kernel module is not loaded, often after a kernel update
  - "No devices were found": no GPU could be started, or this job or container was given none
  - "GPU is lost", "Unable to determine the device handle": a GPU no longer answers on the bus
  - "GPU access blocked", "Insufficient permissions": the device nodes are closed
  - "infoROM is corrupted": the board's own configuration memory is damaged

Fix
  Module not loaded: `dkms status`, install the headers of the running kernel, rebuild, `sudo modprobe nvidia`.
  GPU lost: power the machine off and on, check power cables, slot and temperature, and the Xid lines in the kernel
  log. In a container: start it with the host's GPUs (`--gpus all`, or the CDI device).

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Return Value)
  https://docs.nvidia.com/deploy/xid-errors/index.html
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import (
    is_enclosed,
    machine_of_nvidia_tool,
    nvidia_gpus,
    unsupported,
    works_in_torch,
)
from rocdoctor.insight.gpus.presence import capped, is_reserved, worst_harm
from rocdoctor.insight.texts.log_events import is_current
from rocdoctor.judging.check import Finding, Fix, Outcome, Severity, check, finding, not_applicable, quote
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine, ToolFailure
from rocdoctor.model.subject import Subject

_EXPLAINS = ("torch-sees-no-gpu", "torch-gpu-count-mismatch", "nvidia-gpu-count-mismatch")
_BROKEN = {
    "gpu-lost": "nvidia-smi says that a GPU is lost: it no longer answers on the PCIe bus",
    "gpu-unreachable": "nvidia-smi gets no handle for a GPU: it does not answer, or it needs a reset",
}


@check(machine_of_nvidia_tool, cause="kernel-module-not-loaded")
def nvidia_smi_failed(machine: Machine) -> Outcome:
    failure = known(machine.nvidia_failure)
    gpus = nvidia_gpus(machine)
    if failure is None or failure.kind == "version-mismatch":
        return None  # the latter is the matter of a check of its own
    if gpus and all(is_reserved(gpu) for gpu in gpus):
        return not_applicable("the NVIDIA GPUs are kept for virtual machines")
    if failure.kind in _BROKEN:
        return _gpu_broken(machine, failure)
    if failure.kind == "inforom-corrupted":
        return _finding(
            machine,
            failure,
            "warning",
            "gpu-hardware-fault",
            "nvidia-smi says that the infoROM of a GPU is corrupted: its error records and limits cannot be trusted.",
            Fix("Note the GPU's serial number and ask the vendor; a VBIOS update may repair it", safety="manual"),
        )
    severity: Severity = worst_harm(machine, gpus) if gpus else "error"
    # A job that was given no GPU, and a program that works all the same, are no fault of the machine.
    if works_in_torch(machine) or (failure.kind == "no-devices" and _in_a_job(machine)):
        severity = capped(severity, "warning")
    cause, message, fix = _told(machine, failure)
    return _finding(machine, failure, severity, cause, message, fix)


def _finding(
    machine: Machine,
    failure: ToolFailure,
    severity: Severity,
    cause: str,
    message: str,
    fix: Fix,
    subject: Subject | None = None,
) -> Finding:
    return finding(
        severity,
        message,
        evidence=(quote(failure.question, failure.text, failure.line),),
        fix=fix,
        cause=cause,
        explains=_EXPLAINS,
        confidence="certain" if nvidia_gpus(machine) else "likely",
        subject=subject,
    )


def _gpu_broken(machine: Machine, failure: ToolFailure) -> Finding:
    named = [gpu for gpu in nvidia_gpus(machine) if isinstance(gpu.bdf, Known) and gpu.bdf.value == failure.bdf]
    fix = Fix(
        "Save the kernel log (Xid lines), power the machine off completely and on again, check the power cables and "
        "the slot; if the same GPU is lost again, take it out of the job and ask for a replacement",
        command="sudo dmesg | grep -i -e xid -e nvrm",
        safety="reboots",
        effective="reboot",
        verify="nvidia-smi",
    )
    where: Subject | None = None
    if named:
        where = named[0].subject
    elif failure.bdf:
        where = Subject("device", address=failure.bdf)
    return _finding(machine, failure, "error", "gpu-hardware-fault", f"{_BROKEN[failure.kind]}.", fix, subject=where)


def _in_a_job(machine: Machine) -> bool:
    return "SLURM_JOB_ID" in machine.environment.variables or is_enclosed(machine)


def _told(machine: Machine, failure: ToolFailure) -> tuple[str, str, Fix]:
    """(cause, message, fix) of the failures that concern the whole driver."""
    enclosed = is_enclosed(machine)
    container = Fix(
        "Start the container with the GPUs of the host; update the NVIDIA container toolkit if it fails again",
        command="docker run --gpus all ...",
        safety="safe",
        verify="nvidia-smi",
    )
    if value_or(machine.container.kind, "none") == "wsl":
        fix = Fix(
            "Install or update the NVIDIA Windows driver; do not install a Linux driver inside WSL", verify="nvidia-smi"
        )
        return "wsl-unsupported", "nvidia-smi does not reach the NVIDIA Windows driver from WSL.", fix
    if enclosed:
        message = (
            "nvidia-smi does not reach a GPU from inside this container: its devices or libraries were not passed in."
        )
        return "container-device-access", message, container
    if failure.kind == "blocked":
        fix = Fix(
            "Check who can open the device nodes, and whether the job scheduler granted this job a GPU",
            command="ls -l /dev/nvidia*",
            safety="safe",
            verify="nvidia-smi",
        )
        return "device-permission", "The operating system does not let nvidia-smi open the GPU.", fix
    if failure.kind == "library-missing":
        fix = Fix(
            "Install the driver's libraries in the version of the loaded kernel module",
            command="cat /proc/driver/nvidia/version; ldconfig -p | grep libnvidia-ml",
            safety="safe",
            verify="nvidia-smi",
        )
        message = (
            "nvidia-smi does not find libnvidia-ml.so: the driver's libraries are not installed, or not on the path."
        )
        return "missing-shared-library", message, fix
    if failure.kind == "no-devices" and "SLURM_JOB_ID" in machine.environment.variables:
        fix = Fix("Ask the scheduler for a GPU", command="srun --gpus=1 nvidia-smi", safety="safe", verify="nvidia-smi")
        return "device-permission", "nvidia-smi finds no GPU: this Slurm job was probably not granted one.", fix
    if failure.kind == "no-devices":
        fix = Fix("Read why the driver did not start the GPU", command="sudo dmesg | grep -i nvrm", safety="safe")
        message = "The NVIDIA driver runs, but nvidia-smi finds no device: the driver did not start the GPU on the bus."
        return _why_not_started(machine), message, fix
    fix = Fix(
        "Check whether the module is built for the running kernel; if not, install the kernel headers and the driver "
        "again; then load it",
        command="dkms status; modinfo -n nvidia; sudo modprobe nvidia",
        safety="risky",
        verify="nvidia-smi",
    )
    if failure.kind == "nvml-failed":
        return "kernel-module-not-loaded", "nvidia-smi cannot start the driver's management library (NVML).", fix
    if (told := unsupported(machine)) is not None:
        remedy = Fix(told[1], safety="reboots", effective="reboot", verify="nvidia-smi")
        return "gpu-not-supported", f"nvidia-smi finds no running driver. {told[0]}", remedy
    message = "nvidia-smi cannot talk to the NVIDIA driver: its kernel module is not loaded or not working."
    return "kernel-module-not-loaded", message, fix


def _why_not_started(machine: Machine) -> str:
    log = value_or(machine.kernel.log, None)
    kinds = {event.kind for event in log.events if is_current(event)} if log is not None else set()
    if "nvidia-gpu-not-supported" in kinds:
        return "gpu-not-supported"
    return "gpu-hardware-fault" if "nvidia-fallen-off-bus" in kinds else "kernel-module-not-loaded"
