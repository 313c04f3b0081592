"""Answers as lines: a listing gives no path that its pattern does not allow."""

from __future__ import annotations

import pytest

from rocdoctor.host.base import Answer


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("/sys/class/drm/card*", "/sys/class/drm/card0-DP-1", "/sys/class/drm/card0/device"),
        ("/dev/nvidia[0-9]*", "/dev/nvidia12", "/dev/nvidiactl"),
        ("/var/lib/dkms/*/*/source", "/var/lib/dkms/amdgpu/6.8/source", "N/A"),
        ("/sys/[!a]?", "/sys/b0", "/sys/a0"),
        ("~/.x/*", "~/.x/one", "/etc/shadow"),
        ("~/.x/*", "/home/someone/.x/one", ""),
        ("/opt/rocm*", "/opt/rocm-7.2", "/opt/rocm-7.2\x1b[31m/../x"),
    ],
)
def test_a_listing_holds_what_its_pattern_allows(pattern: str, good: str, bad: str) -> None:
    answer = Answer(f"list {pattern}", "ok", f"{bad}\n{good}\n{bad}".encode())
    assert answer.lines() == [good]


def test_other_answers_keep_every_line() -> None:
    assert Answer("read /x", "ok", b"a\n\nb").lines() == ["a", "", "b"]
