"""The masker of this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from rocdoctor.host import output
from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.patience import RUN

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker


def own_masker() -> Masker:
    """A masker that knows the names of this machine and its people, and the secrets in this environment."""
    from rocdoctor.host.masking.masker import Masker  # takes a while, and evidence needs none

    masker = Masker()
    user = os.environ.get("SUDO_USER") or os.environ.get("USER") or os.environ.get("LOGNAME")
    try:
        accounts = RUN.look("/etc", lambda: Path("/etc/passwd").read_text(encoding="utf-8", errors="replace"))
        if accounts is None:
            output.note("/etc/passwd gave no answer: names of other accounts are not known, so they are not masked")
    except OSError:
        accounts = None
    home = expanded("~")
    masker.learn(hostname=socket.gethostname(), user=user, home=home, passwd=accounts, env=os.environ)
    return masker
