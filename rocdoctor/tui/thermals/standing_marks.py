"""That a finding speaks against a GPU of which only values are seen: a mark in its row, a line above them. Pure."""

from __future__ import annotations

from rich.text import Text

from rocdoctor.judging.gpu_standing import GpuStanding
from rocdoctor.tui.style import SEVERITY_STYLE


def ill(standing: GpuStanding | None) -> str:
    """The severity of its gravest finding, where that is an error or a warning; else ""."""
    severity = standing.severity if standing is not None else None
    return severity if severity in ("error", "warning") else ""


def marked(index: int, standing: GpuStanding | None) -> str:
    """Its number in a row: ``3!``, without colours too."""
    return f"{index}!" if ill(standing) else str(index)


def mark(row: Text, index: int, standing: GpuStanding | None) -> None:
    """Colour the number with which the row begins."""
    if severity := ill(standing):
        row.stylize(SEVERITY_STYLE[severity], 0, len(marked(index, standing)))


def finding_line(standing: GpuStanding | None) -> Text:
    """What was found, with the end of the line; empty where nothing was."""
    severity = ill(standing)
    if not severity or standing is None:
        return Text()
    return Text().append(f"{severity} {standing.check}", style=SEVERITY_STYLE[severity]).append(": Enter shows it\n")
