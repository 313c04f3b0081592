"""``docs/environment.md``, ``docs/signatures.md`` and ``docs/advice.md``: what the tables know, to look it up.

``python -m tools.docs`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rocdoctor.knowledge.load import load_table, source, words
from rocdoctor.knowledge.messages.advice import BASES, VERDICTS, all_advice
from rocdoctor.knowledge.messages.program_errors import message_rows
from rocdoctor.knowledge.software.env_variables import EnvVariable, allocator_options, env_variables
from rocdoctor.report.advice_page import BASIS_WORDS, VERDICT_WORDS, seen_in


def _cell(text: object) -> str:
    """Text that fits in one cell of a markdown table."""
    plain = " ".join(str(text).split())
    return plain.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _code(text: str) -> str:
    return f"`{' '.join(text.split()).replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _head(*names: str) -> str:
    return _row(*names) + _row(*["---"] * len(names))


class _Sources:
    """Sources by number, in the order in which rows name them."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.numbers: dict[str, int] = {}

    def cite(self, ids: Iterable[str]) -> str:
        return " ".join(f"[{self.numbers.setdefault(one, len(self.numbers) + 1)}]" for one in ids)

    def listing(self) -> str:
        lines = ["## Sources\n\n"]
        for name, number in self.numbers.items():
            told = source(self.table, name)
            lines.append(f"{number}. {_cell(told.what if told else name)} ({told.kind if told else 'unknown'})\n")
        return "".join(lines)


def _takes(entry: EnvVariable) -> str:
    if entry.values:
        shown = " ".join(_code(one) for one in entry.values[:10])
        return shown + (" ..." if entry.values_open or len(entry.values) > 10 else "")
    limits = [f"at least {entry.minimum}"] if entry.minimum is not None else []
    limits += [f"at most {entry.maximum}"] if entry.maximum is not None else []
    return f"{entry.type}{', ' if limits else ''}{', '.join(limits)}"


def _status(entry: EnvVariable) -> str:
    words_of = {"never-existed": "never existed", "debug-only": "for debugging", "current": ""}
    text = words_of.get(entry.status, entry.status)
    if entry.replaced_by:
        text += f"{'; ' if text else ''}use {_code(entry.replaced_by[0])}"
    if entry.until:
        text += f" ({_cell(entry.until)})"
    return text


def environment() -> str:
    """Every variable by component, the options of the allocator, and the sources."""
    table = env_variables()
    cited = _Sources("env_vars")
    groups: dict[str, list[EnvVariable]] = {}
    for entry in sorted(table, key=lambda one: one.name):
        groups.setdefault(entry.component, []).append(entry)
    parts = [
        "# Environment variables\n\n"
        "Made from `rocdoctor/knowledge/tables/env_vars.yaml` by "
        "`python -m tools.docs`.\n\n"
        f"{len(table)} variables of libraries, runtimes and launchers: what each takes, and what it does. "
        "`rocdoctor lint FILE` and `rocdoctor check` judge settings by this table. Numbers in brackets are sources.\n"
    ]
    for component, entries in sorted(groups.items(), key=lambda item: item[0].lower()):
        parts.append(
            f"\n## {_cell(component)}\n\n" + _head("Variable", "Takes", "Default", "Status", "Effect", "Source")
        )
        parts += [
            _row(
                _code(one.name),
                _takes(one),
                _cell(one.default or ""),
                _status(one),
                _cell(one.effect),
                cited.cite(one.sources),
            )
            for one in entries
        ]
    parts.append("\n" + cited.listing())
    parts.append(
        "\n## Options of PYTORCH_ALLOC_CONF\n\n"
        "Written `name:value,name:value`; PYTORCH_CUDA_ALLOC_CONF and PYTORCH_HIP_ALLOC_CONF are older names.\n\n"
        + _head("Option", "Takes", "At least", "Source")
    )
    for option in allocator_options():
        kind = {
            "bool": "True or False",
            "int": "a whole number",
            "fraction": "a number from 0 to 1",
            "powers": "powers of two",
            "word": " or ".join(option.values),
        }[option.kind]
        told = [source("env_rules", one) for one in option.sources]
        minimum = "" if option.minimum is None else str(option.minimum)
        parts.append(_row(_code(option.name), kind, minimum, "; ".join(_cell(one.what) for one in told if one)))
    return "".join(parts)


def _texts(entry: Mapping[str, Any]) -> str:
    shown = [one for text in entry["texts"] for one in words(text["find"])]
    return "<br>".join(_code(one.strip()) for one in shown[:6]) + ("<br>..." if len(shown) > 6 else "")


def _read_in(entry: Mapping[str, Any]) -> str:
    """Where the texts were read; those that nobody has looked up say so."""
    told: dict[str, bool] = {}
    for text in entry["texts"]:
        name = str(text.get("source", entry.get("source", "")))
        told[name] = bool(text.get("verified", entry.get("verified", False)))
    return "; ".join(_cell(name) + ("" if looked_up else " (not looked up)") for name, looked_up in told.items())


def _causes(entry: Mapping[str, Any]) -> str:
    """The causes that a message points to, the first ones first."""
    named = [entry["cause"]] if entry.get("cause") else [one["cause"] for one in entry.get("says", ())]
    return "<br>".join(_code(name) for name in dict.fromkeys(named))


def signatures() -> str:
    """The texts of the kernel log and of programs that are recognised."""
    kernel = load_table("log_signatures")["signatures"]
    messages = message_rows()
    parts = [
        "# Texts that are recognised\n\n"
        "Made from `rocdoctor/knowledge/tables/log_signatures.yaml` and `messages*.yaml` by "
        "`python -m tools.docs`.\n\n"
        f"## Kernel log ({len(kernel)} kinds)\n\n" + _head("Kind", "Class", "Text", "Means", "Source")
    ]
    parts += [
        _row(_code(one["kind"]), one["severity"], _texts(one), _cell(one["means"]), _read_in(one)) for one in kernel
    ]
    parts.append(
        f"\n## Messages of programs ({len(messages)} kinds)\n\n" + _head("Kind", "Cause", "Text", "Proves", "Source")
    )
    parts += [
        _row(_code(one["kind"]), _causes(one), _texts(one), _cell(one["means"]), _read_in(one)) for one in messages
    ]
    return "".join(parts)


def advice() -> str:
    """All advice that files are searched for, by verdict."""
    table = all_advice()
    parts = [
        "# Advice that is false, out of date or harmful\n\n"
        "Made from `rocdoctor/knowledge/tables/advice_python.yaml` and `advice_files.yaml` by "
        "`python -m tools.docs`.\n\n"
        f"`rocdoctor lint FILE...` reports places that follow one of these {len(table)} pieces of advice, under the "
        "name `advice-<id>`: `--skip advice-<id>` leaves one out, `--skip advice` all of them, and `rocdoctor explain "
        "advice-<id>` prints its page. If the advice depends on something that the file does not show, the finding is "
        "reported only as possible, with severity info.\n\nBasis: "
        + "; ".join(f"{name}: {BASIS_WORDS[name]}" for name in BASES)
        + ".\n"
    ]
    for verdict in VERDICTS:
        rows = sorted((one for one in table.values() if one.verdict == verdict), key=lambda one: one.id)
        if rows:
            parts.append(
                f"\n## {VERDICT_WORDS[verdict]}\n\n"
                + _head("Id", "Advice", "What is true", "Instead", "Severity", "Seen in", "Basis", "Source")
            )
        parts += [
            _row(
                _code(one.id),
                _cell(one.claim),
                _cell(one.truth),
                _cell(one.remedy),
                one.severity,
                seen_in(one),
                one.basis,
                _cell("; ".join(one.cited)),
            )
            for one in rows
        ]
    return "".join(parts)
