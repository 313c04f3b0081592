"""Whether kernels were still being compiled when a deadline passed: files that came into the caches of compilers.

A GPU's first convolution, matrix product or Triton kernel is compiled or searched for, which takes minutes on a cold
cache and happens within the process. From outside it looks like a rank that waits for its GPU.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from rocdoctor.host.live.patience import within

# Variable, and the folder below the home where it is not set. ROCm/MIOpen docs/conceptual/cache.rst and perfdb.rst;
# triton-lang/triton python/triton/knobs.py; comgr's comgr-env.h (below $XDG_CACHE_HOME where that is set); all read
# 2026-11-28. Inductor's lies in the folder for temporary files, under a name of the user: only the variable tells.
_CACHES = (
    ("MIOPEN_CUSTOM_CACHE_DIR", ".cache/miopen"),
    ("MIOPEN_USER_DB_PATH", ".config/miopen"),
    ("TRITON_CACHE_DIR", ".triton/cache"),
    ("TORCHINDUCTOR_CACHE_DIR", ""),
    ("AMD_COMGR_CACHE_DIR", ".cache/comgr_cache"),
)
# Files come all the time while kernels are compiled: when the last came long ago, something else is waited for.
_RECENT_SHARE = 1 / 3
_MOST_FILES = 20_000
# Asked once, after a deadline. A network disk takes its time for thousands of files (how much is a judgement), and a
# rank is accused where nothing seems to have been compiled.
_PATIENCE_S = 5.0


def compiling(variables: Mapping[str, str], began_s: float, limit_s: float, now_s: float | None = None) -> str:
    """What a mode that began ``began_s`` (seconds of the epoch) and ran into its deadline still compiled, if so."""
    now_s = time.time() if now_s is None else now_s
    since_s = max(began_s, now_s - max(1.0, limit_s * _RECENT_SHARE))
    for folder in _folders(variables):
        found = within(_PATIENCE_S, partial(_written, folder, since_s, now_s + 1.0))
        if not found:
            break  # it may lie on a server that is gone, and the others with it
        count = found[0]
        if count:
            files = "1 file" if count == 1 else f"{count} files"
            return (
                f"kernels were still being compiled or searched for: {files} came into {folder} just before the "
                "deadline. Run it again, because they are kept, or give more time with --deadline"
            )
    return ""


def _folders(variables: Mapping[str, str]) -> Iterator[Path]:
    home = variables.get("HOME", "")
    for name, below in _CACHES:
        if variables.get(name):
            yield Path(variables[name])
        elif home and below:
            yield Path(home) / below


def _written(folder: Path, first_s: float, last_s: float) -> int:
    return sum(1 for time_s in _times(folder) if first_s <= time_s <= last_s)


def _times(folder: Path) -> Iterator[float]:
    seen, todo = 0, [str(folder)]
    while todo:
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for one in entries:
                seen += 1
                if seen > _MOST_FILES:
                    return
                with contextlib.suppress(OSError):
                    if one.is_dir(follow_symlinks=False):
                        todo.append(one.path)
                    else:
                        yield one.stat().st_mtime
