"""CUDA reports that the system is not yet initialised: the NVSwitch fabric is not ready.

Why
  On machines with NVSwitch (HGX, DGX) CUDA starts only after the fabric manager has set up the switches. It must be
  running, in exactly the driver's version, and must not have been restarted while GPUs were in use. Programs see it as
  error 802.

Fix
  Install the fabric manager in exactly the driver's version, enable and start it, and reset the GPUs or reboot if it
  ran already.

References
  https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine


@check(when_said("fabric-not-ready", "nvls-failed"), cause="fabric-manager-down")
def fabric_message(machine: Machine) -> Outcome:
    messages, service = said(machine, "fabric-not-ready"), said(machine, "fabric-service")
    multicast = not messages
    messages = messages or said(machine, "nvls-failed")
    driver = machine.drivers.get("nvidia", {}).get("version")
    version = driver.value if isinstance(driver, Known) else first_value(messages, "wanted")
    found = first_value(messages, "found")
    exactly = f"{version}, the driver's version" if version else "exactly the driver's version"
    text = "CUDA waits for the NVSwitch fabric (error 802): the NVIDIA fabric manager is not running, or it failed."
    if found and version and found != version:
        text = (
            f"The fabric manager has version {found}, but the driver has {version}: the NVSwitch fabric does not start."
        )
    if multicast:
        text = (
            "NCCL cannot set up NVSwitch multicast (NVLS): the NVLink fabric does not work. The "
            "fabric manager is not running, or was restarted without resetting the GPUs."
        )
    return (warning if multicast and not service else error)(
        text,
        evidence=shown((*messages[:2], *service[:1])),
        fix=Fix(
            f"Install nvidia-fabricmanager in {exactly}, enable and start (or restart) it; if it was restarted under "
            "running GPUs, reset the GPUs or reboot. Inside a virtual machine or container, this is a service on "
            "the host",
            command="systemctl status nvidia-fabricmanager; sudo systemctl enable --now nvidia-fabricmanager",
            verify="nvidia-smi -q | grep -A2 Fabric",
        ),
        confidence="possible" if multicast and not service else "likely",
        explains=("driver-too-old", "torch-gpu-count-mismatch"),
    )
