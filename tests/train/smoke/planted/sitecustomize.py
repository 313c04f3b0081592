"""Plants one fault into the interpreter under test, before rocdoctor's own program knows of it.

Python runs this file at start when its folder is on PYTHONPATH. ROCDOCTOR_PLANT names a file that holds
``NAME RANK MODE``: the fault ``NAME`` of a file beside this one is put in place at RANK (``all`` for every rank) when
the ranks have formed their process group, and acts while MODE runs (``*`` means any). Of several lines one acts at a
time: a file beside it, named ``.turn``, holds its number. Faults change the library, the transport or the process;
never the comparison.
"""

from __future__ import annotations

import os
import sys


def _plant() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import faults  # type: ignore[import-not-found, unused-ignore]
    import torch.distributed as dist

    form = dist.init_process_group

    def formed(*args: object, **keywords: object) -> None:
        form(*args, **keywords)  # type: ignore[arg-type]
        with open(os.environ["ROCDOCTOR_PLANT"]) as stream:
            lines = stream.read().splitlines()
        for number, line in enumerate(lines):
            name, rank, mode = line.split()
            if rank in ("all", str(dist.get_rank())):
                faults.put(name, mode, number if len(lines) > 1 else None)

    dist.init_process_group = formed


if "ROCDOCTOR_PLANT" in os.environ and "ROCDOCTOR_SMOKE_RUN" in os.environ:
    _plant()
