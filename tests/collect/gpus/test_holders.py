from __future__ import annotations

from rocdoctor.collect.gpus.holders import collect_holders
from rocdoctor.model.evidence import NOT_ASKED, Known, Unknown
from tests.collect.hosts import excerpt, whole
from tests.kit import amd_gpu

_SAID = "4711 93600 /dev/dri/renderD128,/dev/kfd my server\n4712 5 /dev/kfd python3\nhidden 12"


def test_they_are_asked_for_where_memory_is_in_use() -> None:
    host = whole({"holders gpu": _SAID})
    for idle in (amd_gpu(), amd_gpu(vram_used_bytes=1 << 30), amd_gpu(vram_used_percent=3)):
        assert collect_holders(host, [idle]) is NOT_ASKED
    for used in (amd_gpu(vram_used_bytes=40 << 30), amd_gpu(vram_used_percent=60)):
        holders = collect_holders(host, [amd_gpu(), used])
        assert isinstance(holders, Known)
        server, other = holders.value.processes
        assert (server.pid, server.age_s, server.name, server.line) == (4711, 93_600, "my server", 1)
        assert (server.nodes, other.name) == (("/dev/dri/renderD128", "/dev/kfd"), "python3")
        assert holders.value.hidden == 12


def test_old_evidence_does_not_tell() -> None:
    assert isinstance(collect_holders(excerpt({}), [amd_gpu(vram_used_bytes=40 << 30)]), Unknown)
