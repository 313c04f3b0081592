"""Which processes have a GPU's device nodes open.

psutil walks over the processes and tells how old each is. The open files are read here: psutil lists regular files
alone. A name is that of the kernel: the whole of it would need the command line, whose reading waits for a process
that hangs in the kernel.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from rocdoctor.host.base import Answer
from rocdoctor.host.live.processes import held
from rocdoctor.model.lazy_re import regex

_GPU_NODE = regex(r"/dev/(?:kfd|dxg|dri/renderD[0-9]{1,5}|nvidia[0-9]{1,4})\Z")
_MAX_HOLDERS = 256


def answer_holders(question: str) -> Answer:
    """Answer ``holders gpu``: ``pid age_s node[,node ...] name`` a line, last ``hidden COUNT``."""
    try:
        return Answer(question, "ok", "\n".join(_lines()).encode("utf-8", errors="replace"))
    except ImportError:
        return Answer(question, "failed", note="psutil is not installed")


def _lines() -> Iterator[str]:
    import psutil

    hidden = found = 0
    own = psutil.Process()
    ours = {own.pid, *(child.pid for child in own.children(recursive=True))}  # tools that we ask right now
    for process in psutil.process_iter():
        if process.pid in ours:
            continue
        folder = Path("/proc", str(process.pid))
        try:
            nodes = [path for path in held(folder) if _GPU_NODE.match(path)]
            if nodes and found < _MAX_HOLDERS:
                found += 1
                age_s = max(0, int(time.time() - process.create_time()))
                name = " ".join((folder / "comm").read_text(errors="replace").split()) or "-"
                yield f"{process.pid} {age_s} {','.join(nodes)} {name}"
        except PermissionError:
            hidden += 1
        except (OSError, psutil.Error):  # it has ended meanwhile
            continue
    if hidden:
        yield f"hidden {hidden}"
