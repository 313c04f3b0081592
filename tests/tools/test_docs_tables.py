"""The documents made from the tables are well formed, and every row of a table names its source."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge.load import load_table, source
from rocdoctor.knowledge.messages.program_errors import message_rows
from rocdoctor.knowledge.software.env_variables import allocator_options, env_variables
from tools.docs.pages import PAGES


@pytest.mark.parametrize("name", ("advice", "environment", "signatures"))
def test_rows_of_tables_have_as_many_cells_as_their_heads(name: str) -> None:
    wide = 0
    for line in PAGES[name]().split("\n"):
        cells = line.replace("\\|", "").count("|")
        if set(line) <= set("| -") and cells:
            wide = cells
        elif not line.startswith("|"):
            wide = 0
        elif wide:
            assert cells == wide, line


def test_every_variable_and_option_names_sources_that_exist() -> None:
    for entry in env_variables():
        assert entry.sources, entry.name
        assert all(source("env_vars", one) for one in entry.sources), entry.name
    for option in allocator_options():
        assert option.sources, option.name
        assert all(source("env_rules", one) for one in option.sources), option.name


def test_every_text_that_is_recognised_names_its_source() -> None:
    rows = [*load_table("log_signatures")["signatures"], *message_rows()]
    for row in rows:
        for text in row["texts"]:
            assert str(text.get("source", row.get("source", ""))).strip(), (row["kind"], text["find"])
