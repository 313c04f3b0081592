"""What is known of a machine, step by step: each step asks what it needs when something is first made of it.

All steps in the order of ``FACTS`` are a whole machine. Where only some facts are wanted, the rest is never asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from rocdoctor.collect.gpus import indices, merged
from rocdoctor.collect.gpus.asleep import sleeping
from rocdoctor.collect.gpus.drivers import collect_drivers
from rocdoctor.collect.gpus.holders import collect_holders
from rocdoctor.collect.gpus.nvidia_tool import collect_attached, collect_failure
from rocdoctor.collect.gpus.same_answers import SameAnswers
from rocdoctor.collect.gpus.tool import LateTools, Tools
from rocdoctor.collect.jobs import running_job, statements
from rocdoctor.collect.jobs.job_logs import collect_run
from rocdoctor.collect.jobs.messages import collect_messages
from rocdoctor.collect.jobs.slurm import collect_slurm_nodes
from rocdoctor.collect.jobs.smoke import collect_smoke
from rocdoctor.collect.jobs.told import collect_told
from rocdoctor.collect.network import network_cards
from rocdoctor.collect.software import installations, packages
from rocdoctor.collect.system import (
    container,
    cpus,
    kernel,
    memory,
    operating_system,
    pending_settings,
    programs,
    user,
)
from rocdoctor.collect.system import (
    kernel_log as log,
)
from rocdoctor.collect.system.numa import collect_numa
from rocdoctor.collect.tool_outputs import questions, read_tools
from rocdoctor.collect.unanswered import NotingHost
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Fact, Known, Unknown, value_or
from rocdoctor.model.facts import (
    Container,
    Disagreement,
    Environment,
    Gpu,
    GpuLink,
    Kernel,
    KernelLog,
    Machine,
    OperatingSystem,
    RocmInstall,
    SmokeRun,
    ToolFailure,
    TorchBuild,
    Unanswered,
)
from rocdoctor.model.late import late


class CollectSteps:
    """The arguments are those of ``collect``. ``whole``: everything will be asked, so that much can begin at once."""

    def __init__(
        self,
        host: Host,
        import_torch: bool,
        smoke: str,
        wake: bool,
        hold_torch: bool,
        seen_gpus: SameAnswers | None,
        whole: bool = True,
    ) -> None:
        self.noting = NotingHost(host)
        self.host: Host = self.noting
        self.seen = running_job.view(self.host)  # with a job, environment, limits and control groups are that one's
        self.whole = whole
        self._live = host.kind == "live"
        self._import_torch, self._hold_torch = import_torch, hold_torch
        self._smoke, self._wake, self._seen_gpus = smoke, wake, seen_gpus

    def begin(self) -> None:
        """Start on what is always asked."""
        log.prefetch(self.host)
        for subject in (cpus, kernel, network_cards, memory, operating_system, user, container):
            subject.prefetch(self.seen)
        programs.prefetch(self.host)
        pending_settings.prefetch(self.host)
        self.host.prefetch([installations.question(False)])

    # -- GPUs

    @cached_property
    def view(self) -> merged.GpuView:
        """The GPUs that the kernel's files show; ``built`` adds what others tell of them."""
        return merged.from_sysfs(self.host, self._seen_gpus)

    @cached_property
    def bus(self) -> tuple[list[str], bool]:
        """The vendors of the GPUs on the bus, and whether there are several."""
        records = self.view.records
        return sorted({record.vendor for record in records}), len({record.bdf for record in records}) > 1

    @cached_property
    def asleep(self) -> set[str]:
        """The vendors whose GPUs sleep and are left asleep."""
        _ = self.bus
        return set() if self._wake or self._smoke else sleeping(self.view.records)

    @cached_property
    def tools(self) -> Tools:
        """What the vendors' tools print."""
        (vendors, several), asleep, host = self.bus, self.asleep, self.host
        awake = [vendor for vendor in vendors if vendor not in asleep]
        if self._live:  # side by side: where a driver hangs, all of them do
            early = self.whole and not asleep and not self._hold_torch and {"amd", "nvidia"} & set(vendors)
            importing = [installations.question(True)] if early else []
            host.prefetch([*questions(host, awake, several), *importing])
            if self.whole:
                log.prefetch_journal(host)
        return read_tools(host, awake, several)

    @cached_property
    def their(self) -> Tools:
        """The same for those who may do without: what no live machine is asked for is known at once."""
        return self.tools if self.whole else LateTools(lambda: self.tools)

    @cached_property
    def built(self) -> tuple[tuple[Gpu, ...], tuple[GpuLink, ...], tuple[Disagreement, ...]]:
        """GPUs, links, and where sources disagree."""
        if not self.whole:
            log.prefetch(self.host)
        merged.add_tools(self.view, self.tools)
        if isinstance(self.log, Known):
            merged.add_log(self.view, self.log.value)
        statements.add_tree(self.view, self.tools)
        statements.add_log_of_nccl(self.host, self.view)
        statements.add_cards(self.host, self.view)
        return merged.build(self.view, self.tools)

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """With the numbers by which HIP and torch call them."""
        found = self.built[0]
        if self.whole:
            return indices.with_indices(found, self.view.topology, self.environment, self.torch)
        numbered = indices.with_indices(found, self.view.topology, self.environment, TorchBuild())
        return tuple(self._late_gpu(gpu) for gpu in numbered)

    def _late_gpu(self, gpu: Gpu) -> Gpu:
        known = {name: getattr(gpu, name) for name in Gpu.__dataclass_fields__ if name != "torch_index"}
        return late(Gpu, known, {"torch_index": lambda: indices.torch_index(gpu, indices.by_address(self.torch))})

    @property
    def complete(self) -> bool:
        _ = self.built
        return self.view.complete

    @property
    def gap(self) -> Unknown | None:
        found = self.built[0]
        return None if any(gpu.vendor in ("amd", "nvidia") for gpu in found) else self.view.gap

    @property
    def failures(self) -> tuple[ToolFailure, ...]:
        """Of the tools, and of the kernel log where it hung."""
        given, tools = self.log, self.tools
        late_log: list[ToolFailure] = []
        if isinstance(given, Unknown) and given.reason == "timeout":
            late_log.append(ToolFailure(str(given.source or "run dmesg"), given.why, reason="timeout"))
        return (*tools.failures, *late_log)

    # -- system

    @cached_property
    def running(self) -> Kernel:
        """The kernel without its log."""
        return kernel.collect_kernel(self.host, self.their)

    @cached_property
    def log(self) -> Fact[KernelLog]:
        return log.collect_log(self.host, self.running.uptime_s)

    @cached_property
    def kernel(self) -> Kernel:
        if self.whole:
            return kernel.with_log(self.running, self.log)
        found = self.running
        known = {name: getattr(found, name) for name in Kernel.__dataclass_fields__ if name not in ("release", "log")}
        ways: dict[str, Callable[[], Any]] = {"log": lambda: self.log}
        if isinstance(found.release, Known):
            known["release"] = found.release
        else:
            ways["release"] = lambda: kernel.with_log(found, self.log).release
        return late(Kernel, known, ways)

    @cached_property
    def os(self) -> OperatingSystem:
        return operating_system.collect_os(self.host)

    @cached_property
    def virtual_machine(self) -> Fact[str | None]:
        return operating_system.collect_virtual_machine(self.host)

    @cached_property
    def environment(self) -> Environment:
        return user.collect_environment(self.seen)

    @property
    def container(self) -> Container:
        at_start = running_job.at_start(self.seen, self.environment)
        return container.collect_container(self.seen, at_start, self.kernel.release, self.virtual_machine)

    # -- software

    @property
    def ids(self) -> tuple[str | None, str | None]:
        return value_or(self.os.id, None), value_or(self.os.id_like, None)

    @cached_property
    def installed(self) -> tuple[tuple[RocmInstall, ...], bool]:
        return installations.collect_rocm(self.host, self.ids[0])

    @cached_property
    def packages(self) -> Fact[Mapping[str, str]]:
        return packages.collect_packages(self.host, self.installed[0], *self.ids)

    @cached_property
    def torch(self) -> TorchBuild:
        """torch is imported where there is a GPU that it could use."""
        return installations.collect_torch(self.host, self._import_torch or self._importing())

    def _importing(self) -> bool:
        if not self._live or self._hold_torch:
            return False
        wsl = "microsoft" in value_or(self.running.release, "").lower()  # there the GPU is not on the PCI bus
        usable = wsl or any(gpu.vendor in ("amd", "nvidia") for gpu in self.built[0])
        return usable and not self.asleep

    @cached_property
    def smoke(self) -> tuple[tuple[SmokeRun, ...], str]:
        return collect_smoke(self.host, self._smoke)

    @property
    def unanswered(self) -> tuple[Unanswered, ...]:
        """So far."""
        return (*self.noting.unanswered, *(self.view.unread if "view" in self.__dict__ else ()))

    @property
    def gpus_known(self) -> bool:
        """Whether somebody has asked for them."""
        return "built" in self.__dict__


Way = Callable[[CollectSteps], Any]
FACTS: dict[str, Way] = {
    "smoke": lambda of: of.smoke[0],
    "smoke_question": lambda of: of.smoke[1],
    "memory": lambda of: memory.collect_memory(of.seen),
    "nodes": lambda of: user.collect_nodes(of.host, of.their),
    "user": lambda of: user.collect_user(of.seen, of.environment),
    "container": lambda of: of.container,
    "environment": lambda of: of.environment,
    "laptop": lambda of: operating_system.collect_laptop(of.host),
    "network": lambda of: network_cards.collect_network(of.host, of.their),
    "network_complete": lambda of: network_cards.is_complete(of.host),
    "interfaces": lambda of: network_cards.collect_interfaces(of.host),
    "drivers": lambda of: collect_drivers(of.host, of.their, of.kernel),
    "numa_nodes": lambda of: collect_numa(of.host, of.their),
    "cpus": lambda of: cpus.collect_cpus(of.seen, of.their),
    "kernel": lambda of: of.kernel,
    "os": lambda of: of.os,
    "rocm": lambda of: packages.with_packages(of.installed[0], of.packages),
    "rocm_packages": lambda of: of.packages,
    "package_sources": lambda of: packages.collect_sources(of.host, *of.ids),
    "rocm_complete": lambda of: of.installed[1],
    "cuda_toolkits": lambda of: installations.collect_cuda(of.host),
    "torch": lambda of: of.torch,
    "gpus": lambda of: of.gpus,
    "gpus_complete": lambda of: of.complete,
    "gpus_gap": lambda of: of.gap,
    "holders": lambda of: collect_holders(of.host, of.built[0]),
    "displays": lambda of: tuple(of.built and of.view.displays),
    "links": lambda of: of.built[1],
    "links_complete": lambda of: of.view.topology.links_complete,
    "kfd_present": lambda of: of.view.topology.present,
    "kfd_complete": lambda of: of.view.topology.complete,
    "kfd_nodes_hidden": lambda of: of.view.topology.hidden,
    "kfd_gpu_nodes": lambda of: of.view.topology.gpu_nodes,
    "nvidia_failure": lambda of: collect_failure(of.host, of.tools, of.bus[0]),
    "nvidia_attached": lambda of: collect_attached(of.tools),
    "failures": lambda of: of.failures,
    "disagreements": lambda of: of.built[2],
    "commands": lambda of: statements.collect_commands(of.host),
    "messages": lambda of: collect_messages(of.host),
    "told": lambda of: collect_told(of.host),
    "slurm_nodes": lambda of: collect_slurm_nodes(of.host),
    "job": lambda of: running_job.collect_job(of.host, of.running.uptime_s),
    "run": lambda of: collect_run(of.host),
    "later": lambda of: pending_settings.collect_later(of.host),
    "programs": lambda of: programs.collect_programs(of.host),
}
"""Each fact of a machine that is asked for, in the order in which a whole one is."""


def whole_machine(steps: CollectSteps) -> Machine:
    """All facts, in the order in which they have always been asked for: a bundle shows it."""
    steps.begin()
    _ = steps.view, steps.tools, steps.running, steps.os, steps.environment
    nodes = FACTS["nodes"](steps)
    _ = steps.virtual_machine, steps.log, steps.built, steps.installed, steps.packages, steps.torch
    return Machine(**{name: nodes if name == "nodes" else way(steps) for name, way in FACTS.items()})
