"""A smoke test computed wrong numbers.

Why
  A mode of distributed training gave a loss, a gradient or a parameter that differs from what one process computes on
  the same batch. A training run in this mode goes on without an error and learns something else.

Fix
  Look at the rank that is named, and at the layer: arithmetic on one device (run the mode compute on that GPU alone,
  look for RAS or ECC errors), the link between two GPUs (PCIe errors, XGMI, IOMMU and ACS), the collective library
  (another release; NCCL_ALGO and NCCL_PROTO unset), the framework (another torch release). Do not train in this mode.

References
  rocdoctor smoke --list tells the modes
  /opt/rocm/share/doc/rccl: environment variables of RCCL
"""

from __future__ import annotations

from rocdoctor.check import Finding, Fix, check, error
from rocdoctor.facts import Machine, ModeResult, SmokeRun
from rocdoctor.smoke_modes import again, evidence, layer_words, modes_in, with_smoke


@check(with_smoke)
def smoke_numbers_wrong(machine: Machine) -> list[Finding]:
    return [
        error(
            f"The smoke test {one.mode} on {run.world} ranks ({run.backend}) computed wrong numbers: {one.message}."
            f"{layer_words(one)}",
            evidence=evidence(machine, one),
            fix=Fix(
                "Do not train in this mode; run it again, and alone, to see whether the same rank is wrong.",
                again(run, [one.mode]), verify=again(run, [one.mode]),
            ),
            cause=_cause(run, one),
        )
        for run, one in modes_in(machine, "fail")
    ]  # fmt: skip


def _cause(run: SmokeRun, one: ModeResult) -> str:
    """One GPU of several that computes something else than the others is broken; nothing else is that clear."""
    alone = run.device == "cuda" and one.layer == "device" and len(one.named) < run.world
    return "gpu-hardware-fault" if alone else ""
