"""What type checkers must refuse of a check's author. Nothing here runs.

mypy is told to ignore each mistake and to report an ignore that is not needed (``warn_unused_ignores``), so a mistake
that it no longer sees fails the type check.
"""

from __future__ import annotations

from rocdoctor.judging.check import Outcome, check, each_gpu, error, info, warning, whole_machine
from rocdoctor.model.facts import Gpu, Machine


@check(each_gpu, cause="pcie-link-degraded")
def right(machine: Machine, gpu: Gpu) -> Outcome:
    return info(gpu.label, explains=["other"])


@check(whole_machine)
def right_too(machine: Machine) -> Outcome:
    return [error("one"), error("two")]


@check(each_gpu)  # type: ignore[arg-type]
def takes_no_gpu(machine: Machine) -> Outcome:
    return None


@check(whole_machine)  # type: ignore[arg-type]
def takes_a_gpu(machine: Machine, gpu: Gpu) -> Outcome:
    return None


@check(each_gpu)  # type: ignore[arg-type]
def takes_something_else(machine: Machine, gpu: str) -> Outcome:
    return None


@check(each_gpu)
def misspells(machine: Machine, gpu: Gpu) -> Outcome:
    return warning("x", explian=())  # type: ignore[call-arg]


@check(each_gpu)
def invents(machine: Machine, gpu: Gpu) -> Outcome:
    return warning("x", confidence="sure")  # type: ignore[arg-type]
