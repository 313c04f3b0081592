"""The pages that are made from the code are those that are committed, and one command writes all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit import ROOT
from tools.docs import __main__ as command
from tools.docs.pages import PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_up_to_date(name: str) -> None:
    committed = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert committed == PAGES[name](), f"docs/{name}.md is old: python -m tools.docs {name} writes it anew"


def test_the_command_writes_what_was_named_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "DOCS", tmp_path)
    assert command.main(["smoke"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["smoke.md"]
    assert (tmp_path / "smoke.md").read_text(encoding="utf-8") == PAGES["smoke"]()
    assert capsys.readouterr().err == "wrote docs/smoke.md\n"
    assert command.main(["smoke"]) == 0
    assert capsys.readouterr().err == "", "what has not changed is left alone"


def test_a_name_that_is_no_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["chekcs"]) == 2
    assert "'chekcs'" in capsys.readouterr().err
