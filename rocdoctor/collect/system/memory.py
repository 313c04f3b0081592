"""Main memory, swap, and what limits them: control groups, /dev/shm, huge pages, the GPU driver's share."""

from __future__ import annotations

from typing import TypeVar

from rocdoctor.collect.reading import read_fact
from rocdoctor.collect.recorded_outputs import cgroup_folders, outputs, stated, sysctl, tightest
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, first_known
from rocdoctor.model.facts import Memory
from rocdoctor.parsers.formats.text import to_int, whole_number
from rocdoctor.parsers.system.limits import parse_limit
from rocdoctor.parsers.system.memory import (
    FileSystemSize,
    Meminfo,
    parse_df,
    parse_meminfo,
    parse_swaps,
    selected_choice,
)
from rocdoctor.parsers.system.mounts import mount_at, parse_mounts

T = TypeVar("T")

_THP = "/sys/kernel/mm/transparent_hugepage/enabled"
_TTM = ("/sys/module/ttm/parameters/pages_limit", "/sys/module/amdttm/parameters/pages_limit")


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    paths = ("/proc/meminfo", "/proc/swaps", "/proc/self/cgroup", "/proc/sys/vm/swappiness", _THP, *_TTM)
    host.prefetch([*(f"read {path}" for path in paths), "read /proc/sys/kernel/numa_balancing", "space /dev/shm"])


def collect_memory(host: Host) -> Memory:
    """Everything about main memory."""
    prefetch(host)
    answer = host.ask("read /proc/meminfo")
    info = parse_meminfo(answer.text) if answer.ok else Meminfo()

    def told(values: dict[str, int], name: str) -> Fact[int]:
        return stated(values.get(name), answer, info.lines.get(name)) if answer.ok else answer.unknown()

    swap_total, swap_free = _swaps(host)
    shm, shm_free = _shm(host)
    return Memory(
        total_bytes=told(info.sizes_bytes, "MemTotal"),
        available_bytes=told(info.sizes_bytes, "MemAvailable"),
        swap_total_bytes=first_known(told(info.sizes_bytes, "SwapTotal"), swap_total),
        swap_free_bytes=first_known(told(info.sizes_bytes, "SwapFree"), swap_free),
        cgroup_limit_bytes=_cgroup_limit(host),
        shm_bytes=shm,
        shm_free_bytes=shm_free,
        transparent_hugepage=read_fact(host, _THP, selected_choice),
        hugepages_total=told(info.counts, "HugePages_Total"),
        hugepage_size_bytes=told(info.sizes_bytes, "Hugepagesize"),
        numa_balancing=sysctl(host, "kernel/numa_balancing", _numa_balancing),
        ttm_pages_limit=first_known(*(read_fact(host, path, to_int) for path in _TTM)),
    )


def _numa_balancing(text: str) -> bool | None:
    """The value has two bits since Linux 5.18: 1 is balancing, 2 moves pages between kinds of memory."""
    value = to_int(text)
    return None if value is None else bool(value & 1)


def _swaps(host: Host) -> tuple[Fact[int], Fact[int]]:
    answer = host.ask("read /proc/swaps")
    areas = parse_swaps(answer.text) if answer.ok else None
    if areas is None:
        return answer.unknown(), answer.unknown()
    total = sum(area.size_bytes for area in areas)
    free = total - sum(area.used_bytes for area in areas)
    return Known(total, answer.source()), Known(free, answer.source())


def _cgroup_limit(host: Host) -> Fact[int | None]:
    """The tightest memory limit of our control groups; Known(None) when none is set."""
    found = cgroup_folders(host, "memory")
    if found is None:
        return host.ask("read /proc/self/cgroup").unknown()
    version, folders = found

    def parse(text: str, folder: str) -> tuple[int | None] | None:
        limit = parse_limit(text)
        return None if limit is None else (limit.value,)

    return tightest(host, folders, "memory.max" if version == 2 else "memory.limit_in_bytes", parse)


def _shm(host: Host) -> tuple[Fact[int], Fact[int]]:
    """(size, free) of /dev/shm, bytes: as the file system says, else as it was mounted, else from `df`."""
    answer = host.ask("space /dev/shm")
    words = answer.text.split() if answer.ok else []
    total, left = (whole_number(words[0]), whole_number(words[1])) if len(words) == 2 else (None, None)
    if total is not None and left is not None:
        return Known(total, answer.source(1)), Known(left, answer.source(1))
    sizes: list[Fact[int]] = [answer.unknown()]
    free: list[Fact[int]] = [answer.unknown()]
    for _, output in outputs(host, "df"):
        row = next((one for one in parse_df(output.text) if one.mount_point == "/dev/shm"), None)
        sizes.append(_of(row, output, row.size_bytes if row else None))
        free.append(_of(row, output, row.available_bytes if row else None))
    mounts = host.ask("read /proc/mounts")
    mount = mount_at(parse_mounts(mounts.text), "/dev/shm") if mounts.ok else None
    if mount is not None:
        sizes.append(stated(mount.size_bytes, mounts, mount.line))
    return first_known(*sizes), first_known(*free)


def _of(row: FileSystemSize | None, answer: Answer, value: int | None) -> Fact[int]:
    return stated(value, answer, row.line) if row is not None else NOT_ASKED
