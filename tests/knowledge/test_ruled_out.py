"""What another statement of the same text rules out. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.text_kit import first_cause

_KEPT = "I stopped training with Ctrl-C, and the GPU memory of my MI50 is not released, only a reboot helps.\n"
_OOPS = (
    "dmesg:\n```\n[ 512.20] BUG: unable to handle kernel paging request at ffffe1c2200f15e0\n"
    "[ 512.21] IP: kfree+0x53/0x180\n[ 512.22] Oops: 0000 [#1] SMP PTI\n"
    "[ 512.23] Modules linked in: bridge aufs {} snd_hda_intel\n```\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_KEPT, "out-of-memory"),
        (_KEPT + _OOPS.format("amdgpu(OE)"), "not-environment"),
        (_KEPT + _OOPS.format("vboxdrv(OE)"), "out-of-memory"),  # whose crash it was is open
    ],
)
def test_a_crash_of_the_kernel_is_no_left_over_process(text: str, cause: str) -> None:
    assert first_cause(text) == cause
