"""A smoke test lost a rank, or none of its ranks came back.

Why
  A rank ended, hung or raised an error in a small program that is known to work elsewhere. A training job in this mode
  would stop or hang in the same place.

Fix
  The message names the rank, the step and where it was. SIGKILL: look for the OOM killer in the kernel log, and if it
  shows none, for what ended the rank (a batch system, a service manager, a person). SIGBUS: enlarge /dev/shm. No answer
  inside a collective: test the links (IOMMU, ACS, interface names). An error in the program itself: the message shows
  what it printed.

References
  rocdoctor smoke --list shows the modes; signal(7)
"""

from __future__ import annotations

from rocdoctor.insight.jobs.smoke_modes import again, evidence, layer_words, modes_in, with_smoke
from rocdoctor.judging.check import Finding, Fix, check, error
from rocdoctor.model.facts import Machine


@check(with_smoke)
def smoke_rank_lost(machine: Machine) -> list[Finding]:
    return [
        error(
            f"The smoke test {one.mode} on {run.world} ranks ({run.backend}) did not end: {one.message}."
            f"{layer_words(one)}",
            evidence=evidence(machine, one),
            fix=Fix(
                "Run this mode again by itself; if it fails again, the message says where to look.",
                again(run, [one.mode]),
                verify=again(run, [one.mode]),
            ),
        )
        for run, one in modes_in(machine, "crashed")
    ]
