from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import Kernel, LogEvent, Machine
from tests.kit import event, judge, log, machine, nvidia_gpu, severities, states

NAME = "nvidia-gpu-not-supported"
BDF = "0000:18:00.0"
REFUSED = event("nvidia-gpu-not-supported", "NVRM: installed in this system is not supported by the", BDF)


def with_log(*events: LogEvent, driver: str | None = None, complete: bool = True) -> Machine:
    return machine(nvidia_gpu(driver=driver), nvidia_gpu(1), kernel=Kernel(log=log(*events, complete=complete)))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "does not support this GPU"),
        ({"flavour": "open"}, "The open NVIDIA kernel modules do not support"),
        ({"flavour": "proprietary"}, "needs the open NVIDIA kernel modules"),
        ({"legacy_branch": "470"}, "470.xx"),
    ],
)
def test_a_refusal_in_the_log_is_an_error_that_names_the_way_out(values: dict[str, str], words: str) -> None:
    first, second = judge(NAME, with_log(replace(REFUSED, values=values)))
    assert first.finding is not None
    assert (first.finding.severity, first.finding.cause) == ("error", "gpu-not-supported")
    assert words in first.finding.message
    assert second.state == "pass"


def test_the_old_card_beside_a_working_one_of_another_kind_is_a_warning() -> None:
    gpus = (nvidia_gpu(driver=None, pci_id="10de:1180"), nvidia_gpu(1))
    assert severities(judge(NAME, machine(*gpus, kernel=Kernel(log=log(REFUSED))))) == ["warning"]


def test_before_another_driver_was_loaded_it_is_history() -> None:
    assert severities(judge(NAME, with_log(replace(REFUSED, before_driver_load=True)))) == []
    assert severities(judge(NAME, with_log(REFUSED, driver="nvidia"))) == []


def test_a_log_that_began_later_or_is_missing_cannot_tell() -> None:
    assert states(judge(NAME, with_log())) == ["pass", "pass"]
    assert states(judge(NAME, with_log(complete=False))) == ["unknown", "pass"]
    assert states(judge(NAME, machine(nvidia_gpu(driver=None)))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
