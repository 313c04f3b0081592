from __future__ import annotations

import pytest

from rocdoctor.model.facts import Cpus, Machine
from tests.kit import environment, judge, k, machine, states

NAME = "omp-threads"


def host(**values: str) -> Machine:
    return machine(cpus=Cpus(usable=k(64)), environment=environment(values))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "128"},  # torchrun's own setting
        {"OMP_NUM_THREADS": "8", "LOCAL_WORLD_SIZE": "8"},
        {"OMP_NUM_THREADS": "128"},  # how many ranks is not known
        {"OMP_NUM_THREADS": "auto", "LOCAL_WORLD_SIZE": "8"},  # a matter of form
        {"OMP_NUM_THREADS": "\uff16\uff14", "LOCAL_WORLD_SIZE": "8"},  # no digits to its reader
        {"GOMP_CPU_AFFINITY": "0-15"},
        {"KMP_AFFINITY": "granularity=fine,compact,1,0"},
        {"KMP_AFFINITY": "explicit,proclist=[0-15]"},
    ],
)
def test_healthy_settings(values: dict[str, str]) -> None:
    assert states(judge(NAME, host(**values))) == ["pass"]


def test_too_many_threads_are_a_note_with_the_share() -> None:
    (verdict,) = judge(NAME, host(OMP_NUM_THREADS="32,2", LOCAL_WORLD_SIZE="8"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "OMP_NUM_THREADS=32 times 8 ranks" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "export OMP_NUM_THREADS=8"


@pytest.mark.parametrize(
    "values", [{"GOMP_CPU_AFFINITY": "0"}, {"GOMP_CPU_AFFINITY": "3-3"}, {"KMP_AFFINITY": "explicit,proclist=[5]"}]
)
def test_one_cpu_for_all_threads_is_slow(values: dict[str, str]) -> None:
    (verdict,) = judge(NAME, host(**values))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("warning", "cpu-affinity-or-threads")


def test_an_excerpt_of_the_environment_is_unknown() -> None:
    assert states(judge(NAME, machine(environment=environment({}, complete=False)))) == ["unknown"]
