"""The verdict as one HTML file: no network, no script from elsewhere, everything escaped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape

from rocdoctor.fleet.node_names import folded
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.model.printable import one_line
from rocdoctor.report.fleet.fleet_document import ABOUT_ALL, TITLES, headline, part_of, rows

_MOST_NODES = 2000
_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:75em;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.3em}h2{font-size:1.05em;margin:1.6em 0 .3em}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25em .6em;border-bottom:1px solid #ddd}code{font-size:.95em}
.drain{border-left:6px solid #b00020}.test,.watch{border-left:6px solid #b26a00}.unknown{border-left:6px solid #777}
.different{border-left:6px solid #1565c0}details{margin-top:1em}
@media print{details{display:none}}
"""


def page(found: FleetVerdict) -> str:
    """The whole file."""
    return "".join(_parts(found))


def _parts(found: FleetVerdict) -> Iterator[str]:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(found.at))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>rocdoctor fleet</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head><body>\n'
        f"<h1>{_text(headline(found))}</h1>\n<p>As of {when}.</p>\n"
    )
    if found.findings:
        yield f"<h2>{ABOUT_ALL}</h2>\n<ul>\n"
        yield from (f"<li>{_text(one.message)}</li>\n" for one in found.findings)
        yield "</ul>\n"
    for name, title, _ in TITLES:
        members = [one for one in found.nodes if part_of(one) == name]
        if not members:
            continue
        yield (
            f"<h2>{_text(title)} ({len(members)})</h2>\n<table class={name}><tr><th>nodes</th>"
            "<th>what was seen</th><th>check</th><th>cause</th><th>records</th></tr>\n"
        )
        for row in rows(members):
            cells = (
                f"<code>{_text(folded(row.nodes))}</code>",
                _text(row.words),
                f"<code>{_text(row.first.check)}</code>",
                _text(row.first.cause),
                f"{row.first.seen} of {row.first.looks}",
            )
            yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"
        yield "</table>\n"
    if found.look_again:
        yield f"<h2>Measure these again</h2><p><code>{_text(folded(found.look_again))}</code></p>\n"
    yield from _each(found)
    yield "</body></html>\n"


def _each(found: FleetVerdict) -> Iterator[str]:
    """Every node with all its reasons, folded away."""
    if not found.nodes:
        return
    yield "<details><summary>Every node with all that was seen</summary>\n<table>\n"
    for one in found.nodes[:_MOST_NODES]:
        said = "<br>".join(
            f"{_text(reason.node_class)}: {'' if reason.gpu is None else f'gpu {reason.gpu}: '}{_text(reason.message)}"
            for reason in one.reasons[:6]
        )
        yield f"<tr><td><code>{_text(one.node)}</code></td><td>{_text(one.proposal)}</td><td>{said}</td></tr>\n"
    if len(found.nodes) > _MOST_NODES:
        yield f"<tr><td colspan=3>and {len(found.nodes) - _MOST_NODES} more</td></tr>\n"
    yield "</table></details>\n"


def _text(words: str) -> str:
    return escape(one_line(words))
