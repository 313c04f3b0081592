"""Which processes have a GPU's device nodes open.

psutil walks over the processes and tells how old each is. The open files are read here: psutil lists regular files
alone. A name is that of the kernel: the whole of it would need the command line, whose reading waits for a process
that hangs in the kernel. In a name space of its own a process has files of any name at any place, so a node counts
where a device is behind it; what gives no answer to that is none, since the devices of GPUs need no server.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rocdoctor.host.base import Answer
from rocdoctor.host.live.patience import each_within
from rocdoctor.host.live.processes import open_nodes
from rocdoctor.model.lazy_re import regex

_GPU_NODE = regex(r"/dev/(?:kfd|dxg|dri/renderD[0-9]{1,5}|nvidia[0-9]{1,4})\Z")
_MAX_HOLDERS = 256
_LOOK_S = 0.2
_MOST_LOOKS, _MOST_HUNG = 256, 8  # links of a process; looks that hang, each of which leaves a thread behind


def answer_holders(question: str) -> Answer:
    """Answer ``holders gpu``: ``pid age_s node[,node ...] name`` a line, last ``hidden COUNT``."""
    try:
        return Answer(question, "ok", "\n".join(_lines()).encode("utf-8", errors="replace"))
    except ImportError:
        return Answer(question, "failed", note="psutil is not installed")


def _lines() -> Iterator[str]:
    import psutil

    hidden = found = hung = 0
    own = psutil.Process()
    ours = {own.pid, *(child.pid for child in own.children(recursive=True))}  # tools that we ask right now
    for process in psutil.process_iter():
        if process.pid in ours:
            continue
        folder = Path("/proc", str(process.pid))
        try:
            opened = _named(open_nodes(folder)) if found < _MAX_HOLDERS else {}
            if opened and hung >= _MOST_HUNG:  # somebody wants us to wait: nobody knows who else has one
                hidden += 1
                continue
            nodes, waits = _devices(opened)
            hung += waits
            if nodes:
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


def _named(opened: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """What is called as nodes of GPUs are, with the links that lead to each."""
    return {node: links for node, links in sorted(opened.items()) if _GPU_NODE.match(node)}


def _devices(named: Mapping[str, Sequence[str]]) -> tuple[list[str], int]:
    """Those that are devices, and how many links gave no answer."""
    links = [link for each in named.values() for link in each][:_MOST_LOOKS]
    looks = each_within(_LOOK_S, links, _is_device, _MOST_HUNG)
    real = {link for link, device in zip(links, looks, strict=True) if device}
    return [node for node, each in named.items() if not real.isdisjoint(each)], looks.count(None)


def _is_device(link: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(link).st_mode)
    except OSError:  # closed meanwhile
        return False
