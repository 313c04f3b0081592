"""Where a node keeps its own record, and what it is called; the standard library alone, for the gate."""

from __future__ import annotations

import os

from rocdoctor.service.errors import UsageError


def record_folder() -> str:
    """A folder that is gone after a restart, as the record should be: /run as root, the user's own otherwise."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return "/run/rocdoctor"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return os.path.join(runtime, "rocdoctor")
    raise UsageError("no folder of this session's own; say where the record is (record --out DIR, gate --record DIR)")


def node_name(given: str | None = None) -> str:
    """What this node is called: as Slurm calls it where nobody says."""
    return given or os.environ.get("SLURMD_NODENAME") or os.uname().nodename.split(".")[0]


def record_name(given: str | None = None) -> str:
    """The name of this node's record in a folder of records."""
    return f"{node_name(given)}.json"
