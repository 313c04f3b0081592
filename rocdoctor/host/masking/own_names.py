"""The masker of this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker


def own_masker() -> Masker:
    """A masker that knows the names of this machine and its people, and the secrets in this environment."""
    from rocdoctor.host.masking.masker import Masker  # takes a while, and evidence needs none

    masker = Masker()
    user = os.environ.get("SUDO_USER") or os.environ.get("USER") or os.environ.get("LOGNAME")
    try:
        accounts = Path("/etc/passwd").read_text(encoding="utf-8", errors="replace")
    except OSError:
        accounts = None
    home = os.path.expanduser("~")
    masker.learn(hostname=socket.gethostname(), user=user, home=home, passwd=accounts, env=os.environ)
    return masker
