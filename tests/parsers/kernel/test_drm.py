"""amdgpu device files: short transcriptions from cards of several generations; RAS and firmware constructed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel import drm, ras


def test_clock_states() -> None:
    assert drm.parse_dpm("0: 500Mhz \n1: 1302Mhz *\n2: 1941Mhz \n") == (
        drm.DpmState(500, False),
        drm.DpmState(1302, True),
        drm.DpmState(1941, False),
    )


def test_deep_sleep_without_trailing_blanks() -> None:
    assert drm.parse_dpm("S: 19Mhz *\n0: 615Mhz\n") == (drm.DpmState(19, True), drm.DpmState(615, False))


def test_no_active_state_is_not_the_first_one() -> None:
    assert drm.parse_dpm("0: 300Mhz \n1: 1900Mhz \n") == (drm.DpmState(300, False), drm.DpmState(1900, False))


@pytest.mark.parametrize("text", ["", "\n", "N/A", "unavailable\n"])
def test_no_states(text: str) -> None:
    assert drm.parse_dpm(text) is None


def test_words_and_counts() -> None:
    assert drm.parse_word("auto\n") == "auto"
    assert drm.parse_word("\n") is None
    assert drm.parse_partition("CPX\n") == "CPX"
    assert drm.parse_partition("NPS4\n") == "NPS4"
    assert drm.parse_partition("UNKNOWN\n") is None
    assert drm.parse_count("17163091968\n") == 17163091968
    assert drm.parse_count("-22") is None
    assert drm.parse_count("") is None


def test_packets_counted_for_a_second() -> None:
    assert drm.parse_pcie_bw("1734 22 256\n") == (443904, 5632)
    assert drm.parse_pcie_bw("0 0 128\n") == (0, 0)
    assert [drm.parse_pcie_bw(one) for one in ("", "1 2", "1 2 0", "-1 2 256", "a b c", "1 2 3 4")] == [None] * 6


def test_unique_id_is_the_same_number_as_in_kfd() -> None:
    assert drm.parse_unique_id("0123456789abcdef\n") == 81985529216486895
    assert drm.parse_unique_id("") is None
    assert drm.parse_unique_id("0000000000000000") is None


def test_error_counts() -> None:
    older = ras.parse_err_count("ue: 0\nce: 12\n")
    assert older is not None
    assert (older.uncorrectable, older.correctable) == (0, 12)
    newer = ras.parse_err_count("ue: 1\nce: 0\nde: 4\n")
    assert newer is not None
    assert newer.uncorrectable == 1
    assert newer.lines == {"uncorrectable": 1, "correctable": 2}
    assert ras.parse_err_count("Query currently inaccessible\n") is None


def test_bad_pages() -> None:
    assert ras.parse_bad_pages("0x00000001 : 0x00001000 : R\n0x00abc002 : 0x00001000 : P\n") == 2
    assert ras.parse_bad_pages("") == 0
    assert ras.parse_bad_pages("Input/output error") is None


def test_firmware() -> None:
    files = {"fw_version/mec_fw_version": "0x00000068\n", "smc_fw_version": "", "x_fw_version": "?"}
    assert ras.parse_fw_version(files) == {"mec": 0x68}


@given(st.text())
def test_any_firmware_files_never_raise(text: str) -> None:
    ras.parse_fw_version({text: text, "mec_fw_version": text})
