"""Every regular expression is proven linear from its structure, or stands here with the reason why it is harmless."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.kit import ROOT
from tests.patterns.kit import Pattern
from tests.patterns.proof import MOST_RUNS, judge

# File and beginning of an expression: why it cannot be slow, though its structure does not tell.
HARMLESS = {
    ("rocdoctor/host/masking/encoded.py", "(?:[0-9a-fA-F]{2}){10,}(?!"): (
        "fails only at the beginning of a run with an odd number of digits, and matches at the next one"
    ),
    ("rocdoctor/host/masking/ids.py", "(?:0+|0x0+|f+|0xf+|[^0-9]*|.*not.*"): (
        "a serial number of one line: what follows `not` reaches its end"
    ),
    ("rocdoctor/host/masking/telling.py", "(?:true|false|null|none|nil"): (
        "`.*` takes line ends here and reaches the end of the value, so what follows it is not tried again"
    ),
    ("rocdoctor/lint/advice/file_parts.py", "(?:.*[-_.])?(?:requirements?"): "the name of a file",
    (
        "rocdoctor/lint/advice/file_parts.py",
        r"#SBATCH\s+",
    ): "matched at the beginning of a line, and all after the name may be empty",
    ("rocdoctor/lint/config/toml_text.py", '"""'): "the text was read as TOML before: every string in it ends",
    ("rocdoctor/lint/python/source.py", r"([\w, \t.]{1,100}=)"): "one line of a cell: `.*` reaches its end",
    ("rocdoctor/lint/advice/machine_hints.py", "(?:.*/)?(?:rocm-smi"): (
        "matched, never in full: the last `.*` may stop anywhere"
    ),
    ("rocdoctor/lint/advice/machine_hints.py", "(?:.*/)?nvidia-smi"): (
        "matched, never in full: the last `.*` may stop anywhere"
    ),
    ("rocdoctor/parsers/logs/collective_log.py", "Detected mismatch between collectives"): (
        "a gap ends only where one of three sentences of 30 characters and more stands: fewer than 10,000 choices"
    ),
    ("rocdoctor/parsers/logs/flight_recorder.py", "(?:rank|trace)[_ =:.-]{0,3}"): "the last 400 characters of a name",
    ("rocdoctor/parsers/system/infiniband.py", ""): "port_state and physical_state cut to 200 and 60 characters",
    ("rocdoctor/parsers/listings/lspci_names.py", '"('): "one line: a quoted word runs to its end or that of the line",
    ("rocdoctor/host/probe/interpreter.py", "-py"): "the name of a folder",
    ("rocdoctor/train/recommend/fleet/described_fleet.py", "(.+?)"): "an option of the command line",
    ("rocdoctor/train/recommend/model/models.py", r"\(.*?\)"): "names are cut to 200 characters",
}


def _judged(text: str, anchored: bool = False, flags: int = 0) -> str:
    return judge(Pattern(text, flags, False, anchored, "here:1")).kind


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a|aa)+b",
        r"(\w+\s?)*x",
        "(?:a*)*b",
        "(?:a?b?)*c",
        "(?:(?:a|b?)+c)*d",
        "([a-z]+)*1",
        "(?:[a-z]{1,40} ?)*1",
        "(?:a|[ab]c?)*d",
        r"a(?: -{1,2}[\w-]+)*\Z",
        "(?i:(?:kx|KX)*)y",
        "(?:ab|a|b)*c",
    ],
)
def test_a_loop_with_two_ways_is_exponential(text: str) -> None:
    assert _judged(text, anchored=True) == "exponential"


@pytest.mark.parametrize(
    "text",
    [
        "a*a*b",
        r"\d+\d+x",
        r"\d+[.\d]*:",
        "a*b?a*c",
        r"(.*)(?:x)?\s*:",
        "(?:ab)*(?:ab)*c",
        r"(a*)\1b",
        r"\s*,?\s*;",
        "(?:a(?!.*b))*c",
        "(?=a*a*b)a",
        "[^a]*(?:[^b]*c)",
    ],
)
def test_two_loops_that_take_the_same_are_polynomial(text: str) -> None:
    assert _judged(text, anchored=True) == "polynomial"


@pytest.mark.parametrize(
    "text", ["[^=]*=", "foo.*bar", r"\s+$", r"\w+x", "a[^b]*b", r"(?<!-)\w+x", r"a+(?=bc)", "a(?:.*b)?", r"\bfoo.*bar"]
)
def test_a_search_that_is_tried_again_inside_its_loop_is_told(text: str) -> None:
    assert _judged(text) == "restart"
    assert _judged(text, anchored=True) == ""


@pytest.mark.parametrize(
    "text",
    [
        "(?:a|b)c",
        r"\A[^=]*=",
        r"\Aa(?: --?\w[\w-]*)*\Z",
        "foo.*",
        "[a-z]{1,40}:",
        r"\b\w+x",
        r"(?<!\w)\w+x",
        "a+",
        r"\w+\b",
        "foo[^f]*bar",
        r"\A[ \t]*(?![ \t])(.*)\Z",
        r"\A\w+(?:,\w+)*\Z",
        r"(?m)^[^\n]*x",
        r"\A(?:[0-9a-f]{2}:)*x",
    ],
)
def test_linear_expressions_are_proven(text: str) -> None:
    assert _judged(text) == ""


@pytest.mark.parametrize(
    ("text", "most"), [("[a-z]{1,40}:", 40), ("[a-z]{1,40}[a-z0-9]{1,30}:", 1200), (r"\A[a-z]{1,40}[a-z]{1,30}:", 30)]
)
def test_bounded_repeats_multiply(text: str, most: int) -> None:
    assert judge(Pattern(text, 0, False, False, "here:1")).cost == most


def test_every_expression_is_linear_or_harmless_for_a_reason_that_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.patterns.proof"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["count"] > 900
    used, unproven = set(), []
    for where, text, why in told["unproven"]:
        known = [one for one in HARMLESS if where.startswith(one[0] + ":") and text.startswith(one[1])]
        used.update(known)
        unproven += [] if known else [f"{where}: {why}: {text[:300]}"]
    assert unproven == [], f"mend these, or say in HARMLESS why they cannot be slow ({MOST_RUNS} runs at most)"
    assert sorted(set(HARMLESS) - used) == [], "these are proven by now"
