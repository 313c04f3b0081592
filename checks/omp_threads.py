"""Thread settings leave the CPU overloaded or idle.

Why
  Each rank starts OMP_NUM_THREADS threads. If ranks times threads exceed the number of CPUs, the threads compete
  for the CPUs. An affinity of one CPU for all threads (GOMP_CPU_AFFINITY, KMP_AFFINITY) makes data loading and CPU
  offload crawl. torchrun sets OMP_NUM_THREADS=1 when it is unset: safe, but offload and CPU work become slow.

Fix
  Set OMP_NUM_THREADS to the CPUs of the job divided by its ranks, and leave the affinity to the launcher.

References
  https://docs.pytorch.org/docs/stable/elastic/run.html
  https://gcc.gnu.org/onlinedocs/libgomp/GOMP_005fCPU_005fAFFINITY.html
"""

from __future__ import annotations

import re

from rocdoctor.insight.gpus.access import local_ranks
from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.env_values import count_in
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    Outcome,
    check,
    info,
    quote,
    unknown,
    warning,
    whole_machine,
)
from rocdoctor.model.change import Unset
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import shell

_PROCLIST = regex(
    r"explicit[^\]]{0,200}proclist=\[(\d{1,5})\]|proclist=\[(\d{1,5})\][^\]]{0,200}explicit", re.IGNORECASE
)


@check(whole_machine, cause="cpu-affinity-or-threads")
def omp_threads(machine: Machine) -> Outcome:
    variables = machine.environment.variables
    found = [
        one for one in (_pinned(variables.get("GOMP_CPU_AFFINITY")), _pinned(variables.get("KMP_AFFINITY"))) if one
    ]
    threads = variables.get("OMP_NUM_THREADS")
    if threads is not None and (crowd := _crowd(machine, threads)) is not None:
        found.append(crowd)
    if not found and threads is None and not machine.environment.complete:
        raise unknown("whether OMP_NUM_THREADS is set is not in this evidence")
    return found


def _evidence(variable: Variable) -> Evidence:
    return quote(variable.source, f"{variable.name}={variable.value}"[:200], variable.line)


def _pinned(variable: Variable | None) -> Finding | None:
    if variable is None:
        return None
    value = variable.value.strip().strip('"')
    single = _PROCLIST.search(value) if variable.name == "KMP_AFFINITY" else re.fullmatch(r"(\d{1,5})(?:-\1)?", value)
    if single is None:
        return None
    cpu = next(group for group in single.groups() if group)
    return warning(
        f"{variable.name} ties all threads of a process to CPU {cpu}.",
        evidence=[_evidence(variable)],
        fix=Fix(
            f"Unset {variable.name} and remove it from {where_set(variable)}",
            command=shell("unset {name:name}", name=variable.name),
            unsets=(variable.name,),
            safety="safe",
            verify=shell("printenv {name:name}", name=variable.name),
            changes=(Unset(variable.name),),
        ),
    )


def _crowd(machine: Machine, variable: Variable) -> Finding | None:
    first = count_in(variable.value.split(",")[0])  # the outermost level of nested parallel regions
    ranks = local_ranks(machine)
    cpus = machine.cpus.usable if isinstance(machine.cpus.usable, Known) else machine.cpus.threads
    if first is None or not ranks or not isinstance(cpus, Known):
        return None
    if first * ranks <= cpus.value or first == 1:
        return None
    share = max(1, cpus.value // ranks)
    return info(
        f"OMP_NUM_THREADS={first} times {ranks} ranks is more than the {cpus.value} CPUs of this job.",
        evidence=[_evidence(variable), Evidence(str(cpus.value), cpus.source.question, cpus.source.line)],
        fix=Fix(
            "Give each rank its share of the CPUs",
            command=shell("export OMP_NUM_THREADS={share}", share=share),
            safety="safe",
        ),
    )
