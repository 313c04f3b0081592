"""Masking over the lists of tests/corpora; what is not masked is named in ``left.txt``, and nothing else is left."""

from __future__ import annotations

import pytest

from rocdoctor.host.masking.masker import Masker
from tests.host.masking import written

SECRETS = written.secrets()
IDENTITIES = written.identities()
CONTROLS = written.sections("controls")
HIDDEN = SECRETS | IDENTITIES


def test_the_lists_are_long_enough_and_have_no_form_twice() -> None:
    for lists in (SECRETS, IDENTITIES):
        assert sum(len(rows) for rows in lists.values()) >= 200
        for name, rows in lists.items():
            assert len(set(rows)) == len(rows), name
            assert [text for text, hidden in rows if hidden not in text] == []
    assert sum(map(len, CONTROLS.values())) >= 200


@pytest.mark.parametrize("name", HIDDEN)
def test_only_what_is_said_to_be_left_is_left(name: str) -> None:
    told = [text.replace(hidden, "{}") for text, hidden in HIDDEN[name] if hidden in Masker().mask_text(text)]
    assert sorted(told) == sorted(written.left(name))


@pytest.mark.parametrize("name", CONTROLS)
def test_what_tells_nothing_stays(name: str) -> None:
    assert sorted(one for one in CONTROLS[name] if Masker().mask_text(one) != one) == sorted(written.left(name))


@pytest.mark.parametrize("name", HIDDEN)
def test_masking_again_changes_nothing(name: str) -> None:
    masked = [Masker().mask_text(text) for text, _ in HIDDEN[name]]
    assert [one for one in masked if Masker().mask_text(one) != one] == []


@pytest.mark.parametrize("name", HIDDEN)
def test_all_forms_in_one_text_tell_no_more(name: str) -> None:
    rows = [row for row in HIDDEN[name] if row[0].replace(row[1], "{}") not in written.left(name)]
    hidden = {value for _, value in rows}
    masked = Masker().mask_text("\n\n".join(text for text, _ in rows))
    assert [line for line in masked.split("\n") if any(value in line for value in hidden)] == []
