"""Sound texts of the kinds that were blamed in public threads, each beside a near text of a machine in trouble."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed

_DLL = "Could not load dynamic library '{name}'; dlerror: {name}: cannot open shared object file: No such file"
_LOADER = "2023-04-19 18:24:42: W dso_loader.cc:64]"
_NONE = "error 100: no ROCm-capable device is detected"
_PAIRS = {
    "a limit that is not kept": (
        "The timeout set in init_process_group is not respected for NCCL. Is something missing?",
        "Our job of two nodes times out in init_process_group on this GPU.",
        "rendezvous-name-resolution",
    ),
    "memory that is left": (
        "The kernel stops with another batch. The GPU is not out of memory here.",
        "The kernel stops with another batch. The GPU is out of memory here.",
        "out-of-memory",
    ),
    "a library that is optional": (
        f"Does this mean that my card is not used?\n{_LOADER} {_DLL.format(name='libnvinfer.so.7')}",
        f"My card is not used.\n{_LOADER} {_DLL.format(name='libcudart.so.11.0')}",
        "missing-shared-library",
    ),
    "what should have been printed": (
        f"The variable is not read:\n$ ./count\ndevices: 1\nexpected:\n$ ./count\n{_NONE}",
        f"The variable is not read:\n$ ./count\n{_NONE}",
        "device-permission",
    ),
}


@pytest.mark.parametrize(("sound", "sick", "cause"), _PAIRS.values(), ids=_PAIRS)
def test_a_sound_text_is_not_blamed_and_its_neighbour_is(sound: str, sick: str, cause: str) -> None:
    assert [one.cause for one in diagnosed(sound).causes if one.cause != "not-environment"] == []
    assert cause in [one.cause for one in diagnosed(sick).causes]
