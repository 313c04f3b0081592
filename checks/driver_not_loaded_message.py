"""A tool reports that the GPU's kernel module is not loaded, was refused, or left no device node.

Why
  rocminfo, rocm-smi and nvidia-smi need the kernel module. It is absent when it was not installed, not built for the
  running kernel (DKMS after a kernel update), refused by Secure Boot, or blacklisted. Inside a container or WSL the
  message means something else: the node was not passed in, or there is no such module at all.

Fix
  Check `dkms status`, load the module, and read the kernel log for the reason. Install the headers of the running
  kernel and rebuild, or boot a kernel that the driver release supports.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
  https://github.com/dell/dkms
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import unsupported
from rocdoctor.insight.texts.pasted import first_value, in_container, in_wsl, said, shown, vendors, when_said
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, warning
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import shell

_KINDS = ("amdgpu-not-loaded", "nvidia-not-loaded", "module-refused", "kfd-absent")
_EXPLAINS = ("device-permission", "wrong-backend-build", "gpu-arch-not-built", "hip-sees-no-gpu")


@check(when_said(*_KINDS), cause="kernel-module-not-loaded")
def driver_not_loaded_message(machine: Machine) -> Outcome:
    messages = said(machine, *_KINDS)
    module = first_value(messages, "module") or ("nvidia" if vendors(machine) == {"nvidia"} else "amdgpu")
    refused = [one for one in messages if one.kind == "module-refused"]
    if said(machine, "amdgpu-built-in") and module == "amdgpu" and not refused:
        return None  # there is no module to be loaded; tools that look for one are wrong
    if module == "amdgpu" and vendors(machine) == {"nvidia"} and not refused:
        return None  # a tool of AMD was asked on a machine with NVIDIA GPUs
    if in_wsl(machine):
        return _wsl(messages, module)
    if refused:
        return _no_gpu_for_it(machine, refused, module) or _refused(refused, module)
    absent = [one for one in messages if one.kind == "kfd-absent"]
    if absent and in_container(machine) and "docker" not in str(first_value(absent, "by")):
        return _container(absent)
    kernel = first_value(messages, "kernel") or value_or(machine.kernel.release, None)
    release = value_or(machine.rocm[0].version, None) if machine.rocm else None
    running = f" for the running kernel {kernel}" if kernel else " for the running kernel"
    package = "amdgpu-dkms" if module == "amdgpu" else f"{module}-dkms"
    supported = f"that ROCm {release} supports" if release else "that the driver release supports"
    return error(
        f"The kernel module {module} is not loaded: it is missing{running}, was not built (DKMS), or was "
        f"refused, so no "
        "program can see the GPU.",
        evidence=shown(messages),
        fix=Fix(
            f"Check dkms status and the kernel log. If the module was not built{running}, install the kernel "
            f"headers and "
            f"reinstall {package}, or boot a kernel {supported}; for the kernel's own driver, load it with modprobe "
            f"{module}",
            command=shell(
                "dkms status; sudo modprobe {module:module}; sudo dmesg | grep -i {module:module} | tail -20",
                module=module,
            ),
            safety="reboots",
            verify=shell("lsmod | grep {module:module}", module=module),
        ),
        confidence="likely",
        explains=_EXPLAINS,
    )


def _wsl(messages: tuple[Message, ...], module: str) -> Finding:
    return warning(
        f"This is WSL: there is no {module} kernel module there, so tools that look for it (rocm-smi, amd-smi) cannot "
        "work; compute goes through /dev/dxg and the Windows driver.",
        evidence=shown(messages),
        fix=Fix(
            "Do not install a kernel driver inside WSL: use the supported pairing of Ubuntu (22.04 or 24.04), "
            "ROCm release "
            "for WSL and Windows driver (Adrenalin), install with amdgpu-install --usecase=wsl,rocm --no-dkms, "
            "and read "
            "the GPU's state with Windows tools or rocminfo",
        ),
        cause="wsl-unsupported",
        confidence="likely",
    )


def _no_gpu_for_it(machine: Machine, messages: list[Message], module: str) -> Finding | None:
    """The module found no GPU that it handles, and the kernel log says that there is another."""
    told = unsupported(machine)
    if told is None or not module.startswith("nvidia") or "No such device" not in (first_value(messages, "why") or ""):
        return None
    message, remedy, evidence = told
    return error(
        message,
        evidence=(*evidence, *shown(messages)),
        fix=Fix(remedy, safety="reboots", effective="reboot", verify="nvidia-smi"),
        cause="gpu-not-supported",
        confidence="certain",
        explains=("kernel-module-not-loaded", *_EXPLAINS),
    )


def _refused(messages: list[Message], module: str) -> Finding:
    why = first_value(messages, "why") or ""
    if "ey was rejected" in why or "Required key" in why:
        return error(
            f"The kernel refuses the module {module} because its signature is not trusted: Secure Boot is on.",
            evidence=shown(messages),
            fix=Fix(
                "Enrol the key that signs the module (mokutil, then confirm at the next boot), or switch Secure "
                "Boot off",
                command="mokutil --sb-state; sudo mokutil --import /var/lib/dkms/mok.pub",
                safety="reboots",
                effective="reboot",
            ),
            confidence="certain",
            explains=(*_EXPLAINS, "nvidia-smi-failed"),
        )
    other = "Exec format error" in why or "Unknown symbol" in why or "Invalid argument" in why
    return error(
        f"The kernel refuses to load the module {module}"
        + (": it was built for another kernel." if other else ", for a reason that the kernel log gives."),
        evidence=shown(messages),
        fix=Fix(
            f"Rebuild {module} for the running kernel (headers, then dkms autoinstall) and read the kernel log",
            command="sudo dkms autoinstall; sudo dmesg | tail -20",
            safety="reboots",
        ),
        cause="dkms-kernel-mismatch" if other else "kernel-module-not-loaded",
        confidence="likely",
        explains=_EXPLAINS,
    )


def _container(messages: list[Message]) -> Finding:
    return error(
        "There is no /dev/kfd in the container: the device nodes were not passed into it.",
        evidence=shown(messages),
        fix=Fix(
            "Start the container with --device=/dev/kfd --device=/dev/dri and the host's render group; if the "
            "host has no "
            "/dev/kfd either, its amdgpu driver is not loaded",
            command="docker run --device=/dev/kfd --device=/dev/dri --group-add "
            "$(getent group render | cut -d: -f3) ...",
            safety="safe",
            verify="ls -l /dev/kfd",
        ),
        cause="container-device-access",
        confidence="likely",
    )
