from __future__ import annotations

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, machine, severities, states


def _gpus(*hives: str | None, pci_id: str = "1002:74a1", gfx: str = "gfx942") -> list[Gpu]:
    return [amd_gpu(index, pci_id=pci_id, gfx=gfx, hive_id=hive) for index, hive in enumerate(hives)]


def _on(*gpus: Gpu) -> list[Verdict]:
    return judge("hive-incomplete", machine(*gpus))


def test_one_hive_and_two_of_equal_size_pass() -> None:
    assert states(_on(*_gpus("a", "a", "a", "a"))) == ["pass"]
    assert states(_on(*_gpus("a", "a", "b", "b"))) == ["pass"]


def test_a_module_outside_the_hive_is_a_warning() -> None:
    (verdict,) = _on(*_gpus("a", "a", "a", None))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "1 of 4 identical GPUs are outside the full XGMI hive (hives: 1 of 3): gpu 3" in verdict.finding.message
    assert severities(_on(*_gpus("a", "a", "a", "b"))) == ["warning"]


def test_cards_may_be_without_a_bridge() -> None:
    cards = _gpus("a", "a", None, None, pci_id="1002:740f", gfx="gfx90a")
    assert severities(_on(*cards)) == ["info"]


def test_no_hive_hives_of_one_and_unknown_ones_are_not_judged() -> None:
    assert states(_on(*_gpus(None, None))) == ["not-applicable"]
    assert states(_on(*_gpus("a", "b"))) == ["pass"]
    unread = [amd_gpu(0, hive_id="a"), amd_gpu(1, hive_id=NOT_ASKED)]
    assert states(_on(*unread)) == ["not-applicable"]
    unlike = [amd_gpu(0, hive_id="a"), amd_gpu(1, hive_id="a"), amd_gpu(2, pci_id="1002:744c", hive_id=None)]
    assert states(_on(*unlike)) == ["pass"]
    assert states(_on()) == ["not-applicable"]
