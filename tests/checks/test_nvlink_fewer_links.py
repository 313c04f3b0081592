from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Gpu, NvLink
from tests.kit import judge, machine, nvidia_gpu, severities, states, u

NAME = "nvlink-fewer-links"


def v100(index: int, up: int | None, name: str = "Tesla V100-SXM2-16GB", total: int = 6, **changes: Any) -> Gpu:
    links: Any = u() if up is None else tuple(NvLink(number, number < up) for number in range(total))
    return nvidia_gpu(index, name=name, nvlinks=links, **changes)


def test_equal_counts_pass_also_where_links_are_unused_on_all() -> None:
    assert states(judge(NAME, machine(v100(0, 6), v100(1, 6)))) == ["pass", "pass"]
    assert states(judge(NAME, machine(v100(0, 4), v100(1, 4)))) == ["pass", "pass"]


def test_fewer_than_an_equal_module_is_a_warning_that_names_the_links() -> None:
    first, second = judge(NAME, machine(v100(0, 4), v100(1, 6)))
    assert first.finding is not None and first.finding.severity == "warning"
    assert first.finding.message.startswith("4 NVLinks of this GPU are active (down: link 4, 5)")
    assert second.state == "pass"


def test_cards_differ_by_their_bridges() -> None:
    card = "NVIDIA A100-PCIE-40GB"
    assert severities(judge(NAME, machine(v100(0, 4, card, 12), v100(1, 12, card, 12)))) == ["info"]


def test_none_at_all_is_told_by_another_check() -> None:
    assert severities(judge(NAME, machine(v100(0, 0), v100(1, 6)))) == []


def test_without_an_equal_gpu_there_is_nothing_to_compare() -> None:
    assert states(judge(NAME, machine(v100(0, 4)))) == ["not-applicable"]
    other = v100(1, 12, "NVIDIA A100-SXM4-40GB", 12)
    assert states(judge(NAME, machine(v100(0, 6), other))) == ["not-applicable", "not-applicable"]
    assert states(judge(NAME, machine(v100(0, None), v100(1, 6)))) == ["unknown", "not-applicable"]
    assert states(judge(NAME, machine(v100(0, 6), v100(1, 3, mig=True)))) == ["not-applicable", "not-applicable"]


def test_a_list_that_ends_early_is_no_fault() -> None:
    assert states(judge(NAME, machine(v100(0, 4, total=4), v100(1, 6)))) == ["unknown", "pass"]
