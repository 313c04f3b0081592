"""The shared helpers: each figure below was worked out by hand."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.formats import text
from rocdoctor.parsers.formats.json_text import load_json


@pytest.mark.parametrize(
    "word", ["N/A", " n/a ", "[Not Supported]", "Unknown", "", "None", "<unknown>", "Not supported."]
)
def test_words_for_no_value(word: str) -> None:
    assert text.value_of(word) is None


def test_values_are_trimmed_and_kept() -> None:
    assert text.value_of("  amdgpu \n") == "amdgpu"
    assert text.value_of("0") == "0"


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("64 GB", 68719476736),
        ("65520 MB", 68702699520),
        ("16384 KiB", 16777216),
        ("17163091968", 17163091968),
        ("0x400", 1024),
        ({"value": 196592, "unit": "MB"}, 206141652992),
        ("1.5 GiB", 1610612736),
        ("12 apples", None),
        ("-1 MB", None),
        (None, None),
        (True, None),
        ("1E300P", None),
    ],
)
def test_bytes(given_text: object, expected: int | None) -> None:
    assert text.to_bytes(given_text) == expected


def test_decimal_bytes_only_where_asked() -> None:
    assert text.to_bytes("2 GB", decimal=True) == 2_000_000_000
    assert text.to_bytes("2 GiB", decimal=True) == 2147483648
    assert text.to_bytes("67092480(0x3ffc000)", "KB") == 68702699520


def test_units() -> None:
    assert text.to_watts("35000 mW") == 35.0
    assert text.to_watts("220.0W") == 220.0
    assert text.to_watts("N/A") is None
    assert text.to_celsius("53.0c") == 53.0
    assert text.to_celsius({"value": 40, "unit": "C"}) == 40.0
    assert text.to_mhz("(2.1 GHz)") == 2100.0
    assert text.to_mhz("1e308 GHz") is None
    assert text.number("temp 1e999") is None


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("16.0 GT/s PCIe", 16.0),
        ("2.5GT/s", 2.5),
        ({"value": 32, "unit": "GT/s"}, 32.0),
        ("16000 MT/s", 16.0),
        (16000, 16.0),
        ("Gen 4", 16.0),
        ("Gen5", 32.0),
        ("Unknown", None),
        ("0 GT/s", None),
    ],
)
def test_transfer_rate(given_text: object, expected: float | None) -> None:
    assert text.to_gt_s(given_text) == expected


def test_width() -> None:
    assert text.to_width("x16 (downgraded)") == 16
    assert text.to_width(8) == 8
    assert text.to_width("0") is None
    assert text.to_width(255) is None


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("0000:03:00.0", "0000:03:00.0"),
        ("03:00.0", "0000:03:00.0"),
        ("00000000:C1:00.0", "0000:c1:00.0"),
        ("00010000:C1:00.0", "10000:c1:00.0"),
        ("amdgpu 0002:00:01.0: fatal error", "0002:00:01.0"),
        ("12:34:56", None),
        ("03:3f.0", None),
        ("aa:bb:cc:dd:ee:ff", None),
    ],
)
def test_pci_address(given_text: str, expected: str | None) -> None:
    assert text.pci_address(given_text) == expected


def test_pci_address_of_a_bdfid() -> None:
    assert text.pci_from_bdfid(768) == "0000:03:00.0"
    assert text.pci_from_bdfid(0xC1F9, 1) == "0001:c1:1f.1"
    assert text.pci_from_bdfid(-1) is None


def test_gfx_name() -> None:
    assert text.gfx_name("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == "gfx90a"
    assert text.gfx_name("GFX1100") == "gfx1100"
    assert text.gfx_name("gfx000") is None
    assert text.gfx_name("gfx") is None


def test_lines_lose_colours_and_carriage_returns() -> None:
    assert text.lines_of("\x1b[31mred\x1b[0m\r\nplain") == ["red", "plain"]
    assert len(text.lines_of("a\n" * 50, limit=10)) == 10


def test_json_after_warnings_with_lines() -> None:
    found = load_json(
        'WARNING: AMD GPU device(s) is/are in a low-power state.\n[WARN] x\n\n{"a": 1,\n "b": [true, "x"]}\n'
    )
    assert found is not None and found.complete
    assert found.value == {"a": 1, "b": [True, "x"]}
    assert found.line == 4
    assert found.line_of("a") == 4
    assert found.line_of("b", 1) == 5
    assert found.line_of("b", 1, "missing") == 5
    assert found.before == ("WARNING: AMD GPU device(s) is/are in a low-power state.", "[WARN] x")


def test_json_that_breaks_off_keeps_what_was_whole() -> None:
    found = load_json('{"card0": {"GPU ID": "0x740f", "VRAM": "64", "Uniq')
    assert found is not None and not found.complete
    assert found.value == {"card0": {"GPU ID": "0x740f", "VRAM": "64"}}


def test_json_numbers_and_escapes() -> None:
    found = load_json('{"a": -1.5e2, "b": NaN, "c": "x\\u0041\\n", "d": 1e999, "e": "bad\\x", "f": []}')
    assert found is not None and found.complete
    assert found.value == {"a": -150.0, "b": None, "c": "xA\n", "d": None, "e": "bad\\x", "f": []}


def test_json_very_deep_is_bounded() -> None:
    assert load_json("[" * 100_000) is not None
    assert load_json('{"a":' * 100_000) is not None


def test_no_json() -> None:
    assert load_json("no json here") is None
    assert load_json("[WARNING] low power") is None
    assert load_json("") is None


@pytest.mark.parametrize("word", ["\uff18", "1\u0661", "\u00b2", "1_0", "0x\uff18", "0o7", "\U0001d7d8"])
def test_digits_of_other_scripts_and_of_python_are_no_numbers(word: str) -> None:
    """Python's int() takes them; no program that prints or reads our numbers does."""
    assert (text.to_int(word), text.whole_number(word), text.kernel_int(word)) == (None, None, None)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("10", 10),
        ("010", 8),
        ("0x10", 16),
        ("-1", -1),
        ("0", 0),
        ("0xfff7ffff\n", 0xFFF7FFFF),
        ("08", None),
        ("", None),
        ("+", None),
        ("-0x1", -1),
        ("1 0", None),
    ],
)
def test_a_number_as_the_kernel_reads_it(word: str, value: int | None) -> None:
    assert text.kernel_int(word) == value


@pytest.mark.parametrize(
    "word", [2**64, "18446744073709551616", "9" * 40, "-" + "9" * 40, "0x1" + "0" * 16, 1e30, 10**40]
)
def test_what_no_counter_can_hold_is_no_number(word: object) -> None:
    assert text.to_int(word) is None
    assert text.to_int("18446744073709551615") == text.to_int(hex(2**64 - 1)) == 2**64 - 1
