"""``rocdoctor smoke --plan FILE``: a plan run for a few steps, and what it measured beside the estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.host import output
from rocdoctor.model.facts import SmokeRun
from rocdoctor.model.printable import spelled
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions
from rocdoctor.service.plan_trials import keep, today
from rocdoctor.service.session import print_json, rendered
from rocdoctor.service.specification_files import load_spec
from rocdoctor.train.smoke.plan.outcome import Outcome, outcome
from rocdoctor.train.smoke.run.rank_sets import PlanError
from rocdoctor.train.smoke.run.request import plan_word

Ask = Callable[[str], tuple[SmokeRun, ...]]


def run(name: str, options: EvidenceOptions, ask: Ask) -> int:
    """Try the plan of a file, print, keep what was measured; exit status 1 where it did not run, or does not fit."""
    try:
        spec = load_spec(name)
        word = plan_word(spec)
    except OSError as error:
        raise UsageError(f"{error.filename or name}: {error.strerror or error}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(f"{spelled(name)}: no plan: {error}") from None
    if not isinstance(spec, Mapping):
        raise UsageError(f"{spelled(name)}: no plan: give what recommend --json printed, or a specification")
    found = _outcome(spec, name, ask, word)
    _print(options, found)
    return EXIT_FINDINGS if _bad(found) else 0


def _outcome(spec: Mapping[str, Any], name: str, ask: Ask, word: str) -> Outcome:
    from rocdoctor.train.smoke.plan.perform import work_of

    try:
        work_of(spec)  # before torch is imported
        found = outcome(spec, ask(word)[0], today())
    except PlanError as error:
        raise UsageError(f"{spelled(name)}: {error}") from None
    if found.compared is None or not found.compared.kept:
        return found
    try:
        return replace(found, kept=spelled(str(keep(found.work.gpu, found.compared.trial(found.day)))))
    except OSError as error:
        output.note(f"what was measured could not be kept: {error}")
        return found


def _bad(found: Outcome) -> bool:
    if found.state == "not-applicable":
        return False
    if found.compared is None or found.compared.odd:
        return True
    from rocdoctor.train.smoke.plan.compare import corrected

    return found.compared.on_its_own and corrected(found.compared, found.day)[2] == "no"


def _print(options: EvidenceOptions, found: Outcome) -> None:
    from rocdoctor.report.plan import trial_document

    if options.format == "json":
        print_json(trial_document.as_json(found))
    else:
        output.show(rendered(options, trial_document.document(found)))
