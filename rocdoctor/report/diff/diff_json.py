"""The JSON contract ``rocdoctor.diff/1``: public, only added to."""

from __future__ import annotations

from typing import Any

from rocdoctor import __version__
from rocdoctor.compare.differences import Comparison, Difference
from rocdoctor.model.printable import clean
from rocdoctor.report.diff.diff_words import reasons

SCHEMA = "rocdoctor.diff/1"


def _difference(one: Difference, names: list[str]) -> dict[str, Any]:
    return {
        "subject": clean(one.subject.label),
        "what": clean(one.what),
        "kind": one.kind,
        "drift": one.drift,
        "values": [None if value is None else clean(value) for value in one.values],
        "majority": None if one.majority is None else clean(one.majority),
        "differs": [names[number] for number in one.odd],
        "among": [names[number] for number in one.among],
    }


def report(found: Comparison) -> dict[str, Any]:
    """The comparison as plain data: values in the order of ``machines``, null where it is not known.

    ``majority`` and ``differs`` are of three or more machines; without a majority they are null and empty. ``among``
    are the machines of one kind that were compared, empty where all were; the values of others are null.
    """
    names = [clean(name) for name in found.names]
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "drift": found.drift,
        "machines": [
            {
                "name": name,
                "differs": [clean(one) for one in reasons(found, number)],
                "unknown": [clean(one) for one in found.unknown[number]],
            }
            for number, name in enumerate(names)
        ],
        "differences": [_difference(one, names) for one in found.differences],
    }
