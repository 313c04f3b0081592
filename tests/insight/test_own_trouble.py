"""When a text tells of trouble that two of its values may explain. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.collect import collect
from rocdoctor.insight.texts.own_trouble import names_several, trouble
from rocdoctor.model.lazy_re import regex
from rocdoctor.paste import open_text

_IMPORT = regex(r"\bimport\b")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("With torch 2.4.0 the import crashes.\n", True),
        ("With torch 2.4.0 the import is slow to write. My game crashes.\n", False),
        ("With torch 2.4.0 the import fails: KeyError: 'x'\n", False),
        ("a.cu:12:3: error: the import is unknown\n", False),
        ("With torch 2.4.0 the import crashes. I rebuilt it from source.\n", False),
        ("With torch 2.4.0 the import crashed. With 2.3.1 it works again.\n", False),
        ("Does the import of torch 2.4.0 crash for you too?\n", False),
        ("I have torch 2.4.0.\n", False),
    ],
)
def test_trouble_of_a_kind(text: str, told: bool) -> None:
    assert bool(trouble(collect(open_text(text, "test")), _IMPORT)) is told


def test_a_message_of_a_named_kind_counts_whatever_its_words() -> None:
    machine = collect(open_text("The NVIDIA module does not build.\n", "test"))
    assert trouble(machine, _IMPORT) == ()
    assert [one.kind for one in trouble(machine, _IMPORT, "nvidia-driver-not-there")] == ["nvidia-driver-not-there"]


@pytest.mark.parametrize(
    ("text", "fields", "several"),
    [
        ("With kernel 6.14 it fails, with kernel 6.8 it does not.\n", ("kernel",), True),
        ("With kernel 6.14.0-37 it fails. The kernel is 6.14.\n", ("kernel",), False),
        ("ROCm 7.1 fails, the old PC has ROCm 5.7.\n", ("rocm", "torch"), True),
        ("ROCm 7.1.0 and torch 2.9.1 fail.\n", ("rocm", "torch"), False),
        ("Driver 470.256.02: the module does not build, 535.183.01 is fine.\n", ("nvidia",), True),
    ],
)
def test_several_versions_of_one_kind(text: str, fields: tuple[str, ...], several: bool) -> None:
    assert names_several(collect(open_text(text, "test")), *fields) is several
