"""What moves over the links as facts: from the driver's table, from counted packets, from nvidia-smi; or why not."""

from __future__ import annotations

from rocdoctor.collect import collect
from rocdoctor.collect.gpus.sensors import SensorReader
from rocdoctor.host.base import Answer, Host
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.evidence import Known, Source, Unknown, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.report.machine.json_facts import facts
from tests.parsers.kernel.test_gpu_metrics import table
from tests.tui.kit import fixture_host
from tests.tui.thermals.live_kit import LiveFixture

METRICS, PCIE_BW = "read /sys/class/drm/card0/device/gpu_metrics", "read /sys/class/drm/card0/device/pcie_bw"


def with_metrics(data: bytes) -> Host:
    return OverlayHost(fixture_host("rx7900xtx-2gpu"), {METRICS: Answer(METRICS, "ok", data)})


def first(data: bytes) -> Gpu:
    return collect(with_metrics(data)).gpus[0]


def test_xgmi_counters_of_all_links_are_added() -> None:
    nothing = (2**64 - 1,) * 6
    moved = first(table((1, 5), xgmi_read_data_acc=(3, 4, *nothing), xgmi_write_data_acc=(0, 9, *nothing))).traffic
    assert (moved.xgmi_read_kb, moved.xgmi_written_kb) == (Known(7, Source(METRICS)), Known(9, Source(METRICS)))


def test_a_figure_whose_unit_is_disputed_is_told_and_not_used() -> None:
    for version in ((1, 4), (1, 5), (1, 7), (1, 8)):
        moved = first(table(version, pcie_bandwidth_inst=18)).traffic
        assert isinstance(moved.pcie_mbit_s, Unknown) and moved.pcie_mbit_s.reason == "undecided", version
        assert "says 18, which the kernel calls GB/s and amd-smi Mb/s" in moved.pcie_mbit_s.why
    assert first(table((1, 6), pcie_bandwidth_inst=18)).traffic.pcie_mbit_s == Known(18, Source(METRICS))


def test_what_the_table_does_not_have_is_said() -> None:
    moved = first(table((1, 3), temperature_edge=50)).traffic
    for fact, word in ((moved.pcie_mbit_s, "PCIe"), (moved.pcie_received_kb_s, "PCIe"), (moved.xgmi_read_kb, "XGMI")):
        assert isinstance(fact, Unknown) and fact.why.startswith("gpu_metrics 1.3 of this driver does not ")
        assert fact.reason == "absent" and word in fact.why


def test_as_json_with_the_unit_in_the_name() -> None:
    document = facts(collect(with_metrics(table((1, 6), pcie_bandwidth_inst=18, xgmi_read_data_acc=(5,) * 8))))
    moved, other = (one["traffic"] for one in document["gpus"])
    assert moved["pcie_mbit_s"] == 18 and moved["xgmi_read_kb"] == 40 and moved["pcie_sent_kb_s"] is None
    assert other is None, "nothing tells of the other GPU"
    assert "XGMI" in document["unknown"]["gpus[0].traffic.xgmi_written_kb"]
    assert "gpu_metrics" in document["unknown"]["gpus[1].traffic"]


# -- packets that the kernel counts for a second


def watched(status: str = "active") -> LiveFixture:
    host = LiveFixture("rx7900xtx-2gpu")
    host.texts[PCIE_BW] = "1000 500 256"
    for path in ("/sys/class/drm/card0/device", "/sys/bus/pci/devices/0000:03:00.0"):
        host.texts[f"read {path}/power/runtime_status"] = status
    return host


def test_who_watches_has_packets_counted() -> None:
    found = SensorReader(counting=True).read(watched()).gpus[0].traffic
    assert (value_or(found.pcie_received_kb_s, None), value_or(found.pcie_sent_kb_s, None)) == (256, 128)
    assert found.pcie_sent_kb_s == Known(128, Source(PCIE_BW, 1))


def test_nobody_else_waits_a_second_for_it() -> None:
    host = watched()
    SensorReader().read(host)
    collect(host)
    assert PCIE_BW not in host.asked


def test_a_sleeping_gpu_is_not_woken_for_it() -> None:
    host = watched("suspended")
    (asleep, _) = SensorReader(counting=True).read(host).gpus
    assert not [one for one in host.asked if "card0" in one and one.endswith(("pcie_bw", "gpu_metrics"))]
    assert isinstance(asleep.traffic.pcie_sent_kb_s, Unknown) and asleep.traffic.pcie_sent_kb_s.reason == "suspended"
    assert [one for one in host.asked if "card1" in one and one.endswith("pcie_bw")], "the other is awake"
