"""Texts that describe a change of a program: what they tell of failures is no state of the machine."""

from __future__ import annotations

import pytest

from rocdoctor.paste.change_text import is_change
from tests.text_kit import diagnosed

_FAULT = "RuntimeError: No HIP GPUs are available"
_CHANGES = {
    "heading of a template": f"# Count again\n\nIt failed with {_FAULT}\n\n## Test Plan\n\nIn a container.",
    "title as a commit": f"# fix(loader): count again\n\nThe tests stopped with {_FAULT}",
    "title with a label": f"# [Core] feat: count again\n\nThe tests stopped with {_FAULT}",
    "says that it is one": f"# Count again\n\nThe tests stopped with {_FAULT}. This PR adds a second look.",
    "closes an issue": f"# Count again\n\nThe tests stopped with {_FAULT}\n\nFixes #812",
    "a hunk": f"# Count again\n\nIt says {_FAULT}\n\n```diff\n@@ -18,7 +18,7 @@ def count():\n-  a\n+  b\n```",
    "an order, and what was without it": f"# Handle an empty list\n\nWithout this change it says {_FAULT}",
    "a test's verdict": f"# The test should fail if no GPU is there\n\nIt says {_FAULT}\nand passes.",
    "a test is to be skipped": f"# skip cuda tests if the driver is old\n\nThey say {_FAULT}",
    "a test fails instead": f"# GPU tests fail on a plain host, instead of being skipped\n\nThey say {_FAULT}",
}
_REPORTS = {
    "a report": f"# It does not start\n\nMy training says {_FAULT}",
    "a change of settings": f"# fix(job): HIP_VISIBLE_DEVICES must be one number\n\nThe pod says {_FAULT}",
    "somebody tried a change": f"# It does not start\n\nThe PR of last week is in.\n\nMy training says {_FAULT}",
    "a hunk of one's own machine": (
        f"# It does not start\n\nOn my machine it says {_FAULT}\n\n```diff\n@@ -1,2 +1,2 @@\n-  a\n+  b\n```"
    ),
    "a test that fails here": f"# The tests fail on my new card\n\nMy build says {_FAULT}",
    "an order alone": f"# Fix this please\n\nMy training says {_FAULT}",
    "motivation of a report": f"# It does not start\n\n### Motivation\n\nMy training says {_FAULT}",
}


def _is_change(text: str) -> bool:
    lines = text.split("\n")
    inside = [sum(one.startswith("```") for one in lines[: at + 1]) % 2 for at in range(len(lines))]
    return is_change(lines, inside)


@pytest.mark.parametrize("text", _CHANGES.values(), ids=_CHANGES)
def test_a_change_is_known_and_nothing_in_it_is_blamed(text: str) -> None:
    assert _is_change(text)
    assert [one.cause for one in diagnosed(text).causes if one.cause != "not-environment"] == []


@pytest.mark.parametrize("text", _REPORTS.values(), ids=_REPORTS)
def test_a_report_is_none_and_its_fault_counts(text: str) -> None:
    assert not _is_change(text)
    assert diagnosed(text).causes


def test_an_empty_text_is_none() -> None:
    assert not is_change([], [])
