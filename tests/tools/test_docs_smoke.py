"""The page on smoke tests is what the modes say of themselves."""

from __future__ import annotations

from rocdoctor.train.smoke.worker.mode import all_modes
from tests.kit import ROOT
from tools.docs.smoke import page


def test_the_page_is_current() -> None:
    words = "run python -m tools.docs.smoke > docs/smoke.md"
    assert (ROOT / "docs" / "smoke.md").read_text(encoding="utf-8") == page(), words


def test_names_are_unique_and_the_quick_set_has_at_least_thirty_modes() -> None:
    names = [one.name for one in all_modes()]
    assert len(names) == len(set(names))
    assert sum(not one.full for one in all_modes()) >= 30
