"""What the environment checks say of the settings in files: one judgement for live machines and for files.

Each scope of a file becomes the environment of the machine, and the checks that look at variables run on it. What they
find is kept where its evidence is a line of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rocdoctor.judging.check import Check
from rocdoctor.judging.running import run_check
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Environment, Machine, TorchBuild, Variable
from rocdoctor.model.finding import SEVERITIES, Finding, Fix, Severity, Verdict
from rocdoctor.model.shell_command import shell
from rocdoctor.model.subject import Subject
from rocdoctor.parsers.shell.settings import Sheet, View, views

CHECKS = (
    "debug-variables-on",
    "env-old-name",
    "env-unknown-name",
    "env-wrong-value",
    "gfx-override-mismatch",
    "gfx-override-no-effect",
    "ld-library-path-conflict",
    "network-interface-missing",
    "omp-threads",
    "rocm-path-missing",
    "visible-devices-conflict",
    "visible-devices-hides-all",
)
# What depends on more of the machine than its GPUs.
_OF_MACHINE = frozenset(("network-interface-missing", "rocm-path-missing", "omp-threads"))
_MAX_VIEWS = 400
_ELSEWHERE = Unknown("the file may be meant for another machine")


@dataclass(slots=True)
class Judged:
    """The verdicts over all files; a check that found nothing in any has one verdict for them together."""

    verdicts: list[Verdict] = field(default_factory=list)


def machine_for(sheet: Sheet, machine: Machine, named: bool) -> Machine:
    """The machine that a file is held against; ``named``: the user said which machine it is."""
    if not named and sheet.kind in ("slurm", "kubernetes"):
        return Machine()  # runs on a node that somebody else chooses
    held = replace(machine, environment=Environment())
    if sheet.kind in ("dockerfile", "compose", "kubernetes"):
        # torch, ROCm and often the interfaces are those of the image.
        held = replace(held, torch=TorchBuild(), rocm=(), rocm_complete=False, interfaces=_ELSEWHERE)
    if named or own_file(sheet.path):
        return held
    return replace(held, rocm_complete=False, interfaces=_ELSEWHERE)


def own_file(path: str) -> bool:
    """Whether a file sets up this machine or its user, rather than a job."""
    return path.startswith("/etc/") or path.rsplit("/", 1)[-1] in (".bashrc", ".profile", ".zshrc", ".bash_profile")


def judge(sheets: Iterable[Sheet], machine: Machine, checks: Sequence[Check], named: bool = False) -> list[Verdict]:
    """The findings in files, in the order of file and line, then one verdict for each check that found nothing."""
    found: list[Verdict] = []
    crashed: list[Verdict] = []
    for sheet in sheets:
        base = machine_for(sheet, machine, named)
        seen: set[tuple[str, str, int | None]] = set()
        rows: list[tuple[int, Verdict]] = []
        for number, view in enumerate(views(sheet)):
            if number >= _MAX_VIEWS:
                break
            held = replace(base, environment=_environment(sheet, view))
            for one in checks:
                for verdict in run_check(one, held):
                    if verdict.state == "crashed":
                        crashed.append(replace(verdict, subject=Subject("file", name=sheet.path)))
                        continue
                    line = _line(verdict.finding, sheet)
                    if verdict.finding is None or line is None or _meant(verdict, sheet, view):
                        continue
                    key = (verdict.check, verdict.finding.message, line)
                    if key not in seen:
                        seen.add(key)
                        rows.append((line, _adapted(verdict, sheet, view, line, named)))
        found += [verdict for _, verdict in sorted(rows, key=lambda row: (row[0], row[1].check))]
    failed = {verdict.check for verdict in [*found, *crashed]}
    quiet = [Verdict(one.name, Subject("files"), "pass") for one in checks if one.name not in failed]
    return [*found, *crashed, *quiet]


def source_of(sheet: Sheet) -> str:
    """How evidence names a file."""
    return f"read {sheet.path}"


def _environment(sheet: Sheet, view: View) -> Environment:
    return Environment(
        {
            name: Variable(name, setting.value or "", source_of(sheet), setting.line)
            for name, setting in view.variables.items()
        },
        complete=False,
    )


def _line(finding: Finding | None, sheet: Sheet) -> int | None:
    """The last line of the file that a finding stands on: where its last setting is."""
    source = source_of(sheet)
    lines = [one.line for one in finding.evidence if one.source == source and one.line] if finding else []
    return max(lines) if lines else None


def _adapted(verdict: Verdict, sheet: Sheet, view: View, line: int, named: bool) -> Verdict:
    """A finding as one of a file: no more certain than the file, no graver than what it is sure to do."""
    finding = verdict.finding
    assert finding is not None
    severity: Severity = finding.severity
    if not view.sure or (verdict.check in _OF_MACHINE and not named and not own_file(sheet.path)):
        severity = _at_most(severity, "warning")
    if sheet.kind == "python" and not view.sure:
        severity = "info"  # a function that may be called to debug
    if sheet.kind in ("shell", "slurm", "python") and _hides_by_intent(verdict):
        severity = _at_most(severity, "info")
    fix = finding.fix
    if fix is not None:
        fix = Fix(fix.text, "", fix.safety, "now", shell("rocdoctor lint {file:path}", file=sheet.path))
    return Verdict(
        verdict.check,
        Subject("file", line, name=sheet.path),
        "fail",
        replace(
            finding,
            severity=severity,
            confidence="possible"
            if not view.sure
            else "likely"
            if finding.confidence == "certain"
            else finding.confidence,
            fix=fix,
            explains=(),
        ),
    )


def _hides_by_intent(verdict: Verdict) -> bool:
    """Whether a value that hides every GPU says so plainly; lists with a wrong number are slips."""
    if verdict.check != "visible-devices-hides-all" or verdict.finding is None:
        return False
    return any(one.value.partition("=")[2].strip() in ("", "-1", "NoDevFiles") for one in verdict.finding.evidence)


def _meant(verdict: Verdict, sheet: Sheet, view: View) -> bool:
    """One command, one service or one job that shall not use a GPU."""
    return _hides_by_intent(verdict) and (view.passing or sheet.kind in ("compose", "kubernetes"))


def _at_most(severity: Severity, limit: Severity) -> Severity:
    return SEVERITIES[max(SEVERITIES.index(severity), SEVERITIES.index(limit))]
