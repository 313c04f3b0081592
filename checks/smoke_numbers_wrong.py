"""A smoke test failed: wrong numbers, or the mode did not do its job.

Why
  A mode of distributed training gave a loss, a gradient or a parameter that differs from what one process computes on
  the same batch, or it did not do what it is for (split the work, use the other processes, finish in time). A training
  run in this mode continues without an error and learns the wrong thing, or wastes its resources.

Fix
  Look at the rank that is named, and at the layer: arithmetic on one device (run the mode compute on that GPU alone,
  look for RAS or ECC errors), the link between two GPUs (PCIe errors, XGMI, IOMMU and ACS), the collective library
  (another release; NCCL_ALGO and NCCL_PROTO unset), the framework (another torch release). Do not train in this mode.

References
  rocdoctor smoke --list shows the modes
  /opt/rocm/share/doc/rccl: environment variables of RCCL
"""

from __future__ import annotations

from rocdoctor.insight.jobs.smoke_modes import again, evidence, layer_words, modes_in, with_smoke
from rocdoctor.judging.check import Finding, Fix, check, error
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, ModeResult, SmokeRun


@check(with_smoke)
def smoke_numbers_wrong(machine: Machine) -> list[Finding]:
    return [
        error(
            f"The smoke test {one.mode} on {run.world} ranks ({run.backend}) failed: {one.message}.{layer_words(one)}",
            evidence=evidence(machine, one),
            fix=Fix(
                "Do not trust this mode yet: run it again by itself to see whether the same rank is named.",
                again(run, [one.mode]),
                verify=again(run, [one.mode]),
            ),
            cause=_cause(machine, run, one),
            confidence="possible" if run.device == "cuda" else "certain",
        )
        for run, one in modes_in(machine, "fail")
    ]


def _cause(machine: Machine, run: SmokeRun, one: ModeResult) -> str:
    """One of several equal GPUs that computes something else than the others may be broken; nothing else says so."""
    alone = run.device == "cuda" and one.layer == "device" and len(one.named) < run.world
    kinds = {value_or(gpu.pci_id, None) for gpu in machine.gpus if not value_or(gpu.integrated, False)}
    return "gpu-hardware-fault" if alone and len(kinds) == 1 and None not in kinds else ""
