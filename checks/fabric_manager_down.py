"""A GPU is not registered with the NVLink fabric of its NVSwitch board.

Why
  On boards with NVSwitch (from Hopper on) a GPU is usable only after the fabric manager service has configured the
  switches and the GPU has registered with them. Until then CUDA does not start: programs end with "system not yet
  initialized" (error 802). Right after boot this takes a minute; later it means that the service is stopped, missing, a
  different version than the driver, or was restarted without resetting the GPUs.

Fix
  `systemctl status nvidia-fabricmanager`; install the package in exactly the driver's version, then enable and start
  it. The service runs on the host: in a container or a guest, ask whoever runs the host.

References
  https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Fabric)
"""

from __future__ import annotations

import re

from rocdoctor.insight.gpus.nvidia import is_enclosed, is_module
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, error, info, not_applicable, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

# Registration takes about a minute after the service has started; ten are beyond any doubt. (A judgement.)
_SETTLED_S = 600.0
_REPORTS_FABRIC = 9.0  # compute capability: the state is shown from Hopper on


@check(each_nvidia_gpu, cause="fabric-manager-down")
def fabric_manager_down(machine: Machine, gpu: Gpu) -> Outcome:
    if not isinstance(gpu.fabric_state, Known) and not _should_report(gpu):
        return not_applicable("nvidia-smi shows no NVLink fabric for this GPU")
    state = known(gpu.fabric_state).strip().lower()
    status = value_or(gpu.fabric_status, "")
    version = value_or(machine.drivers.get("nvidia", {}).get("version", gpu.fabric_state), "") or "the driver"
    if state == "completed" and status.lower() in ("", "success"):
        return None
    if state == "not supported":
        return not_applicable("this GPU takes part in no NVLink fabric")
    if value_or(gpu.mig, False):
        return not_applicable("this GPU is in MIG mode and works without the fabric")
    fix = _fix(machine, version if version[:1].isdigit() else "")
    if state == "completed":
        return error(
            f'The registration of this GPU with the NVLink fabric failed with status "{status}".',
            evidence=[cite(gpu.fabric_status), cite(gpu.fabric_state)],
            fix=fix,
        )
    if state not in ("in progress", "not started"):
        return not_applicable(f"the fabric state {state!r} is not one of those that are known")
    uptime = value_or(machine.kernel.uptime_s, None)
    evidence = [cite(gpu.fabric_state)]
    if uptime is None:
        return warning(
            f'This GPU is not registered with the NVLink fabric (state "{state}"); unless the machine has just been '
            "started, the fabric manager is not running and CUDA does not start (error 802).",
            evidence=evidence,
            fix=fix,
            confidence="likely",
        )
    evidence.append(cite(machine.kernel.uptime_s, f"up for {uptime / 60:.0f} min"))
    if uptime < _SETTLED_S:
        return info(
            f'This GPU is still registering with the NVLink fabric (state "{state}", {uptime / 60:.0f} min after '
            f"boot).",
            evidence=evidence,
            fix=Fix("Wait a minute and check again"),
            cause="",
        )
    if state == "not started":
        return warning(
            f"This GPU has not begun to register with the NVLink fabric, {uptime / 60:.0f} min "
            "after boot: the fabric manager is probably not running.",
            evidence=evidence,
            fix=fix,
            confidence="likely",
        )
    return error(
        f"This GPU has been waiting for the NVLink fabric since boot ({uptime / 60:.0f} min): the "
        "fabric manager is not running, and CUDA does not start on it (error 802, system not yet "
        "initialized).",
        evidence=evidence,
        fix=fix,
        explains=("nvlink-inactive", "torch-sees-no-gpu", "torch-gpu-count-mismatch"),
    )


def _should_report(gpu: Gpu) -> bool:
    capability = value_or(gpu.compute_capability, "").split(".")[0]
    return is_module(gpu) and bool(re.fullmatch(r"[0-9]{1,3}", capability)) and int(capability) >= _REPORTS_FABRIC


def _fix(machine: Machine, version: str) -> Fix:
    if is_enclosed(machine) or value_or(machine.container.virtual_machine, None) is not None:
        return Fix("Ask whoever runs the host to start its fabric manager and reset the GPUs", verify="nvidia-smi -q")
    exactly = f" {version}" if version else " that the driver has"
    return Fix(
        f"Start the fabric manager in exactly the version{exactly}; if it was already running, "
        "reset the GPUs or reboot",
        command="systemctl status nvidia-fabricmanager; sudo systemctl enable --now nvidia-fabricmanager",
        safety="manual",
        verify="nvidia-smi -q | grep -A2 Fabric",
    )
