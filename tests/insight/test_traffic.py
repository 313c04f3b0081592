"""What moves over PCIe and XGMI: rates between looks, in words, and the reason where nothing tells."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.insight.gpus.traffic import amount, no_pcie, no_xgmi, pcie_kb_s, pcie_words, xgmi_rates_kb_s
from rocdoctor.model.evidence import Known, Source, Unknown
from rocdoctor.model.facts import Gpu, Traffic
from rocdoctor.train.smoke.figures.sampler import Reading
from tests.kit import amd_gpu, k

SMI, PCIE_BW = Source("run nvidia-smi -q -x", 12), Source("read /sys/class/drm/card0/device/pcie_bw", 1)


def moving(**changes: Any) -> Gpu:
    return amd_gpu(traffic=Traffic(**changes))


def test_amounts_have_three_digits() -> None:
    assert [amount(one) for one in (0, 567, 1066.0, 1066699, 31.5e6, 2.5e9, 250e6)] == [
        "0 KB",
        "567 KB",
        "1.1 MB",
        "1.1 GB",
        "31.5 GB",
        "2.5 TB",
        "250 GB",
    ]


def test_words_name_the_direction_and_what_the_source_is_known_for() -> None:
    smi = moving(pcie_received_kb_s=Known(567, SMI), pcie_sent_kb_s=Known(3874, SMI))
    assert pcie_words(smi) == "received 567 KB/s, sent 3.9 MB/s (in 20 ms)"
    counted = moving(pcie_received_kb_s=Known(2000, PCIE_BW), pcie_sent_kb_s=Known(0, PCIE_BW))
    assert pcie_words(counted) == "at most received 2.0 MB/s, sent 0 KB/s"
    assert pcie_words(moving(pcie_mbit_s=k(18))) == "18 Mb/s, both directions together"
    assert pcie_words(amd_gpu()) == ""


def test_both_directions_together_need_both() -> None:
    assert pcie_kb_s(moving(pcie_received_kb_s=k(567), pcie_sent_kb_s=k(3874))) == 4441
    assert pcie_kb_s(moving(pcie_received_kb_s=k(567))) is None
    assert pcie_kb_s(moving(pcie_mbit_s=k(16))) == 2000, "16 Mb/s are 2 MB/s"


def test_the_most_telling_reason_is_given() -> None:
    disputed = Unknown("the kernel calls it GB/s and amd-smi Mb/s", "undecided")
    assert no_pcie(moving(pcie_mbit_s=disputed)) == disputed
    assert no_pcie(moving(pcie_sent_kb_s=k(0))) is None and no_xgmi(moving(pcie_sent_kb_s=k(0))) is not None


def look(at_s: float, read: int | None, written: int | None) -> Reading:
    return Reading(at_s, None, xgmi_read_kb=read, xgmi_written_kb=written)


def test_counters_make_a_rate_between_two_looks() -> None:
    assert xgmi_rates_kb_s([]) == []
    assert xgmi_rates_kb_s([look(10.0, 500, 900)]) == [None], "what they counted before is not of now"
    series = [look(10.0, 500, 900), look(12.0, 4500, 900), look(14.0, 20, 5), look(14.0, 30, 9), look(15.0, None, 10)]
    assert xgmi_rates_kb_s(series) == [None, (2000.0, 0.0), None, None, None], "a reset, no time, and no count"


@pytest.mark.parametrize("counters", [(None, 5), (5, None)])
def test_one_direction_alone_is_no_rate(counters: tuple[int | None, int | None]) -> None:
    assert xgmi_rates_kb_s([look(0.0, 1, 1), look(1.0, *counters)]) == [None, None]
