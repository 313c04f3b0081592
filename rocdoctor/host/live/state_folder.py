"""Where what rocdoctor keeps for a user lies."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder(uid: int, home: str) -> Path:
    """``$XDG_STATE_HOME/rocdoctor``; root's lies in its own home, since ``sudo -E`` keeps the caller's variable."""
    base = "" if uid == 0 else os.environ.get("XDG_STATE_HOME", "")
    return Path(base if os.path.isabs(base) else f"{home}/.local/state") / "rocdoctor"
