"""The words of the smoke screen: what will be run, how far it is, why it cannot. Pure."""

from __future__ import annotations

from rich.text import Text

from rocdoctor.model.printable import one_line
from rocdoctor.train.smoke.run.request import Request
from rocdoctor.tui.smoke.run_session import FIGURES, SmokeSession, Trouble
from rocdoctor.tui.style import STATE_STYLE, WRONG


def form_text(request: Request, count: int, frozen: bool) -> Text:
    """The choice, each part with its key."""
    chosen = str(count) if request.modes else f"all {count}"
    parts = (
        ("set", "full" if request.full else "quick", "f"),
        ("modes", chosen, "space, o, a"),
        ("ranks", str(request.world) if request.world is not None else "auto", "+ -"),
        ("backend", request.backend, "e"),
        ("device", {"auto": "auto", "cpu": "CPU"}[request.device], "d"),
        ("figures", "yes" if request.figures else "no", "g"),
    )
    text = Text()
    for at, (name, value, key) in enumerate(parts):
        text.append(", " if at else "")
        text.append(f"{name} ")
        text.append(value.replace(" ", "\N{NO-BREAK SPACE}"), style="bold")
        if not frozen:
            text.append(f"\N{NO-BREAK SPACE}({key.replace(' ', chr(160))})", style="dim")
    return text


def state_text(
    session: SmokeSession | None, live: bool, problem: Trouble | None, results: bool, deadline: str, asking: bool
) -> Text:
    """Where it stands, in a sentence or two. ``results``: there are some to show; ``asking``: more may come."""
    text = Text()
    if session is not None and session.going_on:
        return _going_on(session, deadline)
    if not live:
        text.append("Smoke tests run on this machine only; ")
        text.append(
            "these results are in the evidence."
            if results
            else "still reading the evidence."
            if asking
            else "this evidence has no results (rocdoctor bundle --with-smoke records them)."
        )
        return text
    if session is not None and session.state == "cancelled":
        words = f"Cancelled after {session.done} of {len(session.modes)} modes; everything that ran was ended."
        text.append(words, style=STATE_STYLE["todo"])
        return text
    if session is not None and session.state == "failed":
        text.append(f"The tests could not run: {one_line(session.problem)}", style=WRONG)
        return text
    if problem is not None:
        text.append(f"Nothing can be run: {one_line(problem.why)}", style=WRONG)
        if problem.remedy:
            text.append(f"\n{one_line(problem.remedy)}")
        return text
    if session is not None:
        text.append(f"Finished at {session.clock} after {session.elapsed_s:.0f} s.")
        return text
    text.append(
        "Each mode is compared with the same computation in one process. "
        f"Deadline of a mode: {deadline}. s starts." + ("" if results else " Nothing was run yet.")
    )
    return text


def _going_on(session: SmokeSession, deadline: str) -> Text:
    text = Text()
    if session.state == "ending":
        text.append("Ending everything that runs ...", style=STATE_STYLE["todo"])
        return text
    seconds = f"{session.elapsed_s:.0f} s"
    if not session.current:
        text.append(f"Running: importing torch, {seconds}", style="bold")
    elif session.current.startswith(FIGURES):
        text.append(f"Measuring {one_line(session.current.removeprefix(FIGURES))}, {seconds}", style="bold")
    else:
        which = f", set {len(session.passes)} of ranks" if len(session.passes) > 1 else ""
        done = f"{session.done} of {len(session.modes)} modes done{which}, {seconds}{_left(session.left_s)}"
        text.append(f"Running {one_line(session.current)}: {done}", style="bold")
    text.append(f". Deadline of a mode: {deadline}. x ends it; you can open other screens while it runs.")
    return text


def _left(seconds: float | None) -> str:
    """About how long these ranks still take (others may follow them); nothing where nothing tells."""
    if seconds is None:
        return ""
    rounded = max(5, 5 * round(seconds / 5))
    words = f"{rounded} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f", about {words} left for these ranks"
