"""Processors and NUMA nodes; the trees are constructed."""

from __future__ import annotations

from rocdoctor.collect.system.cpus import collect_cpus
from rocdoctor.collect.system.numa import collect_numa
from rocdoctor.model.evidence import Known, Unknown
from tests.collect.hosts import excerpt, tools, whole

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
# Two packages of two cores with two threads; CPU 7 is offline, so it has no topology folder.
_SIBLINGS = {0: "0,4", 1: "1,5", 2: "2,6", 3: "3", 4: "0,4", 5: "1,5", 6: "2,6"}
_TREE = {
    f"read {_CPU}/online": "0-6",
    f"list {_CPU}/cpu[0-9]*/topology": "\n".join(f"{_CPU}/cpu{number}/topology" for number in _SIBLINGS),
    **{f"read {_CPU}/cpu{number}/topology/core_cpus_list": text for number, text in _SIBLINGS.items()},
    **{
        f"read {_CPU}/cpu{n}/topology/package_cpus_list": "0-1,4-5" if n in (0, 1, 4, 5) else "2-3,6" for n in _SIBLINGS
    },
    "read /proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-1,4\n",
    "read /proc/self/cgroup": "0::/a.slice/b.scope",
    "read /sys/fs/cgroup/a.slice/b.scope/cpu.max": "max 100000",
    "read /sys/fs/cgroup/a.slice/cpu.max": "250000 100000",
}


def test_online_cpus_are_counted_and_grouped() -> None:
    host = whole(_TREE)
    cpus = collect_cpus(host, tools(host))
    counts = [fact.value for fact in (cpus.packages, cpus.cores, cpus.threads, cpus.usable) if isinstance(fact, Known)]
    assert counts == [2, 4, 7, 3]
    assert isinstance(cpus.quota, Known) and cpus.quota.value == 2.5
    assert cpus.quota.source.question == "read /sys/fs/cgroup/a.slice/cpu.max"


def test_a_shorter_online_file_of_a_container_does_not_hide_cpus() -> None:
    host = whole(_TREE | {f"read {_CPU}/online": "0-1"})
    threads = collect_cpus(host, tools(host)).threads
    assert isinstance(threads, Known) and threads.value == 7


def test_ids_count_where_there_are_no_lists_and_minus_one_is_no_id() -> None:
    ids = {0: ("0", "0"), 1: ("0", "1"), 2: ("1", "0"), 3: ("1", "1")}
    tree = {f"read {_CPU}/online": "0-3"}
    tree |= {f"read {_CPU}/cpu{n}/topology/physical_package_id": package for n, (package, _) in ids.items()}
    tree |= {f"read {_CPU}/cpu{n}/topology/core_id": core for n, (_, core) in ids.items()}
    host = excerpt(tree)
    cpus = collect_cpus(host, tools(host))
    assert isinstance(cpus.packages, Known) and cpus.packages.value == 2
    assert isinstance(cpus.cores, Known) and cpus.cores.value == 4
    host = excerpt(tree | {f"read {_CPU}/cpu3/topology/physical_package_id": "-1"})
    assert isinstance(collect_cpus(host, tools(host)).packages, Unknown)


def test_nothing_is_made_up_without_evidence() -> None:
    host = excerpt({})
    cpus = collect_cpus(host, tools(host))
    for name in ("model", "vendor", "arch", "packages", "cores", "threads", "usable", "quota", "governors"):
        assert isinstance(getattr(cpus, name), Unknown), name
    assert collect_numa(host, tools(host)) == ()


def test_lscpu_answers_where_sysfs_does_not() -> None:
    text = (
        "Architecture: aarch64\nCPU(s): 8\nOn-line CPU(s) list: 0-5\nModel name: Neoverse-N1\nCore(s) per socket: 4\n"
    )
    host = excerpt({"run lscpu": text + "Socket(s): 2\nNUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\n"})
    cpus = collect_cpus(host, tools(host))
    found = [getattr(cpus, name).value for name in ("arch", "model", "packages", "cores", "threads")]
    assert found == ["aarch64", "Neoverse-N1", 2, 8, 6]
    assert [(node.node, getattr(node.cpulist, "value", None)) for node in collect_numa(host, tools(host))] == [
        (0, "0-3"),
        (1, "4-7"),
    ]


def test_governors_are_named_once_and_absent_is_not_unknown() -> None:
    policies = [f"{_CPU}/cpufreq/policy{number}/scaling_governor" for number in range(3)]
    tree = {f"list {_CPU}/cpufreq/policy[0-9]*/scaling_governor": "\n".join(policies)}
    tree |= dict(zip((f"read {path}" for path in policies), ("powersave", "performance", "powersave"), strict=True))
    host = whole(tree)
    governors = collect_cpus(host, tools(host)).governors
    assert isinstance(governors, Known) and governors.value == ("performance", "powersave")
    none, excerpted = (collect_cpus(one, tools(one)).governors for one in (whole({}), excerpt({})))
    assert isinstance(none, Unknown) and none.reason == "absent"
    assert isinstance(excerpted, Unknown) and excerpted.reason == "not-asked"


def test_numa_nodes_with_masks_memory_alone_and_distances() -> None:
    host = excerpt(
        {
            f"list {_NODE}/node[0-9]*": f"{_NODE}/node0\n{_NODE}/node1",
            f"read {_NODE}/node0/cpumap": "0000000f,000000ff",
            f"read {_NODE}/node0/meminfo": "Node 0 MemTotal:       1024 kB\n",
            f"read {_NODE}/node0/distance": "10 21",
            f"read {_NODE}/node1/cpulist": "",
        }
    )
    first, second = collect_numa(host, tools(host))
    assert isinstance(first.cpulist, Known) and first.cpulist.value == "0-7,32-35"
    assert isinstance(first.memory_bytes, Known) and first.memory_bytes.value == 1024 * 1024
    assert isinstance(first.distances, Known) and first.distances.value == (10, 21)
    assert isinstance(second.cpulist, Known) and second.cpulist.value == ""
    assert isinstance(second.memory_bytes, Unknown)
