"""The Python interpreter under test gave no answer.

Why
  rocdoctor starts the job's interpreter with a small program that lists its packages and, if there is a GPU, imports
  torch. An interpreter that does not reach that program hangs when it starts: on a disk or network share that does not
  answer, in a sitecustomize or .pth file, or in a wrapper script. One that stays in `import torch` or in a query to the
  GPU may wait for a driver that no longer answers; it may also just be slow, as on a loaded machine. The finding names
  the step.

Fix
  Run the interpreter by hand. If it hangs before it does anything, start it with -X importtime or -v, and with -I
  and -S, which leave out the environment's variables and .pth files. If `import torch` hangs, look in the kernel log
  for GPU resets. If it is only slow, give it more time with --timeout.
  Use --python to name another interpreter.

References
  https://docs.python.org/3/using/cmdline.html
  https://docs.python.org/3/library/site.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Evidence, Fix, Outcome, check, cite, finding, quote, warning, whole_machine
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine, NoAnswer

_WAYS = {
    "denied": "cannot be started (permission denied)",
    "silent": "ended without any answer",
    "flood": "printed without end and gave no answer",
}
_START = "Run it by hand: with -I -S it starts without variables and .pth files. Name another one with --python"
_IMPORT = (
    "Give it more time: a loaded machine and a cold disk are slow; if it still hangs, look for GPU resets in "
    "the kernel log"
)


@check(whole_machine)
def interpreter_no_answer(machine: Machine) -> Outcome:
    gap = known(machine.torch.no_answer)
    if gap is None:
        return None
    path = gap.path or value_or(machine.torch.interpreter, "under test")
    evidence: tuple[Evidence, ...] = (
        cite(machine.torch.no_answer, _shown(gap)),
        cite(machine.torch.interpreter, path),
    )
    if gap.kind != "timeout":
        fix = Fix(_START, command="rocdoctor check --python /path/to/venv/bin/python", safety="safe")
        return warning(f"The Python interpreter {path} {_WAYS[gap.kind]}.", evidence=evidence, fix=fix)
    if not gap.step:
        fix = Fix(_START, command="rocdoctor check --python /path/to/venv/bin/python", safety="safe")
        message = f"The Python interpreter {path} hung: it gave no answer within {gap.within or 'its deadline'}."
        return warning(message, evidence=evidence, fix=fix)
    fix = Fix(_IMPORT, command="rocdoctor check --timeout 60", safety="safe")
    message = (
        f"The Python interpreter {path} was still at the step '{gap.step}' after {gap.within or 'its deadline'}, so "
        "what torch sees is not known."
    )
    late = {one.question for one in machine.unanswered if one.reason == "timeout"}
    stuck = [one for one in machine.failures if one.question in late]  # a driver that answers nobody
    evidence += tuple(quote(one.question, one.why) for one in stuck[:3])
    return finding("warning" if stuck else "info", message, evidence=evidence, fix=fix)


def _shown(gap: NoAnswer) -> str:
    if gap.kind == "timeout":
        return f"no answer within {gap.within}" + (f", in the step '{gap.step}'" if gap.step else "")
    return _WAYS[gap.kind]
