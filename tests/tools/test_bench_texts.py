"""The texts of the benchmark are what their names say."""

from __future__ import annotations

import pytest

from tools.bench.texts import KINDS, text_of


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_of_the_size_asked_for_and_the_same_each_time(kind: str) -> None:
    text = text_of(kind, 30_000)
    assert 30_000 <= len(text) < 60_000
    assert text == text_of(kind, 30_000)


def test_kinds_differ_and_stamped_ones_have_a_stamp_on_each_line() -> None:
    assert len({text_of(kind, 5000) for kind in KINDS}) == len(KINDS)
    assert all(line.startswith("[") for line in text_of("kernel log", 5000).split("\n"))
