"""gpu_metrics: two tables transcribed from an RX 6900 XT and a laptop APU, the others built field by field."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel.gpu_metrics import GpuMetrics, parse_gpu_metrics, throttler_names
from rocdoctor.parsers.kernel.gpu_metrics_layout import ATTRIBUTES, LAYOUTS, fields_of

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
    (1, 0): 80, (1, 1): 96, (1, 2): 104, (1, 3): 120, (1, 4): 288, (1, 5): 360, (1, 6): 1664, (1, 7): 2208,
    (1, 8): 3872, (2, 0): 120, (2, 1): 120, (2, 2): 128, (2, 3): 152, (2, 4): 168, (3, 0): 264,
}  # fmt: skip


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


def test_a_discrete_card() -> None:
    found = parse_gpu_metrics(NAVI21 + bytes(4096 - len(NAVI21)))
    assert (found.version, found.state, found.note) == ("1.3", "ok", None)
    assert found.temps_c == {"edge": 56, "hotspot": 59, "mem": 54, "vrgfx": 49, "vrsoc": 49, "vrmem": 51}
    assert found.average_socket_power_w == 36.0
    assert found.current_socket_power_w is None
    assert found.gfx_activity_percent == 3.0
    assert (found.pcie_width, found.pcie_speed_gt_s) == (16, 16.0)
    assert found.current_clocks_mhz["gfxclk"] == 500
    assert "socclk" not in found.average_clocks_mhz
    assert found.voltages_mv == {"soc": 818, "gfx": 775, "mem": 1356}
    assert found.throttlers == ()
    assert found.gfx_activity_acc is None
    assert found.energy_j is None


def test_an_apu_counts_in_hundredths_and_milliwatts() -> None:
    found = parse_gpu_metrics(PHOENIX)
    assert (found.version, found.state) == ("2.1", "ok")
    assert found.temps_c["gfx"] == 25.0
    assert found.temps_c["soc"] == 27.37
    assert found.temps_c["core7"] == 23.75
    assert found.average_socket_power_w == 3.401
    assert found.gfx_activity_percent == 0.79
    assert found.current_clocks_mhz["coreclk0"] == 1400
    assert found.pcie_width is None
    assert found.indep_throttle_status_raw is None


def test_an_accelerator() -> None:
    found = parse_gpu_metrics(
        table(
            (1, 7), temperature_hotspot=41, temperature_mem=36, curr_socket_power=750, pcie_link_width=16,
            pcie_link_speed=320, xgmi_link_width=16, xgmi_link_speed=32, pcie_replay_count_acc=7,
            pcie_nak_sent_count_acc=2, energy_accumulator=1 << 20, current_gfxclk=(2100, 2099), num_partition=1,
            xgmi_link_status=(1, 1, 1, 1, 1, 1, 1, 2), accumulation_counter=1000, ppt_residency_acc=250,
        )
    )  # fmt: skip
    assert found.temps_c == {"hotspot": 41, "mem": 36}
    assert (found.current_socket_power_w, found.average_socket_power_w) == (750.0, None)
    assert (found.pcie_width, found.pcie_speed_gt_s) == (16, 32.0)
    assert (found.xgmi_width, found.xgmi_speed_gbit_s) == (16, 32)
    assert found.xgmi_link_status == (1, 1, 1, 1, 1, 1, 1, None)
    assert (found.pcie_replay_count, found.pcie_nak_sent_count, found.pcie_nak_received_count) == (7, 2, None)
    assert found.energy_j == 16.0
    assert found.current_clocks_mhz == {"gfxclk0": 2100, "gfxclk1": 2099}
    assert (found.residencies, found.accumulation_counter) == ({"ppt": 250}, 1000)
    assert found.partition_count == 1


def test_an_apu_of_table_three() -> None:
    found = parse_gpu_metrics(
        table((3, 0), temperature_gfx=4512, temperature_skin=3000, average_socket_power=54321, average_gfx_activity=42,
              average_gfxclk_frequency=2900, throttle_residency_spl=9)
    )  # fmt: skip
    assert found.temps_c == {"gfx": 45.12, "skin": 30.0}
    assert found.average_socket_power_w == 54.321
    # 42 may be 42 % or 0.42 %: the firmware decides.
    assert found.gfx_activity_percent is None
    assert found.values["average_gfx_activity"] == 42
    assert found.average_clocks_mhz == {"gfxclk": 2900}
    assert found.residencies == {"spl": 9}


def test_small_power_figures_of_old_apus_are_ambiguous() -> None:
    assert parse_gpu_metrics(table((2, 2), average_socket_power=15)).average_socket_power_w is None
    assert parse_gpu_metrics(table((2, 2), average_socket_power=15000)).average_socket_power_w == 15.0
    assert parse_gpu_metrics(table((2, 4), average_socket_power=900)).average_socket_power_w == 0.9


def test_link_figures_that_no_link_has() -> None:
    found = parse_gpu_metrics(table((1, 3), pcie_link_width=0, pcie_link_speed=3))
    assert (found.pcie_width, found.pcie_speed_gt_s) == (None, None)


def test_absent_temperature_sensors_hold_zero() -> None:
    found = parse_gpu_metrics(table((1, 3), temperature_edge=53, temperature_vrgfx=0))
    assert found.temps_c == {"edge": 53}


def test_throttle_bits() -> None:
    found = parse_gpu_metrics(table((1, 3), indep_throttle_status=1 << 36 | 1 << 0 | 1 << 50, throttle_status=2))
    assert found.throttlers == ("ppt0", "temp_hotspot", "bit 50")
    assert found.throttle_status_raw == 2
    assert throttler_names(0) == ()


def test_a_table_that_describes_itself() -> None:
    def attribute(name: str, unit: int, kind: int, code: str, *numbers: int) -> bytes:
        description = unit << 24 | kind << 20 | ATTRIBUTES.index(name) << 10 | len(numbers)
        return struct.pack(f"<Q{len(numbers)}{code}", description, *numbers)

    body = (
        attribute("temperature_hotspot", 2, 2, "H", 44)
        + attribute("curr_socket_power", 3, 2, "H", 0xFFFF)
        + attribute("pcie_link_speed", 7, 2, "H", 320)
        + attribute("xgmi_read_data_acc", 9, 6, "Q", 5, 2**64 - 1)
        + attribute("temperature_hbm", 2, 2, "H", 38, 39)
        + struct.pack("<Qi", 2 << 24 | 5 << 20 | 900 << 10 | 1, -7)
    )
    data = struct.pack("<HBBi", 8 + len(body), 1, 9, 6) + body
    found = parse_gpu_metrics(data)
    assert (found.version, found.state) == ("1.9", "ok")
    assert found.temps_c == {"hotspot": 44, "hbm0": 38, "hbm1": 39}
    assert found.current_socket_power_w is None
    assert found.pcie_speed_gt_s == 32.0
    assert found.xgmi_read_kib == (5, None)
    assert found.values["attribute_900"] == -7
    cut = parse_gpu_metrics(data[:-3])
    assert cut.state == "truncated"
    assert cut.temps_c == found.temps_c


def test_what_cannot_be_read_says_why() -> None:
    newer = parse_gpu_metrics(struct.pack("<HBB", 400, 1, 77) + bytes(396))
    assert (newer.version, newer.state) == ("1.77", "unknown-version")
    assert newer.note == "table version 1.77 is not known"
    assert newer.temps_c == {}
    longer = parse_gpu_metrics(struct.pack("<HBB", 128, 1, 3) + bytes(124))
    assert (longer.state, longer.note) == (
        "unexpected-size",
        "table version 1.3 has 128 bytes, not 120: its layout is not known",
    )
    assert parse_gpu_metrics(b"").state == "not-a-table"
    assert parse_gpu_metrics(b"N/A\n").state in ("not-a-table", "unknown-version")


def test_half_a_table_keeps_the_whole_fields() -> None:
    found = parse_gpu_metrics(NAVI21[:21])
    assert found.state == "truncated"
    assert found.temps_c["edge"] == 56.0
    assert found.average_socket_power_w is None
    assert found.pcie_width is None


@given(
    st.binary(max_size=600)
    | st.tuples(st.sampled_from([*SIZES, (1, 9)]), st.binary(max_size=400)).map(
        lambda t: struct.pack("<HBB", SIZES.get(t[0], 400), *t[0]) + t[1]
    )
)
def test_any_bytes_never_raise(data: bytes) -> None:
    assert isinstance(parse_gpu_metrics(data), GpuMetrics)
