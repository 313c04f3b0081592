"""The NVIDIA kernel module and the driver's libraries have different versions.

Why
  An update replaced the driver's libraries while the old kernel module stayed loaded. The two refuse to work together:
  `nvidia-smi` prints "Driver/library version mismatch", and CUDA programs that start now find no GPU. Jobs that were
  running continue, so it often shows only hours later.

Fix
  Reboot. If that is impossible, end every program that uses a GPU (including display and monitoring services), unload
  nvidia_uvm, nvidia_drm, nvidia_modeset and nvidia, then load nvidia again. If it is still there after a reboot, two
  installations are mixed (a package and a downloaded installer): remove one completely. A container must use the host's
  libraries: restart it, and regenerate the CDI file if one is used.

References
  https://docs.nvidia.com/deploy/nvml-api/ (NVML_ERROR_LIB_RM_VERSION_MISMATCH)
  https://github.com/NVIDIA/open-gpu-kernel-modules (src/nvidia/arch/nvalloc/unix/src/osapi.c, "API mismatch")
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import failure_of_tool, is_enclosed, loaded_and_installed, machine_of_nvidia_tool
from rocdoctor.insight.texts.log_events import is_current
from rocdoctor.judging.check import Evidence, Fix, Outcome, check, cite, error, info, quote
from rocdoctor.model.evidence import NOT_ASKED, Known, known, value_or
from rocdoctor.model.facts import LogEvent, Machine

_EXPLAINS = (
    "nvidia-smi-failed",
    "torch-sees-no-gpu",
    "torch-gpu-count-mismatch",
    "gpu-without-driver",
    "fabric-manager-down",
    "nvidia-gpu-count-mismatch",
)


@check(machine_of_nvidia_tool, cause="driver-library-mismatch")
def nvidia_driver_library_mismatch(machine: Machine) -> Outcome:
    event = _event(machine)
    failure = failure_of_tool(machine, "version-mismatch")
    if failure is None:
        works = known(machine.nvidia_failure) is None
        if not works or event is None:
            return None
        return info(
            "nvidia-smi works, but the kernel module refused a program that came with libraries of another driver "
            f"version{_versions(machine, event)}: a container or a second installation has its own.",
            evidence=[_quoted(machine, event)],
            fix=Fix(
                "Use the libraries of the loaded driver in that container or installation, or remove the second one",
                safety="manual",
            ),
            cause="",
        )
    evidence = [quote(failure.question, failure.text, failure.line)]
    if event is not None:
        evidence.append(_quoted(machine, event))
    loaded = machine.drivers.get("nvidia", {}).get("version", NOT_ASKED)
    if isinstance(loaded, Known):
        evidence.append(cite(loaded))
    if is_enclosed(machine):
        fix = Fix(
            "Restart the container so that it gets the libraries of the host's loaded driver; if the host was updated, "
            "reboot the host first",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        )
    else:
        fix = Fix(
            "Reboot, so that the kernel module of the installed driver is loaded",
            command="sudo reboot",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        )
    return error(
        "The loaded NVIDIA kernel module and the driver's libraries have different versions"
        f"{_versions(machine, event)}, so no CUDA program can start (driver/library version mismatch).",
        evidence=evidence,
        fix=fix,
        explains=_EXPLAINS,
    )


def _event(machine: Machine) -> LogEvent | None:
    log = value_or(machine.kernel.log, None)
    found = [one for one in log.of("nvidia-api-mismatch") if is_current(one)] if log is not None else []
    return found[-1] if found else None


def _quoted(machine: Machine, event: LogEvent) -> Evidence:
    log = value_or(machine.kernel.log, None)
    return quote(log.source if log is not None else "", event.text, event.line)


def _versions(machine: Machine, event: LogEvent | None) -> str:
    """The two versions, as far as they are told."""
    loaded: object = value_or(machine.drivers.get("nvidia", {}).get("version", NOT_ASKED), None)
    _, installed = loaded_and_installed(machine)
    client: object = installed.value if installed is not None else None
    if event is not None:
        client = event.values.get("client_version") or client
        loaded = event.values.get("module_version") or loaded
    words = [f"module {loaded}" if loaded else "", f"libraries {client}" if client else ""]
    shown = ", ".join(word for word in words if word)
    return f" ({shown})" if shown else ""
