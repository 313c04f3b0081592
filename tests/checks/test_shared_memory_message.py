"""Exhausted shared memory. The texts are constructed from the formats of torch and NCCL."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "shared-memory-message"


def test_a_worker_dies() -> None:
    found = finding_of(CHECK, "docker\nRuntimeError: DataLoader worker (pid 8) is killed by signal: Bus error. ")
    assert found is not None and "64 MiB" in found.message
    assert "--shm-size" in words_of(found) and "--ipc=host" in words_of(found)


def test_the_collective_library() -> None:
    text = "NCCL WARN Error: failed to extend /dev/shm/nccl-Xy12 to 33030532 bytes"
    assert "collective library" in words_of(finding_of(CHECK, text))
    text = "misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-9a (size 9637888)"
    assert finding_of(CHECK, text) is not None


def test_silence() -> None:
    assert states(judge(CHECK, pasted("NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"))) == [
        "not-applicable"
    ]
