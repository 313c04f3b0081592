"""Manual pages of all that findings are named after: checks, read without importing them, advice, nodes, causes."""

from __future__ import annotations

from rocdoctor.judging.loading import check_files, checks_folder, manual_of, name_of
from rocdoctor.model.printable import one_line
from rocdoctor.service.errors import UsageError, suggestion


def page(name: str) -> str:
    """The manual page of a name that stands in what we print, that name first; UsageError for one that is none."""
    name = one_line(name).strip()
    wanted = name.lower().replace("_", "-")
    if wanted.startswith("advice-"):
        return _advice(wanted)
    paths = {name_of(path): path for path in check_files(checks_folder())}
    if wanted in paths:
        return f"{wanted}\n\n{manual_of(paths[wanted])}\n"
    return _other(wanted, name, list(paths))


def _other(wanted: str, name: str, checks: list[str]) -> str:
    """The page of what no check of one machine finds; its texts are loaded for this alone."""
    from rocdoctor.report.finding_pages import finding_names, finding_page

    found = finding_page(wanted) or finding_page(name.lower())
    if not found:
        near = suggestion(wanted, [*checks, *finding_names()])
        raise UsageError(f"no check or finding is named '{name}'{near}; see rocdoctor list")
    return f"{name if '.' in name else wanted}\n\n{found}\n"


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
