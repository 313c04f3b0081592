"""The only place where a host meets the parsers: questions in, a Machine out."""

from __future__ import annotations

from rocdoctor.collect import cpus, gpus, kernel, log, network, software
from rocdoctor.collect.drivers import collect_drivers
from rocdoctor.collect.numa import collect_numa
from rocdoctor.collect.sources import read_tools
from rocdoctor.evidence import Known, value_or
from rocdoctor.facts import Machine, OperatingSystem
from rocdoctor.host.base import Host


def collect(host: Host, import_torch: bool = False) -> Machine:
    """Everything that the host knows of its machine. Never raises for what a machine may answer.

    torch is imported (in a child) only where there is a GPU that it could use, or when asked.
    """
    log.prefetch(host)
    cpus.prefetch(host)
    kernel.prefetch(host)
    network.prefetch(host)
    host.prefetch([software.question(False)])
    view = gpus.from_sysfs(host)
    vendors = sorted({record.vendor for record in view.records})
    tools = read_tools(host, vendors)
    gpus.add_tools(view, tools)
    running = kernel.collect_kernel(host, tools)
    system = OperatingSystem()
    kernel_log = log.collect_log(host, running.uptime_s)
    if isinstance(kernel_log, Known):
        gpus.add_log(view, kernel_log.value)
    found, links, unlike = gpus.build(view, tools)
    usable = any(gpu.vendor in ("amd", "nvidia") for gpu in found)
    rocm, rocm_complete = software.collect_rocm(host, value_or(system.id, None))
    running = kernel.with_log(running, kernel_log)
    return Machine(
        network=network.collect_network(host, tools),
        drivers=collect_drivers(host, tools, running),
        numa_nodes=collect_numa(host, tools),
        cpus=cpus.collect_cpus(host, tools),
        kernel=running,
        os=system,
        rocm=rocm,
        rocm_complete=rocm_complete,
        cuda_toolkits=software.collect_cuda(host),
        torch=software.collect_torch(host, import_torch or (host.kind == "live" and usable)),
        gpus=found,
        gpus_complete=view.complete,
        displays=tuple(view.displays),
        links=links,
        kfd_present=view.topology.present,
        kfd_gpu_nodes=view.topology.gpu_nodes,
        failures=tuple(tools.failures),
        disagreements=unlike,
    )
