"""Words of strangers in reports: no control character, no markup of their own, well-formed XML and JSON."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from rocdoctor.cli.commands import command
from rocdoctor.judging.diagnose import rank
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, Evidence, Finding, Fix, Verdict
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.report import markdown
from rocdoctor.report.diagnosis import json_report, junit, sarif, text
from tests.kit import named

_HOSTILE = (
    "\x1b[2J\x1b]0;title\x07\x9b31mred\x00\x08\x7f\u202eabc\u2028",
    "a\u061cb\u200cc\u200dd\xade\u180ef\U000e0041\u3164\ufe0f\ue000\ufdd0g",
    "[click](http://evil.example) ![x](http://evil.example/x.png)",
    "``` \n# heading\n```sh\nrm -rf ~\n```",
    "<script>alert(1)</script><img src=x onerror=y> &amp; ]]> <!-- --> \ud800\ufffe",
    "| a | b |\n|---|---|\n**bold** _under_ ~~gone~~",
)
_CONTROLS = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2028\u3164\ufe0f\ue000\ufdd0\U000e0041]"
)


def _diagnosis(words: str) -> Diagnosis:
    command = str.__new__(ShellCommand, words)  # one that did not come through the gate
    found = Finding(
        "error",
        words,
        (Evidence(words, f"read /x/{words}", 3), Evidence(words, "run dmesg", 1)),
        Fix(words, command, verify=command),
        cause="gpu-reset",
    )
    verdicts = [
        Verdict("some-check", named(words), "fail", found),
        Verdict("other-check", named(words), "crashed", why=words),
        Verdict("third-check", named(words), "unknown", why=words),
    ]
    return Diagnosis(Machine(), tuple(verdicts), rank(verdicts), (), (words,))


def _forms(words: str) -> dict[str, str]:
    found = _diagnosis(words)
    told: Any = json_report.report(found, {"kind": "text", "origin": words}, {}, {})
    return {
        "text": text.render(found, verbose=True),
        "markdown": markdown.render(text.document(found)),
        "junit": junit.render(found),
        "json": json.dumps(told),
        "sarif": sarif.render(found.verdicts, {"some-check": words}),
    }


def test_every_form_of_the_report_is_tried() -> None:
    printed = {form for name in ("check", "read", "lint") for form in command(name).FORMATS}
    assert printed == set(_forms("words")), "_forms has a row for each format of these commands"


@pytest.mark.parametrize("words", _HOSTILE, ids=["escapes", "hidden", "links", "fences", "tags", "tables"])
def test_no_form_is_driven_by_what_it_quotes(words: str) -> None:
    forms = _forms(words)
    for name, shown in forms.items():
        assert not _CONTROLS.search(shown), name
    ElementTree.fromstring(forms["junit"].encode())
    assert not _CONTROLS.search(str(json.loads(forms["json"])).encode("unicode_escape").decode())
    json.loads(forms["sarif"])


@pytest.mark.parametrize("words", _HOSTILE, ids=["escapes", "hidden", "links", "fences", "tags", "tables"])
def test_markdown_keeps_what_it_quotes_in_code_or_escaped(words: str) -> None:
    shown = markdown.render(text.document(_diagnosis(words)))
    # What stands in a fence or in backticks is shown as it is, so only what is left can be markup.
    left = re.sub(r"(?ms)^```\w+\n.*?^```$", "", shown)
    assert "```" not in left
    left = re.sub(r"`[^`\n]*`", "", left)
    assert "`" not in left
    assert "](" not in left.replace("\\](", "")
    assert "<" not in left
    headings = [line for line in left.split("\n") if line.startswith("#")]
    assert headings == ["## rocdoctor", "### error: some-check"]
    assert not re.search(r"(?m)^\s*\|", left)
