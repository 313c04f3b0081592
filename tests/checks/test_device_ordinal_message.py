"""GPU numbers that do not exist. The texts are constructed from the error strings of CUDA and HIP."""

from __future__ import annotations

from tests.kit import environment, judge, states
from tests.message_kit import finding_of, pasted

CHECK = "device-ordinal-message"
TEXT = "RuntimeError: CUDA error: invalid device ordinal"


def test_with_a_variable_it_is_an_error() -> None:
    found = finding_of(CHECK, TEXT, environment=environment({"CUDA_VISIBLE_DEVICES": "0"}, complete=False))
    assert found is not None and found.severity == "error" and "CUDA_VISIBLE_DEVICES=0" in found.message


def test_without_one_it_is_possible_only() -> None:
    found = finding_of(CHECK, TEXT)
    assert found is not None and found.severity == "warning" and found.confidence == "possible"


def test_silence() -> None:
    assert states(judge(CHECK, pasted("using device ordinal 0"))) == ["not-applicable"]


def test_two_variables_that_name_different_gpus() -> None:
    text = "ValueError: Inconsistent GPU visibility env vars: HIP_VISIBLE_DEVICES='0' vs CUDA_VISIBLE_DEVICES='1'."
    found = finding_of(CHECK, text)
    assert found is not None and (found.cause, found.confidence) == ("visible-devices-conflict", "certain")
    assert "HIP_VISIBLE_DEVICES=0 and CUDA_VISIBLE_DEVICES=1" in found.message


def test_mig_gives_a_process_one_device() -> None:
    found = finding_of(CHECK, f"An A100 with MIG instances. {TEXT}")
    assert found is not None and found.severity == "error" and "MIG" in found.message
    assert found.fix is not None and "CUDA_VISIBLE_DEVICES=MIG-UUID" in found.fix.text
