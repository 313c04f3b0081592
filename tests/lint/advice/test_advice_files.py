"""Advice in shell, container, job, requirement and configuration files: each row is seen, and its look-alike is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.knowledge.messages.advice import advice_for
from rocdoctor.lint.advice.file_rules import _RULES, hits
from rocdoctor.lint.advice.findings import verdicts_of
from rocdoctor.lint.linted_file import unsaid
from rocdoctor.model.finding import Evidence, Finding, Verdict
from rocdoctor.model.subject import Subject
from tests.lint.advice.advice_file_samples import ROWS
from tests.lint.samples import HEALTHY

NAMES = (
    "run.sh",
    "Dockerfile",
    "compose.yaml",
    "ds.json",
    "pyproject.toml",
    "requirements.txt",
    "a.sbatch",
    "x.env",
    "modprobe.d/a.conf",
    "/etc/default/grub",
    "/etc/kernel/cmdline",
    "environment.yml",
    "a.service",
)
IDS = [f"{row[0]}-{number}" for number, row in enumerate(ROWS)]


def _found(path: str, text: str) -> list[tuple[str, int, str]]:
    rows: list[tuple[str, int, str]] = []
    for verdict in verdicts_of(path, hits(path, text)):
        assert verdict.finding is not None
        mark = "?" if verdict.finding.confidence == "possible" else ""
        line = verdict.subject.index or 0
        rows.append((verdict.check.removeprefix("advice-"), line, verdict.finding.severity + mark))
    return rows


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_follows_the_advice_is_found(row: tuple[str, str, str, int, str, str]) -> None:
    name, path, text, line, severity, _ = row
    assert (name, line, severity) in _found(path, text)
    assert [one for one in _found(path, text) if one[0] == name] == [(name, line, severity)]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_looks_alike_is_not(row: tuple[str, str, str, int, str, str]) -> None:
    assert [one for one in _found(row[1], row[5]) if one[0] == row[0]] == []


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_comments_texts_and_here_documents_say_nothing(row: tuple[str, str, str, int, str, str]) -> None:
    text = row[2]
    assert _found("run.sh", "".join(f"# {line}\n" for line in text.split("\n"))) == []
    assert _found("run.sh", f"cat <<'THE_END'\n{text}\nTHE_END\n") == []
    assert _found("Dockerfile", "FROM a\n" + "".join(f"# {line}\n" for line in text.split("\n"))) == []
    if "'" not in text and "\\" not in text:
        assert _found("run.sh", f"echo '{text}'\n") == []


def test_every_row_has_a_sample_and_every_rule_a_row() -> None:
    assert {row[0] for row in ROWS} == {one.id for one in advice_for("files")}
    patterns = [pattern for one in advice_for("files") for pattern in one.match["files"]]
    assert {pattern["rule"] for pattern in patterns if "rule" in pattern} == set(_RULES)


def test_nothing_graver_than_a_warning() -> None:
    assert {severity for row in ROWS for _, _, severity in _found(row[1], row[2])} <= {"warning", "info", "info?"}


@pytest.mark.parametrize("path", HEALTHY)
def test_healthy_files_follow_no_advice(path: str) -> None:
    assert _found(path, HEALTHY[path]) == []


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 50_000 + "a", "{a: " * 30_000, "? " * 50_000])
def test_endless_nesting_is_refused(text: str) -> None:
    assert hits("a.yaml", text) == []
    assert hits("a.json", text) == []


@given(st.sampled_from(NAMES), st.text(max_size=400))
def test_any_text_never_raises(name: str, text: str) -> None:
    hits(name, text)


@given(st.sampled_from(NAMES), st.sampled_from(ROWS), st.data())
def test_halves_of_real_texts_never_raise(
    name: str, row: tuple[str, str, str, int, str, str], data: st.DataObject
) -> None:
    text = row[2]
    hits(name, text[data.draw(st.integers(0, len(text))) :])
    hits(row[1], text[: data.draw(st.integers(0, len(text)))])


def test_a_variable_that_a_check_speaks_of_is_not_told_twice() -> None:
    told = verdicts_of("run.sh", hits("run.sh", "export GLOO_SOCKET_IFNAME=^lo\nexport NCCL_DEBUG=INFO\n"))
    assert [one.subject.label for one in told] == ["run.sh:1"]
    evidence = (Evidence("GLOO_SOCKET_IFNAME=^lo", "read run.sh", 1),)
    judged = Verdict(
        "network-interface-missing",
        Subject("file", 1, name="run.sh"),
        "fail",
        Finding("warning", "No such interface.", evidence),
    )
    assert unsaid(told, [judged]) == []
    assert unsaid(told, [replace(judged, subject=Subject("file", 2, name="run.sh"))]) == told
    assert unsaid(told, [replace(judged, state="pass", finding=None)]) == told
