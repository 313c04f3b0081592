"""Whether this user may open the NVIDIA GPUs: mostly a question of how a container was started."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.access import is_there, node_at, opens
from rocdoctor.judging.check import cite
from rocdoctor.model.evidence import value_or
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence

LAYER: Layer = "access"

_ID, _TITLE = "device-access-nvidia", "Access to the NVIDIA GPUs for this user"
_CHECKS = ("container-no-gpu-runtime", "nvidia-node-denied")


def steps(situation: Situation) -> Sequence[Step]:
    """One step where the evidence speaks of the nodes; without a container they are open to everyone."""
    if situation.wsl or not any(one.vendor == "nvidia" for one in situation.targets):
        return ()
    for verdict, found in situation.findings(_CHECKS):
        fix = found.fix
        notes = [sentence(fix.text)] if fix is not None else []
        if fix is not None and fix.command:
            notes.append(f"For example: {fix.command}")
        return (
            Step(
                _ID,
                _TITLE,
                "todo",
                found.message,
                found.evidence,
                risk="manual",
                effective=fix.effective if fix is not None else "now",
                verify=Verify(verdict.check),
                notes=tuple(notes),
            ),
        )
    nodes = [node_at(situation.machine, path) for path in ("/dev/nvidiactl", "/dev/nvidia-uvm")]
    opened = [node for node in nodes if node is not None and is_there(node) and opens(node)]
    if not opened:
        return ()
    evidence = tuple(cite(node.access, f"{node.path}: {value_or(node.access, '')}") for node in opened)
    why = f"This user can open {' and '.join(node.path for node in opened)}."
    return (Step(_ID, _TITLE, "done", why, evidence, verify=Verify("nvidia-node-denied")),)
