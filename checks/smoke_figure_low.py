"""A GPU computes, copies or communicates far slower than identical GPUs, or than healthy machines do.

Why
  One slow GPU slows a whole training job: at each step the others wait for it. The measured figures of the smoke
  tests are compared with identical GPUs of the same machine, and with a published peak only where a source says what
  share of it is normal. Clocks that drop because of heat show only under sustained load.

Fix
  The message says what else was seen: another program on the GPU, a PCIe link below what both ends support (reseat the
  card, look at the riser and the slot), clocks held down by heat or the power supply, a lowered power cap, a process on
  the wrong NUMA node. Measure again after the change.

References
  rocdoctor smoke --figures; rocdoctor smoke --soak MINUTES
  https://github.com/ROCm/rccl-tests (doc/PERFORMANCE.md: what bus bandwidth means)
"""

from __future__ import annotations

from rocdoctor.insight.jobs.smoke_modes import with_smoke
from rocdoctor.judging.check import Finding, Fix, NotApplicable, check, quote, warning
from rocdoctor.model.facts import Machine


@check(with_smoke)
def smoke_figure_low(machine: Machine) -> list[Finding] | NotApplicable:
    runs = [run for run in machine.smoke if run.figures]
    if not runs:
        return NotApplicable("the smoke tests measured no figures")
    if all(run.device == "cpu" for run in runs):
        return NotApplicable("figures of a CPU are not judged")
    # The arithmetic of figures takes long to import, and few machines have any.
    from rocdoctor.train.smoke.figures.expected import with_expected
    from rocdoctor.train.smoke.figures.judge_figures import low_figures

    return [
        warning(
            one.words,
            evidence=[quote(machine.smoke_question, ", ".join(one.figures))],
            fix=Fix(
                "Look at what the message names, then measure again.",
                verify="rocdoctor smoke --soak 5" if one.figures == ("soak_tflops",) else "rocdoctor smoke --figures",
            ),
            cause=one.cause,
        )
        for run in runs
        for one in low_figures(with_expected(run.figures, machine), machine)
    ]
