from __future__ import annotations

import pytest

from rocdoctor.model.units import binary_size


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (65536, "64 KiB"),
        (64 << 20, "64 MiB"),
        (3 << 29, "1.5 GiB"),
        (128 << 30, "128 GiB"),
        (2 << 40, "2 TiB"),
        (1535 << 20, "1.5 GiB"),
    ],
)
def test_sizes_in_words(size: int, words: str) -> None:
    assert binary_size(size) == words
