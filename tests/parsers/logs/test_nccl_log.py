"""NCCL and RCCL logs; lines transcribed from what the libraries print."""

from __future__ import annotations

from rocdoctor.parsers.logs.nccl_log import parse_nccl_log

LOG = """node:10:10 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
node:10:10 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>
RCCL version 2.18.6+hip6.2 HEAD:1234
node:10:20 [0] NCCL INFO comm 0x55aa rank 0 nranks 2 cudaDev 0 busId c1000 commId 0x1 - Init COMPLETE
node:10:21 [1] NCCL INFO comm 0x55bb rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 3000 commId 0x1 - Init COMPLETE
"""


def test_build_and_gpus() -> None:
    log = parse_nccl_log(LOG)
    assert (log.hip, log.cuda) == ("6.2", None)
    assert log.world == 2
    assert [(one.device, one.bdf, one.line) for one in log.gpus] == [(0, "0000:c1:00.0", 4), (1, "0000:03:00.0", 5)]


def test_a_cuda_build_is_told_apart() -> None:
    log = parse_nccl_log("NCCL version 2.21.5+cuda12.4\n")
    assert (log.cuda, log.hip) == ("12.4", None)


def test_other_text_gives_nothing() -> None:
    assert parse_nccl_log("hello\n") == parse_nccl_log("")
