"""One rank that torchrun started: it gets its orders from the runner on its node, through a socket."""

from __future__ import annotations

import json
import os
import socket

from .rank import RankJob, serve


def main(arguments: list[str]) -> int:
    """``PLAN-FILE``: what the runner decided, as JSON; the rank and the others' place come from the environment."""
    with open(arguments[0], encoding="utf-8") as stream:
        plan = json.load(stream)
    rank = int(os.environ["RANK"])
    plan.update(
        joined=True,
        world=int(os.environ["WORLD_SIZE"]),
        local=int(os.environ["LOCAL_RANK"]),
        local_world=int(os.environ["LOCAL_WORLD_SIZE"]),
        server=os.getppid(),
    )
    runner = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    runner.connect(plan["socket"])
    runner.sendall((json.dumps({"event": "joined", "rank": rank, "pid": os.getpid()}) + "\n").encode())
    handle = runner.detach()
    serve(RankJob(plan, rank), handle, os.dup(handle))
    return 1
