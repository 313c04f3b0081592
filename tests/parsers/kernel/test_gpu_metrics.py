"""gpu_metrics: two tables transcribed from an RX 6900 XT and a laptop APU, the others built field by field."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel.gpu_metrics import GpuMetrics, parse_gpu_metrics, throttler_names
from rocdoctor.parsers.kernel.gpu_metrics_layout import (
    ATTRIBUTES,
    LAYOUTS,
    Raw,
    fields_of,
    parse_attributes,
    read_fields,
)

NAVI21 = bytes.fromhex(
    "7800010338003b003600310031003300 03000000000024 0022f40d0100000000 2cae8b357c0000002900ffffe1032100"
    "210021002100f4012003e80300000000 00000000000000000000 1000a000ffff ffffffffffffffffffffffffffffffff"
    "ffffffffffffffff320307034c05ffff 0000000000000000".replace(" ", "")
)
PHOENIX = bytes.fromhex(
    "78000201c409b10ae9092e09c4092109d00947091b0a4709dd09ffff4f000000e09fe5f671710100490dffffe7024902"
    "010000000000000000000100000009002003900190019001200320 03ffffffff ffffffffffffffff7805780578057805"
    "78057805780578057805ffff00000000ffffffffffffffff".replace(" ", "")
)
# sizeof each struct as the compiler lays it out on x86-64.
SIZES = {
    (1, 0): 80,
    (1, 1): 96,
    (1, 2): 104,
    (1, 3): 120,
    (1, 4): 288,
    (1, 5): 360,
    (1, 6): 1664,
    (1, 7): 2208,
    (1, 8): 3872,
    (2, 0): 120,
    (2, 1): 120,
    (2, 2): 128,
    (2, 3): 152,
    (2, 4): 168,
    (3, 0): 264,
}


def table(version: tuple[int, int], **fields: int | tuple[int, ...]) -> bytes:
    """A table with every field not provided but the given ones."""
    layout = fields_of(version)
    assert layout is not None
    specs, size = layout
    data = bytearray(b"\xff" * size)
    struct.pack_into("<HBB", data, 0, size, *version)
    by_name = {spec.name: spec for spec in specs}
    for name, value in fields.items():
        numbers = value if isinstance(value, tuple) else (value,)
        struct.pack_into(f"<{len(numbers)}{by_name[name].code}", data, by_name[name].offset, *numbers)
    return bytes(data)


def test_sizes_are_the_compilers() -> None:
    assert set(LAYOUTS) == set(SIZES)
    for version, size in SIZES.items():
        layout = fields_of(version)
        assert layout is not None
        assert layout[1] == size


@pytest.mark.parametrize(
    ("version", "name", "offset"),
    [
        ((1, 0), "pcie_link_speed", 75),
        ((1, 3), "indep_throttle_status", 112),
        ((1, 5), "pcie_replay_count_acc", 152),
        ((1, 8), "pcie_lc_perf_other_end_recovery", 3864),
        ((2, 3), "average_temperature_l3", 148),
        ((3, 0), "average_socket_power", 112),
    ],
)
def test_offsets_are_the_compilers(version: tuple[int, int], name: str, offset: int) -> None:
    layout = fields_of(version)
    assert layout is not None
    assert {spec.name: spec.offset for spec in layout[0]}[name] == offset


def values(data: bytes, version: tuple[int, int]) -> dict[str, Raw]:
    layout = fields_of(version)
    assert layout is not None
    return read_fields(data, layout[0])


def test_a_discrete_card() -> None:
    raw = values(NAVI21, (1, 3))
    assert (raw["temperature_edge"], raw["temperature_hotspot"], raw["average_socket_power"]) == (56, 59, 36)
    assert (raw["pcie_link_width"], raw["pcie_link_speed"], raw["average_socclk_frequency"]) == (16, 160, None)
    assert parse_gpu_metrics(NAVI21 + bytes(4096 - len(NAVI21))) == GpuMetrics((), {}, (1, 3))


def test_an_apu() -> None:
    raw = values(PHOENIX, (2, 1))
    assert (raw["temperature_gfx"], raw["temperature_soc"], raw["average_socket_power"]) == (2500, 2737, 3401)
    cores = raw["temperature_core"]
    assert isinstance(cores, tuple) and cores[7] == 2375
    assert parse_gpu_metrics(PHOENIX) == GpuMetrics((), {}, (2, 1))


def test_time_spent_throttled() -> None:
    accelerator = parse_gpu_metrics(table((1, 7), temperature_hotspot=41, ppt_residency_acc=250))
    assert accelerator == GpuMetrics((), {"ppt": 250}, (1, 7))
    apu = parse_gpu_metrics(table((3, 0), temperature_gfx=4512, throttle_residency_spl=9))
    assert apu == GpuMetrics((), {"spl": 9}, (3, 0))


def test_throttle_bits() -> None:
    found = parse_gpu_metrics(table((1, 3), indep_throttle_status=1 << 36 | 1 << 0 | 1 << 50, throttle_status=2))
    assert found == GpuMetrics(("ppt0", "temp_hotspot", "bit 50"), {}, (1, 3))
    assert throttler_names(0) == ()


def test_a_table_that_describes_itself() -> None:
    def attribute(name: str, unit: int, kind: int, code: str, *numbers: int) -> bytes:
        description = unit << 24 | kind << 20 | ATTRIBUTES.index(name) << 10 | len(numbers)
        return struct.pack(f"<Q{len(numbers)}{code}", description, *numbers)

    body = (
        attribute("temperature_hotspot", 2, 2, "H", 44)
        + attribute("curr_socket_power", 3, 2, "H", 0xFFFF)
        + attribute("ppt_residency_acc", 8, 6, "Q", 12)
        + attribute("xgmi_read_data_acc", 9, 6, "Q", 5, 2**64 - 1)
        + struct.pack("<Qi", 2 << 24 | 5 << 20 | 900 << 10 | 1, -7)
    )
    data = struct.pack("<HBBi", 8 + len(body), 1, 9, 5) + body
    assert parse_attributes(data) == {
        "temperature_hotspot": 44,
        "curr_socket_power": None,
        "ppt_residency_acc": 12,
        "xgmi_read_data_acc": (5, None),
        "attribute_900": -7,
    }
    assert (
        parse_gpu_metrics(data) == parse_gpu_metrics(data[:-3]) == GpuMetrics((), {"ppt": 12}, (1, 9), xgmi_read_kb=5)
    )
    assert "attribute_900" not in parse_attributes(data[:-3])


def test_traffic() -> None:
    read, written = (1, 2, 3, 2**64 - 1, 0, 0, 0, 0), (10,) * 8
    for version in ((1, 4), (1, 5), (1, 6), (1, 7), (1, 8)):
        found = parse_gpu_metrics(
            table(version, pcie_bandwidth_inst=18, xgmi_read_data_acc=read, xgmi_write_data_acc=written)
        )
        assert found is not None
        assert (found.version, found.pcie_bandwidth, found.xgmi_read_kb, found.xgmi_written_kb) == (version, 18, 6, 80)
        assert found.pcie_unit_settled is (version == (1, 6))
    empty = parse_gpu_metrics(table((1, 5), temperature_hotspot=40))
    assert empty is not None and (empty.pcie_bandwidth, empty.xgmi_read_kb, empty.xgmi_written_kb) == (None, None, None)


def test_what_has_no_known_layout() -> None:
    assert parse_gpu_metrics(struct.pack("<HBB", 400, 1, 77) + bytes(396)) is None
    assert parse_gpu_metrics(struct.pack("<HBB", 128, 1, 3) + bytes(124)) is None
    assert parse_gpu_metrics(b"") is None
    assert parse_gpu_metrics(b"N/A\n") is None


def test_half_a_table_keeps_the_whole_fields() -> None:
    raw = values(NAVI21[:21], (1, 3))
    assert raw["temperature_edge"] == 56 and raw.get("average_socket_power") is None
    assert parse_gpu_metrics(NAVI21[:21]) == GpuMetrics((), {}, (1, 3))


@given(
    st.binary(max_size=600)
    | st.tuples(st.sampled_from([*SIZES, (1, 9)]), st.binary(max_size=400)).map(
        lambda t: struct.pack("<HBB", SIZES.get(t[0], 400), *t[0]) + t[1]
    )
)
def test_any_bytes_never_raise(data: bytes) -> None:
    parse_gpu_metrics(data)
