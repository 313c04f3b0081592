"""The only place where a host meets the parsers: questions in, a Machine out."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.collect.gpus import indices, merged
from rocdoctor.collect.gpus.asleep import sleeping
from rocdoctor.collect.gpus.drivers import collect_drivers
from rocdoctor.collect.gpus.holders import collect_holders
from rocdoctor.collect.gpus.nvidia_tool import collect_attached, collect_failure
from rocdoctor.collect.gpus.same_answers import SameAnswers
from rocdoctor.collect.jobs import running_job, statements
from rocdoctor.collect.jobs.job_logs import collect_run
from rocdoctor.collect.jobs.messages import collect_messages
from rocdoctor.collect.jobs.slurm import collect_slurm_nodes
from rocdoctor.collect.jobs.smoke import collect_smoke
from rocdoctor.collect.jobs.speakers import with_voices
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
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine, ToolFailure


def collect(
    host: Host,
    import_torch: bool = False,
    smoke: str = "",
    wake: bool = False,
    hold_torch: bool = False,
    seen_gpus: SameAnswers | None = None,
) -> Machine:
    """Everything that the host knows of its machine. Never raises for what a machine may answer.

    torch is imported (in a child) only where there is a GPU that it could use, or when asked; with ``hold_torch`` only
    when asked, since it takes longer than all else together. ``smoke``: the question of smoke tests to run; recorded
    ones are read without it. A GPU that sleeps is left asleep unless ``wake``: neither
    its vendor's tools nor torch are asked then. ``seen_gpus`` keeps what was read of GPUs from look to look.
    """
    host = noting = NotingHost(host)
    seen = running_job.view(host)  # with a job, environment, limits and control groups are that one's
    log.prefetch(host)
    for subject in (cpus, kernel, network_cards, memory, operating_system, user, container):
        subject.prefetch(seen)
    programs.prefetch(host)
    pending_settings.prefetch(host)
    host.prefetch([installations.question(False)])
    view = merged.from_sysfs(host, seen_gpus)
    vendors = sorted({record.vendor for record in view.records})
    asleep = set() if wake or smoke else sleeping(view.records)
    awake = [vendor for vendor in vendors if vendor not in asleep]
    several = len({record.bdf for record in view.records}) > 1
    if host.kind == "live":  # side by side: where a driver hangs, all of them do
        early = not asleep and not hold_torch and {"amd", "nvidia"} & set(vendors)
        host.prefetch([*questions(host, awake, several), *([installations.question(True)] if early else [])])
        log.prefetch_journal(host)
    tools = read_tools(host, awake, several)
    merged.add_tools(view, tools)
    running = kernel.collect_kernel(host, tools)
    distribution = operating_system.collect_os(host)
    environment = user.collect_environment(seen)
    nodes = user.collect_nodes(host, tools)
    virtual_machine = operating_system.collect_virtual_machine(host)
    kernel_log = log.collect_log(host, running.uptime_s)
    if isinstance(kernel_log, Known):
        merged.add_log(view, kernel_log.value)
    elif kernel_log.reason == "timeout":
        tools.failures.append(ToolFailure(str(kernel_log.source or "run dmesg"), kernel_log.why, reason="timeout"))
    statements.add_tree(view, tools)
    statements.add_log_of_nccl(host, view)
    statements.add_cards(host, view)
    found, links, unlike = merged.build(view, tools)
    wsl = "microsoft" in value_or(running.release, "").lower()  # there the GPU is not on the PCI bus
    usable = wsl or any(gpu.vendor in ("amd", "nvidia") for gpu in found)
    rocm, rocm_complete = installations.collect_rocm(host, value_or(distribution.id, None))
    running = kernel.with_log(running, kernel_log)
    named = packages.collect_packages(host, rocm, value_or(distribution.id, None), value_or(distribution.id_like, None))
    importing = host.kind == "live" and usable and not asleep and not hold_torch
    torch = installations.collect_torch(host, import_torch or importing)
    smoke_runs, smoke_question = collect_smoke(host, smoke)
    machine = Machine(
        smoke=smoke_runs,
        smoke_question=smoke_question,
        memory=memory.collect_memory(seen),
        nodes=nodes,
        user=user.collect_user(seen, environment),
        container=container.collect_container(
            seen, running_job.at_start(seen, environment), running.release, virtual_machine
        ),
        environment=environment,
        laptop=operating_system.collect_laptop(host),
        network=network_cards.collect_network(host, tools),
        network_complete=network_cards.is_complete(host),
        interfaces=network_cards.collect_interfaces(host),
        drivers=collect_drivers(host, tools, running),
        numa_nodes=collect_numa(host, tools),
        cpus=cpus.collect_cpus(seen, tools),
        kernel=running,
        os=distribution,
        rocm=packages.with_packages(rocm, named),
        rocm_packages=named,
        package_sources=packages.collect_sources(
            host, value_or(distribution.id, None), value_or(distribution.id_like, None)
        ),
        rocm_complete=rocm_complete,
        cuda_toolkits=installations.collect_cuda(host),
        torch=torch,
        gpus=indices.with_indices(found, view.topology, environment, torch),
        gpus_complete=view.complete,
        gpus_gap=None if any(gpu.vendor in ("amd", "nvidia") for gpu in found) else view.gap,
        holders=collect_holders(host, found),
        displays=tuple(view.displays),
        links=links,
        links_complete=view.topology.links_complete,
        kfd_present=view.topology.present,
        kfd_complete=view.topology.complete,
        kfd_nodes_hidden=view.topology.hidden,
        kfd_gpu_nodes=view.topology.gpu_nodes,
        nvidia_failure=collect_failure(host, tools, vendors),
        nvidia_attached=collect_attached(tools),
        failures=tuple(tools.failures),
        disagreements=unlike,
        commands=statements.collect_commands(host),
        messages=collect_messages(host),
        told=collect_told(host),
        slurm_nodes=collect_slurm_nodes(host),
        job=running_job.collect_job(host, running.uptime_s),
        run=collect_run(host),
        later=pending_settings.collect_later(host),
        programs=programs.collect_programs(host),
    )
    machine = with_voices(host, statements.filled(host, machine))
    return replace(machine, unanswered=(*noting.unanswered, *view.unread))
