"""``python -m tests.train.recommend.counted.wire RANKS``: bytes that the loopback device carried for each collective.

Run it where nothing else uses the device: in a network namespace of its own (``unshare -rn``). Prints a JSON object of
operation: (payload, bytes that the device sent, of all ranks together).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

file_store: Any = dist.FileStore  # type: ignore[attr-defined]
PAYLOAD = 8 * 2**20
_TIMES = 5
_SIOCSIFFLAGS, _UP = 0x8914, 0x1


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP))


def _sent() -> int:
    line = next(one for one in Path("/proc/net/dev").read_text().splitlines() if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[8])


def _at_rest() -> int:
    """The counter once it stands still: a barrier leaves something behind."""
    before = -1
    while before != (before := _sent()):
        time.sleep(0.02)
    return before


def _operations(rank: int, world: int) -> dict[str, Callable[[], Any]]:
    whole, part = torch.ones(PAYLOAD // 4), torch.ones(PAYLOAD // 4 // world)
    given = torch.ones(PAYLOAD // 4)

    def send() -> None:
        both = [dist.P2POp(dist.isend, whole, (rank + 1) % world), dist.P2POp(dist.irecv, given, (rank - 1) % world)]
        for one in dist.batch_isend_irecv(both):
            one.wait()

    return {
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
        "all_to_all": lambda: dist.all_to_all_single(given, whole),
        "broadcast": lambda: dist.broadcast(whole, 0),
        "send": send,
    }


def _rank(folder: Path, rank: int, world: int) -> dict[str, tuple[int, int]]:
    dist.init_process_group(
        "gloo",
        store=file_store(str(folder / "store"), world),
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=60),
    )
    found = {}
    for name, run in _operations(rank, world).items():
        run()  # opens the connections
        carried = []
        for _ in range(_TIMES):
            dist.barrier()
            before = _at_rest()
            dist.barrier()
            run()
            dist.barrier()
            carried.append(_at_rest() - before)
        found[name] = (PAYLOAD, min(carried))  # busy processors cut streams into smaller segments, with more headers
        dist.barrier()
    return found


def main() -> None:
    """Fork the ranks and print what rank 0 read."""
    world = int(sys.argv[1])
    _raise_loopback()
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rank in range(1, world):
            if not os.fork():
                try:
                    _rank(folder, rank, world)
                finally:
                    os._exit(0)
        print(json.dumps(_rank(folder, 0, world)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
