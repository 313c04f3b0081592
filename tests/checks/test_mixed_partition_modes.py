from __future__ import annotations

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Gpu, Partition
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, states


def _gpu(index: int, compute: str | None, memory: str | None = "NPS1") -> Gpu:
    modes = [NOT_ASKED if mode is None else k(mode) for mode in (compute, memory)]
    return amd_gpu(index, pci_id="1002:74a1", gfx="gfx942", partition=Partition(*modes))


def _on(*gpus: Gpu) -> list[Verdict]:
    return judge("mixed-partition-modes", machine(*gpus))


def test_one_mode_on_all_passes() -> None:
    assert states(_on(_gpu(0, "SPX"), _gpu(1, "spx"))) == ["pass"]


def test_unlike_compute_modes_are_a_warning_towards_the_more_common_one() -> None:
    (verdict,) = _on(_gpu(0, "SPX"), _gpu(1, "CPX"), _gpu(2, "CPX"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "compute partition mode: CPX on gpu 1, gpu 2; SPX on gpu 0" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "sudo amd-smi set --compute-partition CPX"
    assert verdict.finding.fix.safety == "risky"


def test_unlike_memory_modes_are_a_warning() -> None:
    (verdict,) = _on(_gpu(0, "SPX"), _gpu(1, "SPX", "NPS4"))
    assert verdict.finding is not None
    assert "memory partition mode" in verdict.finding.message


def test_unread_modes_and_unlike_models_are_not_judged() -> None:
    assert states(_on(_gpu(0, "SPX", None), _gpu(1, None, None))) == ["not-applicable"]
    assert states(_on(_gpu(0, "SPX"), amd_gpu(1, partition=Partition(k("CPX"))))) == ["not-applicable"]
    assert states(_on()) == ["not-applicable"]
