"""Judging measured figures: constructed numbers on MI300X, RX 7900 XTX and H100; a CPU is never judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.model.facts import Gpu, GpuLink, LinkState, Machine, NumaNode, Pcie, Power
from rocdoctor.train.smoke.figures.expected import link_peak_gb_s, with_expected
from rocdoctor.train.smoke.figures.figure_math import Entry, Figures
from rocdoctor.train.smoke.figures.judge_figures import LowFigure, low_figures
from tests.kit import amd_gpu, k, machine, nvidia_gpu
from tests.pcie_kit import hop, link, path


def way(speed: float = 16.0, width: int = 16, could: float | None = None, lanes: int | None = None) -> Pcie:
    """A card below its root port; ``could`` and ``lanes``: what both ends can do, if more."""
    at: LinkState = link(width, lanes or width, speed, could or speed)
    return path(at, hop("0000:00:01.1", at))


def mi300x(index: int, **changes: Any) -> Gpu:
    return amd_gpu(
        index,
        name="AMD Instinct MI300X",
        pci_id="1002:74a1",
        revision="00",
        gfx="gfx942",
        compute_units=304,
        vram_bytes=192 << 30,
        **{"pcie": way(32.0), **changes},
    )


def xtx(index: int = 0, **changes: Any) -> Gpu:
    return amd_gpu(
        index,
        name="Radeon RX 7900 XTX",
        pci_id="1002:744c",
        revision="c8",
        gfx="gfx1100",
        compute_units=96,
        vram_bytes=24 << 30,
        **{"pcie": way(16.0), **changes},
    )


def eight() -> Machine:
    links = tuple(GpuLink(a, b, "xgmi", k(15), k(1)) for a in range(8) for b in range(a + 1, 8))
    return machine(*(mi300x(index) for index in range(8)), links=links)


def entries(of: Machine, *values: float, **more: Any) -> list[Entry]:
    """Raw entries as the ranks give them: torch's numbers and PCI addresses."""
    return [
        {"gpu": number, "rank": number, "pci": gpu.bdf.value, "value": value, "expected": None, "share": None, **more}  # type: ignore[union-attr]
        for number, (gpu, value) in enumerate(zip(of.gpus, values, strict=False))
    ]


def pair(of: Machine, one: int, two: int, value: float) -> Entry:
    found = entries(of, *(0.0 for _ in of.gpus))
    return {**found[one], "peer": two, "peer_pci": found[two]["pci"], "value": value, "peer_access": True}


def low(of: Machine, figures: Figures) -> tuple[LowFigure, ...]:
    return low_figures(with_expected(figures, of), of)


def test_peaks_come_from_the_profile_of_the_part() -> None:
    of = eight()
    found = with_expected(
        {
            "matmul_bf16_tflops": entries(of, 653.7),
            "matmul_fp8_tflops": entries(of, 1000.0),
            "memory_copy_gb_s": entries(of, 4240.0),
            "train_model_tflops": entries(of, 522.96, dtype="bf16"),
            "op_start_us": entries(of, 5.0),
        },
        of,
    )
    first = {name: (some[0]["expected"], some[0]["share"]) for name, some in found.items()}
    assert first["matmul_bf16_tflops"] == (1307.4, 0.5)
    assert first["matmul_fp8_tflops"] == (2614.9, 0.3824)
    assert first["memory_copy_gb_s"] == (5300.0, 0.8)
    assert first["op_start_us"] == (None, None)
    assert found["train_mfu"][0]["value"] == 0.4
    assert found["matmul_bf16_tflops"][0]["source"] == "profiles/amd-cdna3.yaml: rocm-mi300 (primary)"


def test_a_part_without_a_published_figure_and_a_partition_have_no_expectation() -> None:
    unlisted = machine(amd_gpu(0, pci_id="1002:ffff", name="something new"))
    assert (
        with_expected({"matmul_bf16_tflops": entries(unlisted, 3.0)}, unlisted)["matmul_bf16_tflops"][0]["expected"]
        is None
    )
    parts = machine(replace(mi300x(0), compute_nodes=(None,) * 8))  # type: ignore[arg-type]
    found = with_expected({"matmul_bf16_tflops": entries(parts, 80.0)}, parts)
    assert found["matmul_bf16_tflops"][0]["expected"] is None


def test_numbers_of_torch_become_those_of_the_machine() -> None:
    of = machine(xtx(0), xtx(1))
    raw: Figures = {"matmul_fp16_tflops": [{"gpu": 0, "pci": "0000:43:00.0", "value": 90.0}]}
    (entry,) = with_expected(raw, of)["matmul_fp16_tflops"]
    assert (entry["gpu"], entry["pci"]) == (1, "0000:43:00.0")


def test_healthy_figures_give_no_finding() -> None:
    of = eight()
    values = [640.0, 655.0, 630.0, 648.0, 651.0, 640.0, 661.0, 580.0]
    figures: Figures = {
        "matmul_bf16_tflops": entries(of, *values),
        "memory_copy_gb_s": entries(of, *(4100.0 for _ in values)),
        "host_to_device_pinned_gb_s": entries(of, *(55.0 for _ in values)),
        "device_to_device_gb_s": [pair(of, a, b, 45.0) for a in range(8) for b in range(8) if a != b],
    }
    assert low(of, figures) == ()
    one = machine(xtx())
    assert low(one, {"host_to_device_pinned_gb_s": entries(one, 28.4), "matmul_fp16_tflops": entries(one, 60.0)}) == ()
    between: Figures = {"host_to_device_pinned_gb_s": entries(one, 20.0)}
    assert low(one, between) == (), "less than the sources saw, but no fault yet"
    hopper = machine(nvidia_gpu(0, pcie=way(32.0)))
    alone: Figures = {
        "host_to_device_pinned_gb_s": entries(hopper, 52.0),
        "matmul_bf16_tflops": entries(hopper, 50.0),
    }
    assert low(hopper, alone) == (), "no source says what share of its peak a product normally reaches"


def test_one_gpu_far_below_its_equals_is_one_finding() -> None:
    of = eight()
    figures: Figures = {
        "matmul_bf16_tflops": entries(of, 640, 650, 130, 648, 651, 640, 661, 630),
        "train_tokens_per_s": entries(of, 9e4, 9e4, 2e4, 9e4, 9e4, 9e4, 9e4, 9e4),
    }
    (found,) = low(of, figures)
    assert (found.gpu, found.pci, found.cause) == (2, "0000:63:00.0", "")
    assert found.figures == ("matmul_bf16_tflops", "train_tokens_per_s")
    assert "reaches 130 TFLOPS in 'matmul bf16', 20% of the median of the identical GPUs here" in found.message
    assert found.words.endswith("Nothing seen during the test shows why.")


def test_unlike_cards_are_not_each_others_measure() -> None:
    of = machine(mi300x(0), xtx(1))
    assert low(of, {"matmul_bf16_tflops": entries(of, 650.0, 90.0)}) == ()


def test_equal_cards_in_unequal_slots_are_not_each_others_measure() -> None:
    of = machine(xtx(0), xtx(1, pcie=way(8.0, 4)))
    assert low(of, {"host_to_device_pinned_gb_s": entries(of, 28.0, 3.5)}) == ()


def test_a_copy_far_below_its_link_names_the_link_seen_under_load() -> None:
    of = machine(xtx(0, pcie=way(16.0, 16)))
    figures: Figures = {
        "host_to_device_pinned_gb_s": entries(of, 6.9),
        "pcie_link_gb_s": [{"gpu": 0, "pci": "0000:23:00.0", "value": 7.88, "expected": 31.51, "share": 0.25}],
    }
    (found,) = low(of, figures)
    assert found.cause == "pcie-link-degraded"
    assert "22% of the 31.51 GB/s that the path could carry, where 76% is normal" in found.message
    assert found.reason == "Under load its PCIe link ran at 7.88 of the 31.51 GB/s that both ends can do."


def test_a_guest_and_an_incomplete_path_have_no_expectation() -> None:
    whole = machine(xtx())
    assert link_peak_gb_s(whole, whole.gpus[0]) == pytest.approx(31.5, abs=0.02)
    cut = machine(xtx(pcie=replace(way(), path_complete=False)))
    assert low(cut, {"host_to_device_pinned_gb_s": entries(cut, 2.0)}) == ()
    guest = machine(xtx(), container=replace(whole.container, virtual_machine=k("kvm")))
    assert low(guest, {"host_to_device_pinned_gb_s": entries(guest, 2.0)}) == ()


def test_the_wrong_numa_node_is_a_reason() -> None:
    nodes = (NumaNode(0, k("0-15")), NumaNode(1, k("16-31")))
    of = machine(xtx(numa_node=1), numa_nodes=nodes)
    (found,) = low(of, {"device_to_host_pinned_gb_s": entries(of, 9.0, cpu=3)})
    assert found.reason.startswith("The copying process ran on NUMA node 0, the GPU belongs to node 1")
    (found,) = low(of, {"device_to_host_pinned_gb_s": entries(of, 9.0, cpu=20)})
    assert found.reason == ""


def test_a_slow_xgmi_link_is_named_by_both_ends() -> None:
    of = eight()
    copies = [pair(of, a, b, 45.0) for a in range(8) for b in range(8) if a != b]
    next(one for one in copies if (one["gpu"], one["peer"]) == (3, 5))["value"] = 12.0
    (found,) = low(of, {"device_to_device_gb_s": copies})
    assert (found.gpu, found.peer) == (3, 5)
    assert "19% of the 64 GB/s that the path could carry, where 53% is normal" in found.message
    assert "to gpu 5 (0000:c3:00.0)" in found.message


def test_pairs_without_a_known_link_are_not_judged() -> None:
    of = machine(*(xtx(index) for index in range(4)))
    copies = [pair(of, a, b, 3.0 if (a, b) == (0, 1) else 25.0) for a in range(4) for b in range(4) if a != b]
    assert low(of, {"device_to_device_gb_s": copies}) == ()


SLOW = [640.0, 650.0, 130.0, 648.0]


@pytest.mark.parametrize(
    ("more", "gpu", "cause", "words"),
    [
        ({"busy_before_percent": 97}, {}, "", "97 % busy before the measurement"),
        ({"slowed": 1.0}, {}, "thermal-or-power-limit", "clocks were held down: temp_hotspot"),
        ({}, {"power": Power(cap_w=k(200.0), cap_default_w=k(750.0))}, "thermal-or-power-limit", "cap is 200 W"),
        ({"clock_mhz": 500.0}, {"performance_level": "low"}, "", "500 of 2100 MHz; its performance level is low"),
    ],
)
def test_what_was_seen_meanwhile_is_the_reason(
    more: dict[str, float], gpu: dict[str, Any], cause: str, words: str
) -> None:
    of = machine(*(mi300x(index, **(gpu if index == 2 else {})) for index in range(4)))
    where = {"gpu": 2, "pci": "0000:63:00.0"}
    seen: Figures = {
        name: [{**where, "value": value, "expected": 2100.0, "share": value / 2100, "reasons": ["temp_hotspot"]}]
        for name, value in more.items()
    }
    (found,) = low(of, {"matmul_bf16_tflops": entries(of, *SLOW), **seen})
    assert found.gpu == 2
    assert found.cause == cause
    assert words in found.reason


def soaked(**more: Any) -> Figures:
    entry = {
        "gpu": 0,
        "pci": "0000:23:00.0",
        "value": 400.0,
        "first": 640.0,
        "of_first": 0.625,
        "clock_first_mhz": 2000.0,
        "clock_last_mhz": 1250.0,
        "temp_max_c": 108.0,
        "slowed": ["socket_thm"],
    }
    return {"soak_tflops": [{**entry, **more}]}


def test_heat_under_sustained_load_is_a_finding_and_a_mere_drop_is_not() -> None:
    of = machine(mi300x(0))
    (found,) = low(of, soaked())
    assert found.cause == "thermal-or-power-limit"
    assert "fell from 640 to 400 TFLOPS, its clock from 2000 to 1250 MHz at 108 °C" in found.message
    assert "socket_thm" in found.reason
    assert low(of, soaked(slowed=[])) == ()
    assert low(of, soaked(value=630.0, of_first=0.984)) == ()


def test_a_cpu_is_never_judged() -> None:
    ranks: list[Entry] = [{"gpu": None, "rank": rank, "pci": None, "value": value} for rank, value in enumerate(SLOW)]
    figures = with_expected({"matmul_fp32_tflops": ranks}, None)
    assert figures["matmul_fp32_tflops"][2]["of_others"] == pytest.approx(0.201, abs=0.002)
    assert low_figures(figures, machine()) == ()
