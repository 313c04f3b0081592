"""What commands share: opening the evidence, choosing checks, printing."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocdoctor.host import output
from rocdoctor.host.base import Host
from rocdoctor.host.live.accounts import expanded
from rocdoctor.service.errors import UsageError, suggestion
from rocdoctor.service.options import EvidenceOptions

if TYPE_CHECKING:
    from rocdoctor.judging.check import Check
    from rocdoctor.model.finding import Diagnosis
    from rocdoctor.report.document import Document


def open_host(options: EvidenceOptions, far: bool = False) -> Host:
    """The host that the options name; ``far``: this machine is asked by another process."""
    pid = options.pid
    if options.source is not None and pid is not None:
        raise UsageError("--pid names a process of this machine; it cannot be used with --from")
    if options.source is not None:
        from rocdoctor.service.evidence import open_evidence

        host = open_evidence(options.source)
    else:
        from rocdoctor.host.live.patience import DEADLINE_S, RUN
        from rocdoctor.host.live.run_program import usual_deadline_s
        from rocdoctor.service.live_machine import open_live
        from rocdoctor.service.verbs import VERBS

        limit_s = options.timeout
        if limit_s is None:
            limit_s = RUN.look("/sys/class/drm", usual_deadline_s) or DEADLINE_S
            RUN.whole_s = limit_s
        host = open_live(limit_s, options.python, options.include_identity, pid, far, options.trust_interpreter, VERBS)
    for note in getattr(host, "notes", ())[:3]:
        output.note(f"{host.origin}: {note}")
    if not options.add:
        return host
    from rocdoctor.service.evidence import add_answers  # readers of files, which a live machine needs none of

    return add_answers(host, list(options.add))


def read_from(host: Host) -> list[str]:
    """Which files evidence of no known layout was read from, as a note of the report."""
    said = getattr(host, "read_from", "") or getattr(getattr(host, "inner", host), "read_from", "")
    return [said] if said else []


def chosen_checks(
    only: Iterable[str], skip: Iterable[str], folders: Iterable[str] = ()
) -> tuple[list[Check], list[str]]:
    """The checks that were asked for; unknown names end with a suggestion. User folders come after our own."""
    # The screens open a host before they need checks.
    from rocdoctor.host.live.trust import untrusted
    from rocdoctor.judging.loading import CheckLoadError, check_files, checks_folder, load_check, load_together, name_of

    ours, named = checks_folder(), [Path(folder) for folder in folders]
    paths: dict[str, Path] = {}
    problems: list[str] = []

    def take(files: Iterable[Path]) -> None:
        for path in files:
            if (first := paths.setdefault(name_of(path), path)) != path:
                problems.append(f"{path} was not run: a check of that name comes first, {first}")

    for place in (ours, *named):
        if not place.is_dir():
            raise UsageError(f"{place}: no such folder of checks")
        files = check_files(place)
        if refused := untrusted(place, files) if place is not ours else "":
            raise UsageError(refused)
        take(files)
    files, problem = _of_user()
    problems += [problem] if problem else []  # the rest of the run does not depend on it
    take(files)
    wanted = set(paths) if not (names := {name.replace("_", "-") for name in only}) else names
    unwanted = {name.replace("_", "-") for name in skip}
    for name in sorted((wanted | unwanted) - set(paths)):
        raise UsageError(f"no check '{name}'{suggestion(name, list(paths))}; see rocdoctor list")
    loaded: list[Check] = []
    load_together(len(wanted - unwanted))
    for name in sorted(wanted - unwanted):
        try:
            loaded.append(load_check(paths[name]))
        except CheckLoadError as error:
            if name in names:
                raise UsageError(str(error)) from None
            problems.append(str(error))
    return loaded, problems


def _of_user() -> tuple[list[Path], str]:
    """The user's own checks, or why they are not taken; a home folder may lie on a server that is gone."""
    from rocdoctor.host.live.patience import RUN
    from rocdoctor.host.live.trust import untrusted
    from rocdoctor.judging.loading import check_files

    place = Path(os.environ.get("XDG_CONFIG_HOME") or expanded("~/.config")) / "rocdoctor" / "checks"

    def look() -> tuple[list[Path], str]:
        try:
            if not place.is_absolute() or not place.is_dir():  # "~" where nobody tells the home
                return [], ""
        except OSError:
            return [], ""
        files = check_files(place)
        refused = untrusted(place, files)
        return ([], refused) if refused else (files, "")

    seen = RUN.look(str(place), look)
    return seen if seen is not None else ([], f"{place} gave no answer, so no checks were taken from there")


def posted(options: EvidenceOptions, host: Host, diagnosis: Diagnosis, places: bool = True) -> Diagnosis:
    """The diagnosis as it is shown: without secrets and identities, unless --include-identity asks for them."""
    if options.include_identity:
        return diagnosis
    from rocdoctor.report.machine.summary import machine_lines
    from rocdoctor.report.masked import discreet, discretion_of

    return discreet(diagnosis, discretion_of(host), machine_lines(diagnosis.machine), places)


def subject_of(options: EvidenceOptions, host: Host) -> dict[str, str]:
    """What a report in JSON is about; people call bundles after machines, and the evidence may tell their names."""
    origin = host.origin
    if not options.include_identity and host.kind != "live":
        from rocdoctor.report.masked import discretion_of

        origin = discretion_of(host)(origin)
    return {"kind": host.kind, "origin": origin}


def colour_wanted(options: EvidenceOptions) -> bool:
    """Whether standard output takes colours and the user wants them."""
    if options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def width() -> int:
    """Columns to fill, between 60 and 100."""
    return max(60, min(100, shutil.get_terminal_size((100, 24)).columns))


def rendered(options: EvidenceOptions, blocks: Document) -> str:
    """A document in the form that the options name: markdown, or text for this terminal."""
    from rocdoctor.report import markdown, text

    if options.format == "markdown":
        return markdown.render(blocks)
    return text.render(blocks, width(), colour_wanted(options))


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    output.data(data)


class Progress:
    """A line on standard error while slow things run, and only on a terminal."""

    def __init__(self, quiet: bool) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self.began = time.monotonic()

    def say(self, words: str) -> None:
        """Show what is going on."""
        if self.shown:
            output.status(words)

    def done(self) -> float:
        """Clear the line; seconds since the beginning."""
        if self.shown:
            output.status("")
        return time.monotonic() - self.began
