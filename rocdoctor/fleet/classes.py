"""How much a finding of a check proves of a node, by how it can come about.

certain: the hardware or its driver says so itself, and a sound node never does. likely: the same, but it comes and goes
on sound nodes too (a cable, a counter, a hung tool), so it takes several records. different: a version, a setting, a
package or a job: news, never a reason to take a node out. What stands in neither list is different, whatever its
severity: a check that is new is weighed here before it can drain anything. These are judgements of this project.
"""

from __future__ import annotations

from typing import Literal

NodeClass = Literal["certain", "likely", "slow", "lemon", "unknown", "different", "well"]
ORDER: tuple[NodeClass, ...] = ("certain", "likely", "slow", "lemon", "unknown", "different", "well")

# Found at the centre, where nodes are compared.
GPU_MISSING = "fleet-gpu-missing"
LINK_BELOW = "fleet-link-below-group"
HOST_BELOW = "fleet-host-below-group"
SWAPPED = "fleet-gpu-swapped"
SLOW = "fleet-figure-slow"
NET_SLOW = "fleet-net-slow"
SPELLS = "fleet-many-spells"
SILENT = "fleet-silent"
UNANSWERED = "fleet-unanswered"
DIFFERENT = "fleet-trait-differs"

CERTAIN = frozenset(
    (
        GPU_MISSING,
        "driver-probe-failed",
        "fabric-manager-down",
        "gpu-fell-off-bus",
        "gpu-firmware-boot-failed",
        "gpu-without-driver",
        "kfd-missing",
        "nvidia-gpu-needs-reset",
        "ras-log-uncorrectable",
        "ras-uncorrectable",
        "smoke-numbers-wrong",
        "wrong-kernel-driver",
    )
)
NETWORK = frozenset(("infiniband-port-down",))
LIKELY = NETWORK | frozenset(
    (
        LINK_BELOW,
        HOST_BELOW,
        "bad-page-limit-log",
        "bad-pages",
        "device-node-missing",
        "driver-module-not-loaded",
        "fan-stopped-hot",
        "gpu-over-temperature",
        "gpu-reset-log",
        "gpu-without-compute-node",
        "hardware-error-log",
        "hive-incomplete",
        "job-stuck-in-kernel",
        "kfd-gpu-count-mismatch",
        "nvidia-driver-library-mismatch",
        "nvidia-smi-failed",
        "nvidia-xid",
        "nvlink-fewer-links",
        "nvlink-inactive",
        "nvswitch-error",
        "pcie-aer-errors",
        "pcie-link-narrow",
        "pcie-link-slow",
        "pcie-link-unequal",
        "pcie-replays",
        "ras-correctable",
        "smoke-figure-low",
        "smoke-rank-lost",
        "thermal-shutdown-log",
        "throttling-now",
        "xgmi-errors",
        "xgmi-links-missing",
    )
)
# These read lines of the kernel log, which stand there for a day and longer, also where the GPU has worked since: only
# what the check still calls an error is evidence.
LOGGED = frozenset(
    (
        "bad-page-limit-log",
        "gpu-fell-off-bus",
        "gpu-reset-log",
        "hardware-error-log",
        "nvidia-xid",
        "nvswitch-error",
        "ras-log-uncorrectable",
        "thermal-shutdown-log",
    )
)
# Of these a line tells that something happened, not that it is so now. Each record shows one line again, so a line
# counts once, by the time that it bears.
EVENTS = frozenset(
    (
        "hardware-error-log",
        "nvidia-xid",
        "nvswitch-error",
        "pcie-aer-errors",
        "ras-log-uncorrectable",
        "thermal-shutdown-log",
        "xgmi-errors",
    )
)
# These rest on counters, which stand, where a record says nothing of lines.
COUNTED = frozenset(("pcie-aer-errors",))


def class_of(check: str, severity: str, confidence: str) -> NodeClass:
    """The class of a finding; certain is only what is an error and read from the machine itself.

    A warning of a check of the first list is likely, of one that reads the log different; an info is never more.
    """
    if severity == "info" or confidence == "possible" or (check in LOGGED and severity != "error"):
        return "different"
    if check in CERTAIN:
        return "certain" if severity == "error" and confidence == "certain" else "likely"
    return "likely" if check in LIKELY else "different"
