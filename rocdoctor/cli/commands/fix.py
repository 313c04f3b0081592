"""``rocdoctor fix``: the commands of the fixes of current findings; applying the safe ones, and taking that back."""

from __future__ import annotations

import contextlib
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.collect import collect
from rocdoctor.host import output
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.apply import apply, undo
from rocdoctor.repair.fixes.journal import Journal, alone, opened
from rocdoctor.repair.fixes.offers import Offer, offers, same_fix
from rocdoctor.repair.fixes.steps import FixWork, work_of
from rocdoctor.repair.fixes.target_machine import TargetMachine, this_machine
from rocdoctor.repair.fixes.user_files import Refused
from rocdoctor.report.fixes.fix_document import document, effect_words, headline, offer_blocks
from rocdoctor.report.text import Style, lines, wrap
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.session import Progress, chosen_checks, colour_wanted, open_host, print_json, rendered, width

HELP: str = "the commands that repair what check finds; --apply runs those that are safe"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """``names`` are checks; ``apply`` and ``yes`` (without questions); ``undo`` the folder of an earlier run."""

    names: tuple[str, ...] = ()
    apply: bool = False
    yes: bool = False
    undo: str | None = None


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="only fixes for findings of these checks (all)")
    add("--apply", action="store_true", help="run the safe ones that a program can run, each after a question")
    add("--yes", action="store_true", help="apply without questions")
    add("--undo", type=Named, metavar="FOLDER", help="undo what an earlier --apply did (it printed the folder)")


def run(options: Options) -> int:
    """Show the fixes, apply them, or undo; exit status 1 while an error or a warning is left, or a step failed."""
    _judge_options(options)
    if options.undo is not None:
        return _undo(Path(options.undo))
    checks, _ = chosen_checks(options.names, ())
    if options.source is None:
        # Paths and names are needed as they are; nothing of it is written for others.
        options = replace(options, include_identity=True)
    progress = Progress(options.quiet)
    progress.say("asking the machine" if options.source is None else "reading the evidence")
    host = open_host(options)
    found = offers(diagnose(collect(host), checks), options.names)
    progress.done()
    place = this_machine() if options.source is None else None
    if found and not options.quiet:
        output.note("names, paths and addresses are not masked here, since commands need them")
    if options.apply:
        assert place is not None
        return _apply(options, found, checks, place)
    works = [_work(offer, place) for offer in found]
    if options.format == "json":
        from rocdoctor.report.fixes.fix_json import as_json

        print_json(as_json(found, works, place, {"kind": host.kind, "origin": host.origin}))
    else:
        output.show(rendered(options, document(found, works, place)))
    return EXIT_FINDINGS if any(_matters(offer) for offer in found) else 0


def _judge_options(options: Options) -> None:
    """UsageError for options that do not go together."""
    if options.undo is not None:
        if options.names or options.apply or options.yes or options.source is not None or options.format != "text":
            raise UsageError("--undo FOLDER takes no other option")
        return
    if options.yes and not options.apply:
        raise UsageError("--yes needs --apply")
    if not options.apply:
        return
    if options.source is not None or options.add:
        raise UsageError("--apply changes this machine, so it cannot be used with --from or --add")
    if options.format != "text":
        raise UsageError("--apply prints text")
    if not options.yes and not _can_ask():
        raise UsageError("there is no terminal to ask on; --yes applies without questions")


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _matters(offer: Offer) -> bool:
    return offer.finding.severity != "info"


def _work(offer: Offer, place: TargetMachine | None) -> FixWork | None:
    return None if place is None or offer.refusal else work_of(offer.fix, offer.changes, offer.check, place)


# -- applying


class _Run:
    """One run of ``--apply``: the folder of backups is made with the first change."""

    def __init__(self, options: Options, checks: Sequence[Check], place: TargetMachine) -> None:
        self.options, self.place = options, place
        self.checks = {one.name: one for one in checks}
        self.style = Style(colour_wanted(options))
        self.columns = width()
        self.journal: Journal | None = None
        self.failed = False

    def say(self, text: str, indent: str = "   ") -> None:
        """A sentence of the run, at once."""
        output.line("\n".join(wrap(one_line(text), self.columns, indent)))

    def one(self, offer: Offer, work: FixWork) -> bool:
        """Ask for and apply one fix; whether it was applied."""
        if not self.options.yes and not self._agreed():
            return False
        if self.journal is None:
            self.journal = Journal.make(self.place.state, self.place.root)
            self.say(f"Backups and the list of changes: {self.journal.folder}")
            output.line(f"   To undo: {self.journal.back}")
        results = apply(work.steps, offer.check, self.place, self.journal)
        for one in results:
            self.say(one.said if one.ok else f"FAILED: {one.said}")
        if not all(one.ok for one in results):
            self.failed = True
            return False
        if work.effective == "now":
            return self._verified(offer)
        self.say(f"It {effect_words(work)}. Then: {clean(offer.verify)}")
        for command in work.typed:
            output.line(f"   In this session: {clean(command)}")
        return True

    def _agreed(self) -> bool:
        output.show("   Do this? [y/N] ", flush=True)  # input() would write it to standard error
        try:
            return input().strip().lower() in ("y", "yes")
        except EOFError:
            output.line()
            return False

    def _verified(self, offer: Offer) -> bool:
        """Judge the machine anew; whether the finding is gone."""
        machine = collect(open_host(self.options))
        verdicts = diagnose(machine, [self.checks[offer.check]]).verdicts
        if any(verdict.finding is not None and same_fix(verdict.finding, offer) for verdict in verdicts):
            self.failed = True
            self.say(f"FAILED to help: rocdoctor check {offer.check} still finds it.")
            return False
        if any(verdict.state in ("unknown", "crashed") for verdict in verdicts):
            self.say(f"Whether it helped is unknown: {next(one.why for one in verdicts if one.why)}.")
        else:
            self.say(f"Verified: rocdoctor check {offer.check} no longer finds it.")
        return True


def _weighed(offer: Offer, options: Options) -> Offer:
    """A fix that nobody is asked about and nobody named: what is only worth knowing may be as somebody wants it."""
    if options.yes and not options.names and not offer.refusal and not _matters(offer):
        return replace(offer, refusal=f"it is only worth knowing; rocdoctor fix {offer.check} --apply does it")
    return offer


def _apply(options: Options, found: list[Offer], checks: Sequence[Check], place: TargetMachine) -> int:
    run_ = _Run(options, checks, place)
    left: list[tuple[Offer, FixWork | None]] = []
    made: set[object] = set()
    try:
        # Where nothing can be applied, no folder is made either.
        with alone(place.state, place.uid) if any(offer.changes for offer in found) else contextlib.nullcontext():
            for number, offer in enumerate(found, 1):
                offer = _weighed(offer, options)
                work = _work(offer, place)  # looked at now: a fix before may have changed the file
                if work is None or not work.steps:
                    if not offer.changes or not set(offer.changes) <= made:
                        left.append((offer, work))
                    continue
                shown = lines(offer_blocks(offer, work, place, number), run_.columns, run_.style)
                output.line("\n".join(shown))
                if run_.one(offer, work):
                    made |= set(offer.changes)
                else:
                    left.append((offer, work))
                output.line()
    except Refused as refused:
        raise UsageError(str(refused)) from None
    _summary(run_, found, left)
    return EXIT_FINDINGS if run_.failed or any(_matters(offer) for offer, _ in left) else 0


def _summary(run_: _Run, found: list[Offer], left: list[tuple[Offer, FixWork | None]]) -> None:
    if not found:
        run_.say(headline(found, []), "")
        return
    if left:
        run_.say(f"Left to you: {len(left)} of {len(found)}.", "")
        for number, (offer, work) in enumerate(left, 1):
            shown = lines(offer_blocks(offer, work, run_.place, number), run_.columns, run_.style)
            output.line("\n".join(["", *shown]))
    else:
        run_.say("Nothing is left to you.", "")
    if run_.journal is not None:
        output.line(f"\nTo undo what was applied: {run_.journal.back}")


# -- undoing


def _undo(folder: Path) -> int:
    place = this_machine()
    try:
        opened(folder, place)  # before a lock is made for nothing
        with alone(place.state, place.uid):
            journal = opened(folder, place)
            results = undo(journal, place)
    except Refused as refused:
        raise UsageError(str(refused)) from None
    for one in results:
        output.line("\n".join(wrap(one_line(one.said if one.ok else f"LEFT: {one.said}"), width(), "", "  ")))
    if not results:
        output.line("Nothing is left to undo.")
    return 0 if all(one.ok for one in results) else EXIT_FINDINGS
