"""What the tables say, as a report shows it: masked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocdoctor.host.masking.masker import Masker
from rocdoctor.knowledge.load import knowledge_folder, load_table

# Keys of the tables whose sentences a report shows. Not commands: "ssh NODE" may become "ssh host-1", as good to read.
_SAID = frozenset(("text", "fix", "remedy", "message", "why", "shows", "title", "effect", "first_step", "workaround"))


def _said(table: Any) -> Iterator[str]:
    if isinstance(table, dict):
        for key, value in table.items():
            if key in _SAID and isinstance(value, str):
                yield value
            else:
                yield from _said(value)
    elif isinstance(table, list):
        for one in table:
            yield from _said(one)


def test_masking_leaves_the_sentences_of_the_tables_alone() -> None:
    """A report is masked as it is shown; a word of ours must not be taken for somebody's name or secret."""
    said = dict.fromkeys(
        one for path in sorted(knowledge_folder().glob("*.yaml")) for one in _said(load_table(path.stem))
    )
    assert len(said) > 500
    changed = [(one, new) for one in said if (new := Masker().mask_text(one)) != one]
    assert changed == []
