"""What a scheduler is told of this node's GPUs: Slurm by gres.conf, Kubernetes by a device plug-in."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.access import render_nodes
from rocdoctor.insight.gpus.presence import count_words
from rocdoctor.knowledge import install
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation

LAYER: Layer = "cluster"

_TABLE = "install_schedulers"
_NAMES = {"amd": "AMD", "nvidia": "NVIDIA"}


def steps(situation: Situation) -> Sequence[Step]:
    """Only for a node of a cluster with GPUs, and nothing of a scheduler that gave us our share already."""
    if situation.goal != "cluster-node" or situation.wsl:
        return ()
    found: list[Step] = []
    for target in situation.targets:
        if not target.vendor:
            continue
        gpus = situation.amd_able if target.vendor == "amd" else situation.gpus("nvidia")
        if not gpus:
            continue
        if not situation.enclosed and not situation.in_job:
            found += [_slurm(situation, target.vendor, len(gpus)), _kubernetes(target.vendor, len(gpus))]
    return found


def _slurm(situation: Situation, vendor: str, count: int) -> Step:
    told = install.gres(vendor, count, _files(situation, vendor, count))
    why = f"Slurm gives jobs only the GPUs that gres.conf and slurm.conf list; this node has {_gpus(vendor, count)}."
    return Step(
        f"slurm-gres-{vendor}",
        f"Tell Slurm about the {_NAMES[vendor]} GPUs",
        "todo",
        why,
        risk="manual",
        verify=Verify(command="slurmd -G", shows=f"Name=gpu with Count={count} in all"),
        notes=(
            f"If this cluster uses Slurm: in gres.conf, next to slurm.conf, on this node: {told.detect}",
            f"If that detects nothing, use this line instead: {told.by_file}",
            *told.notes,
        ),
        sources=told.sources,
        table=_TABLE,
        kind=install.weakest(_TABLE, told.sources),
        optional=True,
    )


def _files(situation: Situation, vendor: str, count: int) -> str:
    """The device nodes as Slurm writes a range: /dev/dri/renderD[128-135]."""
    if vendor == "nvidia":
        return f"/dev/nvidia[0-{count - 1}]" if count > 1 else "/dev/nvidia0"
    paths = [node.path for node in render_nodes(situation.machine, "amd")]
    numbers = sorted(int(number) for path in paths if (number := path.rpartition("renderD")[2]).isdecimal())
    first = numbers[0] if numbers else 128
    together = numbers == list(range(first, first + count)) if numbers else True
    if not together:
        return ",".join(f"/dev/dri/renderD{number}" for number in numbers)
    return f"/dev/dri/renderD[{first}-{first + count - 1}]" if count > 1 else f"/dev/dri/renderD{first}"


def _kubernetes(vendor: str, count: int) -> Step:
    told = install.device_plugin(vendor)
    why = f"Pods ask for {told.resource}, which a device plug-in provides; this node has {_gpus(vendor, count)}."
    return Step(
        f"kubernetes-gpus-{vendor}",
        f"Offer the {_NAMES[vendor]} GPUs to Kubernetes",
        "todo",
        why,
        actions=tuple(Action(words=one) for one in told.run),
        risk="manual",
        verify=Verify(command="kubectl describe nodes", shows=f"{told.resource}: {count} under Capacity of this node"),
        undo=tuple(Action(words=one) for one in told.undo),
        notes=("If this cluster uses Kubernetes, its administrator does this once for all nodes.", told.note),
        sources=told.sources,
        table=_TABLE,
        kind=install.weakest(_TABLE, told.sources),
        optional=True,
    )


def _gpus(vendor: str, count: int) -> str:
    return count_words(count, f"{_NAMES[vendor]} GPU")
