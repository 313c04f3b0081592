"""Main memory; the texts are constructed in the kernel's form."""

from __future__ import annotations

from rocdoctor.collect.system.memory import collect_memory
from rocdoctor.model.evidence import Known, Unknown
from tests.collect.hosts import excerpt, whole

_GROUP = {"read /proc/self/cgroup": "0::/user.slice/job.scope"}
_MAX = {"read /sys/fs/cgroup/user.slice/job.scope/memory.max": "max"}


def test_sizes_are_bytes_with_their_lines() -> None:
    text = "MemTotal:       2048 kB\nMemAvailable:   1024 kB\nSwapTotal: 0 kB\nHugePages_Total:       3\n"
    memory = collect_memory(excerpt({"read /proc/meminfo": text, "space /dev/shm": "67108864 1000"}))
    assert isinstance(memory.available_bytes, Known) and memory.available_bytes.value == 1024 * 1024
    assert memory.available_bytes.source.line == 2
    assert isinstance(memory.swap_total_bytes, Known) and memory.swap_total_bytes.value == 0
    assert isinstance(memory.swap_free_bytes, Unknown)
    assert isinstance(memory.hugepages_total, Known) and memory.hugepages_total.value == 3
    assert isinstance(memory.shm_bytes, Known) and memory.shm_bytes.value == 64 << 20


def test_no_limit_is_known_only_when_every_group_was_seen() -> None:
    unlimited = collect_memory(whole(_GROUP | _MAX)).cgroup_limit_bytes
    assert isinstance(unlimited, Known) and unlimited.value is None
    assert isinstance(collect_memory(excerpt(_GROUP | _MAX)).cgroup_limit_bytes, Unknown)
    assert isinstance(collect_memory(excerpt({})).cgroup_limit_bytes, Unknown)


def test_the_tightest_group_above_counts() -> None:
    above = {"read /sys/fs/cgroup/user.slice/memory.max": "1073741824"}
    limit = collect_memory(whole(_GROUP | _MAX | above)).cgroup_limit_bytes
    assert isinstance(limit, Known) and limit.value == 1 << 30
    old = {
        "read /proc/self/cgroup": "4:memory:/docker/x",
        "read /sys/fs/cgroup/memory/memory.limit_in_bytes": "4096000",
    }
    limit = collect_memory(whole(old)).cgroup_limit_bytes
    assert isinstance(limit, Known) and limit.value == 4096000


def test_settings_also_come_from_an_output_of_sysctl() -> None:
    memory = collect_memory(excerpt({"run sysctl -a": "vm.swappiness = 10\nkernel.numa_balancing = 2\n"}))
    assert isinstance(memory.numa_balancing, Known) and memory.numa_balancing.value is False


def test_of_two_limits_the_smaller_counts() -> None:
    own = {"read /sys/fs/cgroup/user.slice/job.scope/memory.max": "536870912"}
    above = {"read /sys/fs/cgroup/user.slice/memory.max": "1073741824"}
    limit = collect_memory(whole(_GROUP | own | above)).cgroup_limit_bytes
    assert isinstance(limit, Known) and limit.value == 1 << 29
