"""What a wide terminal shows beside the findings: a line for each GPU, links as a small map, what is next. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rocdoctor.insight.gpus.gpu_health import telling
from rocdoctor.insight.gpus.presence import no_gpu_words
from rocdoctor.judging.gpu_standing import GpuStanding, standings
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import one_line
from rocdoctor.repair.setup.words import headline as setup_headline
from rocdoctor.report.text import wrap
from rocdoctor.tui.live import EVERY_S
from rocdoctor.tui.look import Look
from rocdoctor.tui.style import SEVERITY_STYLE, STATE_STYLE, heat_style
from rocdoctor.tui.topology.check_notes import lost_links
from rocdoctor.tui.topology.link_matrix import NONE, OPEN, cells, pair_words
from rocdoctor.tui.topology.path_links import limbs

_GIB = 2**30
_MOST = 32  # GPUs with a line each
_MAP = 8  # GPUs up to which links have a map
_UNKNOWN = "-"
_LABEL = 9  # cells before what is next


def gpu_lines(diagnosis: Diagnosis, width: int, preliminary: bool = False) -> Text:
    """A line for each GPU: temperature, power, memory and link beside their limits, its state, its worst finding.

    ``preliminary``: not everything has answered, so nothing is without a finding yet.
    """
    each = standings(diagnosis)
    if not each:
        return Text(f"{no_gpu_words(diagnosis.machine)}.", style="dim")
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{'gpu':<3}{'°C':>8} {'W':>9} {'GiB':>8}  {'link':<7}state", style="dim")
    for one in each[:_MOST]:
        text.append("\n")
        text.append_text(_gpu_line(one, width, preliminary))
    if len(each) > _MOST:
        text.append(f"\n... and {len(each) - _MOST} more (key 4)", style="dim")
    if any(_UNKNOWN in line.split() for line in text.plain.splitlines()[1:]):
        text.append(f"\n{_UNKNOWN}: not in these answers", style="dim")
    return text


def _gpu_line(one: GpuStanding, width: int, preliminary: bool) -> Text:
    gpu = one.gpu
    heat = telling(gpu)
    power, cap = value_or(gpu.power.now_w, None), value_or(gpu.power.cap_w, None)
    used, total = value_or(gpu.vram_used_bytes, None), value_or(gpu.vram_bytes, None)
    line = Text(f"{gpu.index:<3}", no_wrap=True, overflow="ellipsis")
    line.append(f"{_of(heat.input_c if heat else None, heat.crit_c if heat else None):>8}", style=heat_style(heat))
    line.append(f" {_of(power, cap):>9}")
    line.append(f" {_of(None if used is None else used / _GIB, None if total is None else total / _GIB):>8}")
    # A link is narrow on purpose here and there: a fault only where a check says so.
    said = SEVERITY_STYLE[one.severity] if one.severity is not None and one.check.startswith("pcie-link") else ""
    line.append("  ").append(f"{lanes(gpu) or _UNKNOWN:<7}", style=said)
    word, style = state_word(one, preliminary)
    line.append(word, style=style)
    if one.worst is not None:
        line.append(f"  {one_line(one.worst.message)}", style="dim")
    line.truncate(width, overflow="ellipsis")
    return line


def state_word(one: GpuStanding, preliminary: bool = False) -> tuple[str, str]:
    """(the state of a GPU in a word or two, its style)."""
    gpu = one.gpu
    if one.severity is not None and one.severity != "info":
        return f"{one.severity} {one.check}", SEVERITY_STYLE[one.severity]
    if value_or(gpu.runtime_status, "") == "suspended":
        return "asleep", "dim"
    if isinstance(gpu.driver, Known) and gpu.driver.value is None:
        return "no driver", STATE_STYLE["unknown"]
    if preliminary:
        return "no finding so far", STATE_STYLE["unknown"]
    return ("no finding", STATE_STYLE["pass"]) if one.passed else ("not judged", STATE_STYLE["unknown"])


def link_lines(diagnosis: Diagnosis, width: int) -> Text:
    """How GPUs reach each other, a sign a pair; a pair without a link is marked where a check says that it lacks it."""
    machine = diagnosis.machine
    indices = [gpu.index for gpu in machine.gpus]
    if len(indices) < 2:
        return Text()
    of = cells(machine)
    kinds = sorted({*of.values()})
    if kinds == [OPEN]:
        return Text("not in these answers", style="dim")
    if kinds == [NONE]:
        return Text("no direct link is listed", style="dim")
    missing = [pair for pair, kind in of.items() if kind == NONE and pair[0] < pair[1]]
    lost = lost_links(machine, diagnosis.verdicts)
    style = next((SEVERITY_STYLE[note.severity] for note in lost.values()), "")
    text = Text(no_wrap=True, overflow="ellipsis")
    if len(indices) <= _MAP:
        signs = {kind: _sign(kind) for kind in kinds}
        text.append("    " + " ".join(str(one) for one in indices), style="dim")
        for a in indices:
            text.append(f"\n{a:<4}", style="dim")
            for b in indices:
                sign = "." if a == b else signs[of[a, b]]
                text.append(f"{sign:<{len(str(b)) + 1}}", style=style if (min(a, b), max(a, b)) in lost else "")
        text.append("\n" + ", ".join(f"{signs[kind]}: {kind}" for kind in kinds), style="dim")
    else:
        pairs = len(indices) * (len(indices) - 1) // 2
        for kind in kinds:
            count = sum(1 for pair, one in of.items() if one == kind and pair[0] < pair[1])
            text.append(f"{count} of {pairs} pairs: {kind}\n")
        text.rstrip()
    if missing:
        named = pair_words([*lost] or missing)
        text.append(f"\nno link: {named}", style=style if lost else "dim")
    return text


def _sign(kind: str) -> str:
    """A way between two GPUs as one character: hops of XGMI, N for NVLink, P for PCIe, x for none."""
    return {NONE: "x", OPEN: "?"}.get(kind, kind[0])


def next_lines(look: Look, width: int, clock: str) -> Text:
    """Set-up's next step, the state of smoke tests, and when a live machine was read last (``clock``)."""
    text = Text()
    for _, name, said in _next(look, clock):
        for at, part in enumerate(_wrapped(said, width)):
            text.append(f"{name if at == 0 else '':<{_LABEL}}", style="bold")
            text.append(part + "\n", style="not bold")
    text.rstrip()
    return text


def area_of_line(look: Look, width: int, line: int) -> str:
    """The screen that a line of ``next_lines``, counted from 0, speaks of; "" for none."""
    areas = [area for area, _, said in _next(look) for _ in _wrapped(said, width)]
    return areas[line] if 0 <= line < len(areas) else ""


def _next(look: Look, clock: str = "") -> Iterator[tuple[str, str, str]]:
    """The screen that tells more, a label, and what is said."""
    if look.setup is not None:
        yield "setup", "set-up", f"{setup_headline(look.setup).text.rstrip('.')} (key 7)"
    if look.diagnosis is not None:
        yield "smoke", "smoke", f"{smoke_words(look.diagnosis)} (key 5)"
    if clock:
        yield "", "read", f"{clock}, every {EVERY_S:.0f} s; r asks programs again too"


def _wrapped(said: str, width: int) -> list[str]:
    return wrap(said, max(20, width - _LABEL), "", "")


def gpu_of_line(diagnosis: Diagnosis, line: int) -> GpuStanding | None:
    """The GPU that stands in a line of ``gpu_lines``, counted from 0; None for the heads and what follows."""
    each = standings(diagnosis)[:_MOST]
    return each[line - 1] if 1 <= line <= len(each) else None


def smoke_words(diagnosis: Diagnosis) -> str:
    """How the smoke tests of this machine came out."""
    results = [one for run in diagnosis.machine.smoke for one in run.modes]
    if not results:
        return "not run"
    wrong = [one for one in results if one.state in ("fail", "crashed")]
    if wrong:
        names = ", ".join(one.mode for one in wrong[:3]) + (", ..." if len(wrong) > 3 else "")
        return f"{len(wrong)} of {len(results)} modes failed: {names}"
    right = sum(one.state == "pass" for one in results)
    return f"{right} of {len(results)} modes computed the right numbers"


def _of(value: float | None, most: float | None) -> str:
    if value is None:
        return _UNKNOWN
    return f"{value:.0f}/{most:.0f}" if most else f"{value:.0f}"


def lanes(gpu: Gpu) -> str:
    """The lanes of the narrowest link outside of the card: ``x16``, ``x4/16`` where it could have more; "" unknown."""
    links = [limb.link for limb in limbs(gpu) if not limb.inside]
    widths = [(value_or(one.width, None), value_or(one.capable_width, None)) for one in links]
    known = [(now, most) for now, most in widths if now is not None]
    if not known:
        return ""
    now, most = min(known, key=lambda one: one[0])
    return f"x{now}/{most}" if most is not None and now < most else f"x{now}"
