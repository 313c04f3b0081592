"""CPU sets. Samples are transcribed masks of hwloc and RCCL files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.formats.cpuset import list_to_set, mask_to_list, mask_to_set, set_to_list


def test_masks() -> None:
    assert mask_to_list("0000ffff,0000ffff") == "0-15,32-47"
    assert mask_to_list("00000000,0000ffff,ffffffff") == "0-47"
    assert mask_to_list("0x000000ff,0xffff0000,0x00ffffff") == "0-23,48-71"
    assert mask_to_list("0x0000ffff,,0x0000ffff") == "0-15,64-79"
    assert mask_to_list("0x00000001,,0x0") == "64"
    assert mask_to_list("0x0") == ""
    assert mask_to_set("0x5") == frozenset({0, 2})
    assert mask_to_set("0xf...f,0x0") is None
    assert mask_to_set("") is None
    assert mask_to_set(None) is None
    assert mask_to_set("0x1," * 1000) is None


def test_lists() -> None:
    assert list_to_set("0-2,8") == frozenset({0, 1, 2, 8})
    assert list_to_set("") == frozenset()
    assert list_to_set("3-1") is None
    assert list_to_set("0-999999") is None
    assert list_to_set("a") is None
    assert set_to_list([]) == ""


@given(st.frozensets(st.integers(0, 600)))
def test_round_trip(numbers: frozenset[int]) -> None:
    assert list_to_set(set_to_list(numbers)) == numbers
    mask = f"{sum(1 << one for one in numbers):x}"
    mask = mask.rjust(-(-len(mask) // 8) * 8, "0")
    words = ",".join(mask[at : at + 8] for at in range(0, len(mask), 8))
    assert mask_to_set(words) == numbers
