"""amdgpu device files: short transcriptions from cards of several generations; RAS and firmware constructed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel import drm, ras

FEATURES_NEW = """features high: 0x00003763 low: 0xa37ffdff
No. Feature               Bit : State
00. DPM_PREFETCHER       ( 0) : enabled
01. DPM_GFXCLK           ( 1) : enabled
02. DPM_GFX_POWER_OPTIMIZER ( 2) : disabled
10. MEM_VDDCI_SCALING    (10) : enabled
"""
FEATURES_OLD = """Current ppfeatures: 0x000000001ba1ff4f
FEATURES            BITMASK                ENABLEMENT
DPM_PREFETCHER      0x0000000000000001      Y
UVD_DPM             0x0000000000000010      N
"""
FIRMWARE = """VCE feature version: 0, firmware version: 0x00000000
MEC feature version: 50, firmware version: 0x0000009b
RLC SRLC feature version: 0, firmware version: 0x00000000
TA XGMI feature version: 0x00000000, firmware version: 0x2000000d
SMC feature version: 0, program: 0, firmware version: 0x003a5600 (58.86.0)
SDMA0 feature version: 52, firmware version: 0x00000051
VBIOS version: 113-D4121EXT-CO1
"""


def test_clock_states() -> None:
    table = drm.parse_dpm("0: 500Mhz \n1: 1302Mhz *\n2: 1941Mhz \n")
    assert table is not None
    assert table.current_mhz == 1302
    assert (table.min_mhz, table.max_mhz) == (500, 1941)
    assert table.active[0].line == 2
    assert not table.is_asleep


def test_deep_sleep_without_trailing_blanks() -> None:
    table = drm.parse_dpm("S: 19Mhz *\n0: 615Mhz\n1: 800Mhz\n")
    assert table is not None
    assert table.is_asleep
    assert table.current_mhz == 19
    assert (table.min_mhz, table.max_mhz) == (615, 800)


def test_no_active_state_is_not_the_first_one() -> None:
    table = drm.parse_dpm("0: 300Mhz \n1: 1900Mhz \n")
    assert table is not None
    assert table.active == ()
    assert table.current_mhz is None


def test_pcie_states_in_three_spellings() -> None:
    new = drm.parse_dpm("0: 2.5GT/s, x1 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n")
    assert new is not None
    assert (new.current_gt_s, new.current_width, new.current_mhz) == (16.0, 16, 619)
    vega = drm.parse_dpm("0: 8.0GT/s, x16 *\n1: 8.0GT/s, x16 *\n")
    assert vega is not None
    assert (vega.current_gt_s, vega.current_width, vega.current_mhz) == (8.0, 16, None)
    polaris = drm.parse_dpm("0: 2.5GB, x8 *\n1: 8.0GB, x16 \n")
    assert polaris is not None
    assert (polaris.current_gt_s, polaris.current_width) == (2.5, 8)


def test_several_active_states_that_disagree() -> None:
    table = drm.parse_dpm("0: 16.0GT/s, x16 78Mhz *\n1: 16.0GT/s, x16 156Mhz *\n")
    assert table is not None
    assert (table.current_gt_s, table.current_width, table.current_mhz) == (16.0, 16, None)


@pytest.mark.parametrize("text", ["", "\n", "N/A", "unavailable\n"])
def test_no_states(text: str) -> None:
    assert drm.parse_dpm(text) is None


def test_words_and_counts() -> None:
    assert drm.parse_word("auto\n") == "auto"
    assert drm.parse_word("\n") is None
    assert drm.parse_words("flr bus\n") == ("flr", "bus")
    assert drm.parse_words("SPX, DPX, QPX, CPX\n") == ("SPX", "DPX", "QPX", "CPX")
    assert drm.parse_words("Not supported\n") is None
    assert drm.parse_partition("CPX\n") == "CPX"
    assert drm.parse_partition("NPS4\n") == "NPS4"
    assert drm.parse_partition("UNKNOWN\n") is None
    assert drm.parse_count("17163091968\n") == 17163091968
    assert drm.parse_count("-22") is None
    assert drm.parse_count("") is None
    assert drm.parse_board_type("type : oam\n") == "oam"
    assert drm.parse_board_type("type : unknown\n") is None


def test_unique_id_is_the_same_number_as_in_kfd() -> None:
    assert drm.parse_unique_id("0123456789abcdef\n") == 81985529216486895
    assert drm.parse_unique_id("") is None
    assert drm.parse_unique_id("0000000000000000") is None


def test_pcie_traffic() -> None:
    assert drm.parse_pcie_bw("11886 2528 256\n") == drm.PcieTraffic(11886, 2528, 256)
    assert drm.parse_pcie_bw("") is None


def test_throttle_logging() -> None:
    text = "0000:0c:00.0: thermal throttling logging enabled, with interval 60 seconds\n"
    assert drm.parse_throttle_logging(text) == drm.ThrottleLogging("0000:0c:00.0", True, 60)
    assert drm.parse_throttle_logging("") is None


@pytest.mark.parametrize(
    ("parts", "gfx"),
    [
        (("11", "0", "1"), "gfx1103"),
        (("9", "4", "3"), "gfx942"),
        (("12", "0", "1"), "gfx1201"),
        (("13", "0", "0"), None),
    ],
)
def test_graphics_block(parts: tuple[str, str, str], gfx: str | None) -> None:
    found = drm.parse_gc_version(*parts)
    assert found is not None
    assert found.gfx == gfx
    assert drm.parse_gc_version("11", "", "0") is None


def test_features_in_both_forms() -> None:
    new = drm.parse_pp_features(FEATURES_NEW)
    assert new is not None
    assert new.mask == 0x00003763A37FFDFF
    assert new.enabled["DPM_GFXCLK"] is True
    assert new.enabled["DPM_GFX_POWER_OPTIMIZER"] is False
    assert new.lines["MEM_VDDCI_SCALING"] == 6
    old = drm.parse_pp_features(FEATURES_OLD)
    assert old is not None
    assert old.mask == 0x1BA1FF4F
    assert old.enabled == {"DPM_PREFETCHER": True, "UVD_DPM": False}
    assert drm.parse_pp_features("") is None


def test_error_counts() -> None:
    older = ras.parse_err_count("ue: 0\nce: 12\n")
    assert older is not None
    assert (older.uncorrectable, older.correctable, older.deferred) == (0, 12, None)
    newer = ras.parse_err_count("ue: 1\nce: 0\nde: 4\n")
    assert newer is not None
    assert (newer.uncorrectable, newer.deferred) == (1, 4)
    assert newer.lines == {"uncorrectable": 1, "correctable": 2, "deferred": 3}
    assert ras.parse_err_count("Query currently inaccessible\n") is None


def test_ras_features() -> None:
    found = ras.parse_ras_features("feature mask: 0x2000007\n")
    assert found is not None
    assert found.blocks == ("umc", "sdma", "gfx", "bit 25")
    fabric = ras.parse_ras_features("feature mask: 0x80080\n")
    assert fabric is not None
    assert fabric.blocks == ("xgmi_wafl", "mmsch")
    assert ras.parse_ras_features("") is None


def test_bad_pages() -> None:
    pages = ras.parse_bad_pages("0x00000001 : 0x00001000 : R\n0x00abc002 : 0x00001000 : P\n")
    assert pages is not None
    assert [(one.page, one.size_bytes, one.state, one.line) for one in pages] == [
        (1, 4096, "reserved", 1),
        (0xABC002, 4096, "pending", 2),
    ]
    assert ras.parse_bad_pages("") == ()
    assert ras.parse_bad_pages("Input/output error") is None


def test_firmware() -> None:
    found, vbios = ras.parse_firmware_info(FIRMWARE)
    assert vbios == "113-D4121EXT-CO1"
    assert found["mec"] == ras.Firmware("mec", 50, 0x9B, None, 2)
    assert found["ta xgmi"].version == 0x2000000D
    assert found["smc"].text == "58.86.0"
    assert found["sdma0"].feature_version == 52
    assert found["vce"].version == 0
    files = ras.parse_fw_version(
        {"fw_version/mec_fw_version": "0x00000068\n", "smc_fw_version": "", "x_fw_version": "?"}
    )
    assert {name: one.version for name, one in files.items()} == {"mec": 0x68}


@given(
    st.text()
    | st.sampled_from([FEATURES_NEW, FEATURES_OLD, FIRMWARE, "0: 2.5GT/s, x1 310Mhz *\n"]).flatmap(
        lambda t: st.integers(0, len(t)).map(lambda n: t[:n])
    )
)
def test_any_text_never_raises(text: str) -> None:
    if (table := drm.parse_dpm(text)) is not None:
        _ = (table.current_mhz, table.max_mhz, table.min_mhz, table.current_gt_s, table.current_width, table.is_asleep)
    for function in (
        drm.parse_word, drm.parse_words, drm.parse_partition, drm.parse_count, drm.parse_unique_id, drm.parse_pcie_bw,
        drm.parse_throttle_logging, drm.parse_board_type, drm.parse_pp_features, ras.parse_err_count,
        ras.parse_ras_features, ras.parse_bad_pages, ras.parse_firmware_info,
    ):  # fmt: skip
        function(text)
    drm.parse_gc_version(text, text, text)
    ras.parse_fw_version({text: text, "mec_fw_version": text})
