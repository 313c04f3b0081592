"""Why Slurm took a node out of service, by the words of the reason.

Wording: Slurm source, src/slurmctld/node_mgr.c, ping_nodes.c, job_mgr.c, power_save.c, src/interfaces/gres.c and
src/common/slurm_errno.c (24.11); "count too low" is that of older releases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocdoctor.model.finding import Severity
from rocdoctor.model.lazy_re import regex

if TYPE_CHECKING:
    from typing_extensions import LiteralString


@dataclass(frozen=True, slots=True)
class SlurmReason:
    """A reason: how it is recognised, what it means, what to look at, and the template of a command for it."""

    pattern: re.Pattern[str]
    meaning: str
    look: str
    command: LiteralString
    severity: Severity = "error"


# A reason that a person gave for work that is planned.
PLANNED = regex(
    r"(?i)maint|upgrad|updat|patch|reimag|re-?install|decommis|reserv|planned|schedul|test|burn|firmware|bios|reboot"
    r"|retire|move|relocat|clean|benchmark|expan|new node|rack|power work|cooling work"
)
# Groups: the kind of device, how many there are, how many there should be; tables cut the reason short.
COUNT = regex(r"gres/(\w{1,32})\S{0,40} count (?:reported lower|too low|re)[^(]{0,40}(?:\((\d{1,6}) < (\d{1,6})\))?")
GPU = regex(
    r"(?i)\bgpus?\b|\bxid\b|\becc\b|nvlink|xgmi|\bras\b|\bhbm\b|amdgpu|nvidia|rocm|fell off|fallen off|\bpcie?\b"
)
SILENT = SlurmReason(
    regex(r"(?i)not responding"),
    "its slurmd does not answer the controller",
    "see whether the machine is up, then look at slurmd and the network",
    "ssh {node:host} 'uptime; systemctl status slurmd; sudo journalctl -u slurmd -n 50'",
)
_KINDS = (
    SILENT,
    SlurmReason(
        regex(r"(?i)kill task failed|unkillable"),
        "a process of a job could not be killed: it hangs in the kernel, often in the GPU driver or a file system",
        "find the process in state D and what the kernel log says about it; usually only a reboot frees the node",
        "ssh {node:host} 'ps -eo pid,stat,wchan:30,cmd | grep \" D\"; sudo dmesg | tail -50'",
    ),
    SlurmReason(
        regex(r"(?i)low realmemory"),
        "it has less memory than slurm.conf says: a failed memory module, or a configured value "
        "that leaves nothing for the system",
        "compare the memory that it has with the configured one",
        "ssh {node:host} 'slurmd -C; free -m; sudo dmesg | grep -i edac'",
    ),
    SlurmReason(
        regex(r"(?i)low (?:socket|cpus|tmpdisk)|corespec differ|node configuration differs"),
        "it has different hardware than slurm.conf says (CPUs, cores, disk)",
        "compare what slurmd finds with slurm.conf",
        "ssh {node:host} slurmd -C",
        "warning",
    ),
    SlurmReason(
        regex(r"(?i)unexpectedly reboot"),
        "it rebooted unexpectedly: power, a kernel panic, or a hardware reset",
        "look at the end of the previous boot's log",
        "ssh {node:host} 'last -x | head; sudo journalctl -b -1 -k -n 80'",
    ),
    SlurmReason(
        regex(
            r"(?i)(?:prolog|epilog)(?:/epilog)? (?:error|failure)|batch job complete f|launch failed|duplicate jobid"
        ),
        "a script or step of Slurm failed there (prolog, epilog, start of a job)",
        "read what slurmd wrote at that time",
        "ssh {node:host} sudo journalctl -u slurmd -n 100",
    ),
    SlurmReason(
        regex(r"(?i)reboot timed out|resumetimeout"),
        "it did not come back in time after a reboot or power-up",
        "look at its console",
        "scontrol show node {node:host}",
    ),
    SlurmReason(
        regex(r"(?i)\bNHC\b|health ?check"),
        "a health check failed there",
        "run the health check by hand",
        "ssh {node:host} 'sudo nhc -v'",
    ),
)


def kind_of(reason: str) -> SlurmReason | None:
    """What Slurm itself, or a health check, means by a reason; None for words of a person."""
    return next((one for one in _KINDS if one.pattern.search(reason)), None)
