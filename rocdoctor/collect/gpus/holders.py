"""Which processes have the GPUs open: asked only where memory is in use, since it means a look at every process."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, value_or
from rocdoctor.model.facts import Gpu, GpuHolder, GpuHolders
from rocdoctor.parsers.system.process_stat import parse_holders

_QUESTION = "holders gpu"
_SHARE = 0.25


def collect_holders(host: Host, gpus: Sequence[Gpu]) -> Fact[GpuHolders]:
    """The processes; not asked where no GPU has much of its own memory in use."""
    if not any(_in_use(gpu) for gpu in gpus):
        return NOT_ASKED
    answer = host.ask(_QUESTION)
    if not answer.ok:
        return answer.unknown()
    found, hidden = parse_holders(answer.text)
    processes = tuple(GpuHolder(one.pid, one.name, one.nodes, one.age_s, one.line) for one in found)
    return Known(GpuHolders(processes, hidden), answer.source(found[0].line if found else None))


def _in_use(gpu: Gpu) -> bool:
    used, total = value_or(gpu.vram_used_bytes, 0), value_or(gpu.vram_bytes, 0)
    return (total > 0 and used > _SHARE * total) or value_or(gpu.vram_used_percent, 0) > 100 * _SHARE
