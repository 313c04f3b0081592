"""The only place where a host meets the parsers: questions in, a Machine out."""

from __future__ import annotations

from rocdoctor.collect import gpus
from rocdoctor.collect.sources import read_tools
from rocdoctor.facts import Machine
from rocdoctor.host.base import Host


def collect(host: Host) -> Machine:
    """Everything that the host knows of its machine. Never raises for what a machine may answer."""
    view = gpus.from_sysfs(host)
    vendors = sorted({record.vendor for record in view.records})
    tools = read_tools(host, vendors)
    gpus.add_tools(view, tools)
    found, links, unlike = gpus.build(view, tools)
    return Machine(
        gpus=found,
        gpus_complete=view.complete,
        displays=tuple(view.displays),
        links=links,
        kfd_present=view.topology.present,
        kfd_gpu_nodes=view.topology.gpu_nodes,
        failures=tuple(tools.failures),
        disagreements=unlike,
    )
