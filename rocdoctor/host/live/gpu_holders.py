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
from itertools import islice
from pathlib import Path

from rocdoctor.host.base import Answer
from rocdoctor.host.live.patience import each_within
from rocdoctor.host.live.processes import MAX_FILES, open_nodes
from rocdoctor.model.lazy_re import regex

_GPU_NODE = regex(r"/dev/(?:kfd|dxg|dri/renderD[0-9]{1,5}|nvidia[0-9]{1,4})\Z")
_MAX_HOLDERS = 256
_LOOK_S = 0.2
_MOST_LOOKS, _MOST_HUNG = 256, 8  # links of a process; looks that hang, each of which leaves a thread behind
# Open files of a process that are looked at first, and for how long those of all: a user may have millions, and nodes
# are opened early. So a process with more comes last.
_FIRST_FILES, _ALL_WALKS_S = 1024, 2.0


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
    until = time.monotonic() + _ALL_WALKS_S
    todo = [(process, _FIRST_FILES) for process in psutil.process_iter() if process.pid not in ours]
    for process, most in todo:  # which grows
        folder = Path("/proc", str(process.pid))
        try:
            if time.monotonic() > until:
                hidden += 1
                continue
            opened = _named(open_nodes(folder, most)) if found < _MAX_HOLDERS else {}
            if not opened and most == _FIRST_FILES and found < _MAX_HOLDERS and _has_more(folder):
                todo.append((process, MAX_FILES))
                continue
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


def _has_more(folder: Path) -> bool:
    """Whether a process has more files open than were looked at first."""
    with os.scandir(folder / "fd") as entries:
        return next(islice(entries, _FIRST_FILES, None), None) is not None


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
