"""Manual pages of checks, read without importing them, and of pieces of advice."""

from __future__ import annotations

from rocdoctor.judging.loading import check_files, checks_folder, manual_of, name_of
from rocdoctor.service.errors import UsageError, suggestion


def page(name: str) -> str:
    """The manual page of a check or a piece of advice, its name first; UsageError for a name that is none."""
    wanted = name.replace("_", "-")
    if wanted.startswith("advice-"):
        return _advice(wanted)
    paths = {name_of(path): path for path in check_files(checks_folder())}
    if wanted not in paths:
        raise UsageError(f"no check '{name}'{suggestion(wanted, list(paths))}; see rocdoctor list")
    return f"{wanted}\n\n{manual_of(paths[wanted])}\n"


def _advice(wanted: str) -> str:
    """The page of a piece of advice; the tables are read for this alone."""
    from rocdoctor.knowledge.messages.advice import PREFIX, advice_named, all_advice
    from rocdoctor.report.advice_page import advice_page

    found = advice_named(wanted)
    if found is None:
        raise UsageError(
            f"no '{wanted}'{suggestion(wanted, [PREFIX + one for one in all_advice()])}; see docs/advice.md"
        )
    return f"{wanted}\n\n{advice_page(found)}\n"
