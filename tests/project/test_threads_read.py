"""The list of threads that rules were learned from: whoever measures on unseen reports leaves them out."""

from __future__ import annotations

import re

from tests.kit import ROOT

LIST = ROOT / "docs" / "threads_read.txt"
_ADDRESS = re.compile(r"github\.com/([\w.-]+/[\w.-]+)/(?:issues|discussions|pull)/(\d+)")
_NAMED = re.compile(r"([\w.-]+/[\w.-]+) (?:issues?|discussions?|pulls?) (\d{1,6}(?:(?:, | and )(?!20\d\d\b)\d{2,6})*)")
_FORM = re.compile(r"[\w.-]+/[\w.-]+#\d+|https?://\S+")


def rows() -> list[str]:
    return [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_the_list_is_sorted_and_each_row_names_a_thread() -> None:
    assert len(rows()) > 30
    assert [one for one in rows() if not _FORM.fullmatch(one)] == []
    assert rows() == sorted(set(rows()), key=lambda one: (one.lower(), one))


def test_the_threads_that_tables_and_checks_name_stand_in_it() -> None:
    files = [*(ROOT / "rocdoctor" / "knowledge" / "tables").glob("*.yaml"), *(ROOT / "checks").glob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    named = {f"{one[1]}#{one[2]}" for text in texts for one in _ADDRESS.finditer(text)}
    named |= {
        f"{one[1]}#{number}" for text in texts for one in _NAMED.finditer(text) for number in re.findall(r"\d+", one[2])
    }
    assert len(named) > 20
    assert sorted(named - set(rows())) == []
