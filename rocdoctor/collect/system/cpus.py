"""The processors: how many, which, how they are arranged, and what of them we may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import lstopo, rccl_topo, rocminfo
from rocdoctor.collect.reading import names_in, read_fact, word
from rocdoctor.collect.recorded_outputs import cgroup_folders, outputs, stated, tightest
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown, first_known
from rocdoctor.model.facts import Cpus
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.cpuset import list_to_set
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.kernel.running_kernel import parse_version
from rocdoctor.parsers.system.cpu import CpuInfo, Lscpu, parse_cpuinfo, parse_lscpu
from rocdoctor.parsers.system.limits import parse_limit
from rocdoctor.parsers.system.process import parse_status

T = TypeVar("T")

_SYSFS = "/sys/devices/system/cpu"
_SCALING_DRIVER = f"{_SYSFS}/cpufreq/policy0/scaling_driver"
_POLICIES = f"{_SYSFS}/cpufreq/policy[0-9]*/scaling_governor"
_TOPOLOGY = f"{_SYSFS}/cpu[0-9]*/topology"
_MACHINES = regex(r"[a-z][a-z0-9_]{2,15}\Z")


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch(["read /proc/cpuinfo", f"read {_SYSFS}/online", f"list {_TOPOLOGY}", "read /proc/self/status"])
    host.prefetch([f"list {_POLICIES}"])


def collect_cpus(host: Host, tools: Tools) -> Cpus:
    """The processors: sysfs and /proc first, then whatever listing there is."""
    prefetch(host)
    answer = host.ask("read /proc/cpuinfo")
    info = parse_cpuinfo(answer.text) if answer.ok else CpuInfo()
    lscpus = [(parse_lscpu(output.text), output) for _, output in outputs(host, "lscpu")]
    numbers, threads = _online(host)

    def told(value: T | None, name: str) -> Fact[T]:
        return stated(value, answer, info.lines.get(name)) if answer.ok else answer.unknown()

    return Cpus(
        model=first_known(
            told(info.model_name, "model_name"),
            *(stated(one.model_name, output, one.lines.get("model_name")) for one, output in lscpus),
            *(stated(one.cpu_models[0] if one.cpu_models else None, output) for one, output in tools.of(lstopo.TOOL)),
            *_rocminfo_models(tools),
        ),
        vendor=first_known(
            told(info.vendor_id, "vendor_id"),
            *(stated(one.vendor_id, output, one.lines.get("vendor_id")) for one, output in lscpus),
            *(
                stated(cpu.vendor, output, cpu.line)
                for dump, output in tools.of(rccl_topo.TOOL)
                for cpu in dump.cpus[:1]
            ),
        ),
        arch=_arch(host, tools, told(info.architecture, "flags"), lscpus),
        packages=first_known(
            _packages(host, numbers),
            told(info.packages, "packages"),
            *(stated(one.sockets, output, one.lines.get("sockets")) for one, output in lscpus),
            *(stated(None if one.truncated else one.packages, output) for one, output in tools.of(lstopo.TOOL)),
        ),
        cores=first_known(
            _cores(host, numbers),
            told(info.cores, "cores"),
            *(_lscpu_cores(one, output) for one, output in lscpus),
            *(stated(None if one.truncated else one.cores, output) for one, output in tools.of(lstopo.TOOL)),
        ),
        threads=first_known(
            threads,
            told(info.threads or None, "threads"),
            *(_lscpu_threads(one, output) for one, output in lscpus),
            *(stated(None if one.truncated else one.pus, output) for one, output in tools.of(lstopo.TOOL)),
        ),
        usable=_usable(host, tools),
        quota=_quota(host),
        governors=_governors(host),
        scaling_driver=read_fact(host, _SCALING_DRIVER, word),
    )


def _online(host: Host) -> tuple[list[int], Fact[int]]:
    """(CPU numbers, how many are online).

    The kernel keeps a topology folder for each CPU that is online. Where a container manager puts a shorter list of
    its own over the file ``online``, the folders still show the machine; where an excerpt lacks folders, the file does.
    """
    listed, answer = host.ask(f"list {_TOPOLOGY}"), host.ask(f"read {_SYSFS}/online")
    folders = {
        int(match[1]) for path in (listed.lines() if listed.ok else []) if (match := re.search(r"/cpu(\d{1,5})/", path))
    }
    named = (list_to_set(answer.text) if answer.ok else None) or frozenset()
    numbers = sorted(folders | named)
    if not numbers:
        return [], answer.unknown() if answer.data or not answer.ok else listed.unknown()
    if named >= folders:
        return numbers, Known(len(numbers), answer.source(1))
    return numbers, Known(len(numbers), listed.source())


def _sibling_groups(host: Host, numbers: Iterable[int], names: tuple[str, ...]) -> Fact[int]:
    """How many groups the CPUs form, each file naming all CPUs of one group: one read a group is enough."""
    todo = list(numbers)
    left = set(todo)
    groups = 0
    source: Source | None = None
    for number in todo:
        if number not in left:
            continue
        answer = Answer("", "not-asked")
        for name in names:
            answer = host.ask(f"read {_SYSFS}/cpu{number}/topology/{name}")
            members = list_to_set(answer.text) if answer.ok else None
            if members:
                break
        else:
            return answer.unknown()
        if number not in members:
            return Unknown(f"{answer.question}: the list lacks CPU {number} itself", "unparsable", answer.source())
        groups += 1
        source = source or answer.source(1)
        left -= members
    return Known(groups, source) if source is not None else NOT_ASKED


def _ids(host: Host, numbers: list[int], names: tuple[str, ...]) -> Fact[int]:
    """How many different ids the CPUs have; unknown when one CPU has none (the kernel writes -1 for that)."""
    questions = [[f"read {_SYSFS}/cpu{number}/topology/{name}" for name in names] for number in numbers]
    if not questions:
        return NOT_ASKED
    first = host.ask(questions[0][-1])
    if not first.ok:
        return first.unknown()
    host.prefetch(question for group in questions for question in group)
    found: set[tuple[str, ...]] = set()
    for group in questions:
        answers = [host.ask(question) for question in group]
        # A damaged bundle may hold a number under a failure.
        bad = next((answer for answer in answers if not answer.ok or whole_number(answer.text) is None), None)
        if bad is not None:
            return bad.unknown()
        found.add(tuple(answer.text.strip() for answer in answers))
    return Known(len(found), first.source(1))


def _packages(host: Host, numbers: list[int]) -> Fact[int]:
    if not numbers:
        return NOT_ASKED
    return first_known(
        _sibling_groups(host, numbers, ("package_cpus_list", "core_siblings_list")),
        _ids(host, numbers, ("physical_package_id",)),
    )


def _cores(host: Host, numbers: list[int]) -> Fact[int]:
    """By sibling lists, since core ids may repeat between the dies of one package."""
    if not numbers:
        return NOT_ASKED
    return first_known(
        _sibling_groups(host, numbers, ("core_cpus_list", "thread_siblings_list")),
        _ids(host, numbers, ("physical_package_id", "core_id")),
    )


def _lscpu_cores(one: Lscpu, answer: Answer) -> Fact[int]:
    product = one.sockets * one.cores_per_socket if one.sockets and one.cores_per_socket else None
    return stated(product, answer, one.lines.get("cores_per_socket"))


def _lscpu_threads(one: Lscpu, answer: Answer) -> Fact[int]:
    online = list_to_set(one.online_cpulist) if one.online_cpulist else None
    if online:
        return stated(len(online), answer, one.lines.get("online_cpulist"))
    return stated(None if one.offline_cpulist else one.cpus, answer, one.lines.get("cpus"))


def _rocminfo_models(tools: Tools) -> list[Fact[str]]:
    return [
        stated(agent.marketing_name, answer, agent.lines.get("marketing_name", agent.line))
        for info, answer in tools.of(rocminfo.TOOL)
        for agent in info.agents
        if agent.device_type == "CPU"
    ]


def _arch(host: Host, tools: Tools, told: Fact[str], lscpus: list[tuple[Lscpu, Answer]]) -> Fact[str]:
    facts = [told, *(stated(one.architecture, output, one.lines.get("architecture")) for one, output in lscpus)]
    for arguments, answer in outputs(host, "uname"):
        version = parse_version(answer.text)
        word = answer.text.strip()
        machine = word if arguments == ["-m"] and _MACHINES.match(word) else version.machine if version else None
        facts.append(stated(machine, answer, 1))
    facts += [stated(one.infos.get("Architecture"), answer) for one, answer in tools.of(lstopo.TOOL)]
    facts += [stated(cpu.arch, answer, cpu.line) for dump, answer in tools.of(rccl_topo.TOOL) for cpu in dump.cpus[:1]]
    best = first_known(*facts)
    if isinstance(best, Unknown) and host.kind == "live":  # an architecture whose /proc/cpuinfo does not tell
        answer = host.ask("run uname -m")
        word = answer.text.strip() if answer.ok else ""
        return Known(word, answer.source(1)) if _MACHINES.match(word) else best
    return best


def _usable(host: Host, tools: Tools) -> Fact[int]:
    """On how many CPUs this process may run: affinity and cpuset together, as the kernel states them."""
    answer = host.ask("read /proc/self/status")
    status = parse_status(answer.text) if answer.ok else None
    allowed = list_to_set(status.cpus_allowed) if status is not None and status.cpus_allowed else None
    if status is not None and allowed:
        return Known(len(allowed), answer.source(status.lines.get("cpus_allowed")))
    facts: list[Fact[int]] = [answer.unknown()]
    for topology, output in tools.of(lstopo.TOOL):
        listed = list_to_set(topology.allowed_cpulist) if topology.allowed_cpulist else None
        facts.append(stated(len(listed) if listed else None, output, topology.lines.get("allowed_cpulist")))
    return first_known(*facts)


def _quota(host: Host) -> Fact[float]:
    """The tightest CPU quota of our control groups, in CPUs; unknown ("absent") when none is set."""
    found = cgroup_folders(host, "cpu")
    if found is None:
        return host.ask("read /proc/self/cgroup").unknown()
    version, folders = found
    name = "cpu.max" if version == 2 else "cpu.cfs_quota_us"
    periods = {folder: _period(host, folder) for folder in folders} if version == 1 else {}

    def parse(text: str, folder: str) -> tuple[float | None] | None:
        words = text.split()
        limit = parse_limit(words[0]) if words else None
        told = whole_number(words[1]) if len(words) > 1 else None
        period = periods.get(folder) if told is None else told
        if limit is None:
            return None
        if limit.value is None:
            return (None,)
        return (limit.value / period,) if period else None

    fact = tightest(host, folders, name, parse)
    if isinstance(fact, Unknown):
        return fact
    if fact.value is None:
        return Unknown("no quota is set", "absent", fact.source)
    return Known(fact.value, fact.source)


def _period(host: Host, folder: str) -> int | None:
    answer = host.ask(f"read {folder}/cpu.cfs_period_us")
    return whole_number(answer.text, 10**11) if answer.ok else None


def _governors(host: Host) -> Fact[tuple[str, ...]]:
    """The frequency governors in use, each once; "absent" where the machine has no frequency control."""
    paths = names_in(host, _POLICIES)
    if not paths:
        listed = host.ask(f"list {_POLICIES}")
        if listed.ok and listed.complete:
            return Unknown("this machine shows no frequency control", "absent", listed.source())
        return Unknown("no frequency policies in this evidence", "not-asked", listed.source())
    questions = [f"read {path}" for path in paths]
    host.prefetch(questions)
    answers = [host.ask(question) for question in questions]
    words = {answer.text.strip() for answer in answers if answer.ok and answer.text.strip()}
    if not words:
        return answers[0].unknown()
    return Known(tuple(sorted(words)), next(answer for answer in answers if answer.ok).source(1))
