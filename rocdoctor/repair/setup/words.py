"""What the formats of a set-up plan say alike: states, risks, when a step takes effect, what it waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocdoctor.judging.subjects import number_ranges
from rocdoctor.knowledge.install.sizes import LINE_MBIT_S, minutes
from rocdoctor.knowledge.load import source
from rocdoctor.model.finding import Effective
from rocdoctor.model.printable import one_line
from rocdoctor.repair.setup.plan import Goal, SetupPlan, Step, handed_over

GOAL_WORDS: dict[Goal, str] = {
    "pytorch": "training with PyTorch",
    "rocm": "ROCm",
    "container": "training in containers",
    "cluster-node": "a node of a cluster",
}
STATE_WORDS = {"done": "done", "todo": "to do", "waiting": "waiting", "unknown": "unknown", "impossible": "no way"}
RISK_WORDS = {
    "safe": "safe",
    "reboots": "needs a restart",
    "risky": "risky: read it first",
    "manual": "to be done by hand",
}
EFFECT_WORDS: dict[Effective, str] = {"now": "", "new-login": "at the next login", "reboot": "after a restart"}
_LEFT = ("todo", "waiting")


@dataclass(frozen=True, slots=True)
class SetupHeadline:
    """What to do next: a sentence, what else to know of it, and the step that it speaks of."""

    text: str
    more: tuple[str, ...] = ()
    step: Step | None = None


def left(plan: SetupPlan) -> list[Step]:
    """The steps that the goal needs and that somebody has to do."""
    return [step for step in plan.steps if step.state in _LEFT and not step.optional]


def number(plan: SetupPlan, step: Step) -> int:
    """The place of a step, from 1."""
    return plan.steps.index(step) + 1


def state_words(plan: SetupPlan, step: Step) -> str:
    """The state in a word or two: ``now`` for the step that is next."""
    now = step is plan.next and step.state == "todo" and (not step.optional or step.id == plan.first)
    return "now" if now else STATE_WORDS[step.state]


def headline(plan: SetupPlan) -> SetupHeadline:
    """What to do next."""
    goal, count = GOAL_WORDS[plan.goal], len(plan.steps)
    if not plan.steps:
        return SetupHeadline(f"No step is known for {goal} on this machine.", plan.notes[:1])
    following = plan.next
    if left(plan) or (following is not None and not following.optional):
        return _decided(plan, _next(plan, following or left(plan)[0]))
    hopeless = next((step for step in plan.steps if step.state == "impossible" and not step.optional), None)
    if hopeless is not None:
        title = one_line(hopeless.title).rstrip(".")
        text = f"No source describes a way to {goal} here: step {number(plan, hopeless)} of {count}, {title}."
        return SetupHeadline(text, (hopeless.why,), hopeless)
    every = "the one step is" if count == 1 else f"all {count} steps are"
    if following is not None:
        # What nobody supports is not the first thing to offer to somebody who has all that the goal needs.
        offered = [one for one in plan.steps if one.optional and one.state == "todo" and not one.support]
        following = offered[0] if offered else following
        more = f"Optional: step {number(plan, following)}, {one_line(following.title)}."
        return SetupHeadline(f"{goal[0].upper()}{goal[1:]} needs nothing more.", (more,), None)
    return SetupHeadline(f"Nothing is left to do for {goal}: {every} done.")


def _decided(plan: SetupPlan, said: SetupHeadline) -> SetupHeadline:
    """That the GPU cannot be used comes before the steps that remain, unless a check names one of them first."""
    barred = next((one for one in plan.steps if one.id == "rocm" and one.state == "impossible"), None)
    if barred is None or said.step is None or said.step.id == plan.first:
        return said
    title = one_line(barred.title).rstrip(".")
    text = f"Step {number(plan, barred)} cannot be done here: {title}. {said.text}"
    return SetupHeadline(text, (barred.why, *said.more), said.step)


def _next(plan: SetupPlan, step: Step) -> SetupHeadline:
    head = f"Step {number(plan, step)} of {len(plan.steps)}"
    title = one_line(step.title).rstrip(".")
    if step.state == "todo":
        return SetupHeadline(
            f"{head}, now: {title}.{_passed_over(plan, step)}", (*_after(plan, step), *_beside(plan, step)), step
        )
    if step.state == "waiting":
        login = step.effective == "new-login" and not step.waits_for and not step.handed_to
        again = "Log out completely and in again, then run rocdoctor setup again." if login else ""
        told = (waits_for(plan, step), step.why, handed_over(step.handed_to) if step.handed_to else "", again)
        more = tuple(one for one in told if one)
        return SetupHeadline(f"{head} waits: {title}.", (*more, *_beside(plan, step)), step)
    command, about = verify_words(step)
    asks = f"This shows it: {command}{f' ({about})' if about else ''}" if command else ""
    return SetupHeadline(f"{head} is unknown here: {title}.", tuple(one for one in (step.why, asks) if one), step)


def _passed_over(plan: SetupPlan, step: Step) -> str:
    """Which steps above the one that comes first are to be done as well, and after it."""
    above = [
        number(plan, one) for one in plan.steps[: plan.steps.index(step)] if one.state == "todo" and not one.optional
    ]
    if not above:
        return ""
    return f" Step{'s' if len(above) > 1 else ''} {number_ranges(above)} come{'s' if len(above) == 1 else ''} after it."


def _beside(plan: SetupPlan, step: Step) -> tuple[str, ...]:
    """The step to go on with where the one that is named first is not needed for the goal, or is somebody else's."""
    if not step.optional and step.state == "todo":
        return ()
    others = [one for one in plan.steps if one.state == "todo" and not one.optional and one.id != "checks"]
    if not others:
        return ()
    front = "Meanwhile" if step.state == "waiting" else f"{GOAL_WORDS[plan.goal].capitalize()} does not wait for it"
    return (f"{front}: step {number(plan, others[0])}, {one_line(others[0].title)}.",)


def _after(plan: SetupPlan, step: Step) -> tuple[str, ...]:
    """What comes after a step: other steps that the same start takes go before the restart, or it would boot twice."""
    before = [one for one in _following(plan, step) if one.state == "todo" and one.effective != "now"]
    if step.effective == "reboot" and before:
        names = ", ".join(f"step {number(plan, one)} ({one_line(one.title)})" for one in before)
        return (f"Before you restart, do {names}: run rocdoctor setup again now.",)
    if step.effective == "now":
        return ("Then run rocdoctor setup again.",)
    what = "log out completely and in again" if step.effective == "new-login" else "restart"
    if _activates(step):
        return ("Activate the environment again, then run rocdoctor setup again.",)
    if step is plan.joined_before_restart:
        return ("The restart that follows is the new login that it needs: run rocdoctor setup again now.",)
    return (f"It takes effect {EFFECT_WORDS[step.effective]}: {what}, then run rocdoctor setup again.",)


def _activates(step: Step) -> bool:
    """Whether it takes effect where the environment is activated again: no login is needed for that."""
    return (
        step.effective == "new-login"
        and bool(step.changes)
        and all(one.endswith("/bin/activate") for one in step.changes)
    )


def _following(plan: SetupPlan, step: Step) -> list[Step]:
    """The steps between this one and the restart that the goal needs."""
    later = plan.steps[plan.steps.index(step) + 1 :]
    end = next((at for at, one in enumerate(later) if one.id == "restart"), 0)
    return [one for one in later[:end] if not one.optional]


def waits_for(plan: SetupPlan, step: Step) -> str:
    """What a waiting step waits for: the nearest step that it needs and that is not done; "" where none is named."""
    before = plan.steps[: plan.steps.index(step)]
    needed = [one for one in before if {one.id, one.layer} & set(step.needs) and one.state != "done"]
    needed = [one for one in needed if not one.optional] or needed  # nothing waits for what the goal does not need
    if not needed:
        return ""
    one = needed[-1]
    if one.id == "restart":
        return f"waits for step {number(plan, one)} ({one_line(one.title)})"
    after = {"now": "", "new-login": " and a new login", "reboot": " and a restart"}[one.effective]
    return f"waits for step {number(plan, one)} ({one_line(one.title)}){after}"


def notes(plan: SetupPlan, step: Step) -> list[str]:
    """What is to be known of a step beside what ``waits_for`` says."""
    found = [*step.notes]
    if step.state == "impossible" and step.waits_for:
        found.append(f"Needs: {_title(plan, step.waits_for)}.")
    return [one_line(note) for note in found]


def all_notes(plan: SetupPlan, step: Step) -> list[str]:
    """The notes with what a step waits for as one of them."""
    waits = step.state == "waiting" and step.waits_for
    return [*notes(plan, step), *([f"Waits for: {_title(plan, step.waits_for)}."] if waits else [])]


def _title(plan: SetupPlan, name: str) -> str:
    return next((one.title for one in plan.steps if one.id == name), name)


def verify_words(step: Step) -> tuple[str, str]:
    """(the command that verifies a step, what to know of it); empty where there is none."""
    if step.verify is None or not step.verify.line:
        return "", ""
    after = EFFECT_WORDS[step.effective]
    shows = f"shows: {one_line(step.verify.shows)}" if step.verify.shows else ""
    return step.verify.line, "; ".join(part for part in (after, shows) if part)


def proof_words(step: Step) -> tuple[tuple[str, ...], str]:
    """The command that proves a step where nobody looks, and the pattern that its output then has.

    Without a pattern its exit status tells; () where nothing but a person can tell.
    """
    if step.verify is None or not step.verify.line:
        return (), ""
    if step.proof:
        return step.proof, step.verify.expects
    return (("rocdoctor", "check", step.verify.check, "--quiet"), "") if not step.verify.command else ((), "")


def source_words(step: Step) -> list[str]:
    """Each source of a step in words; one that the table lacks by its name."""
    return [what for what, _ in sources(step)]


def sources(step: Step) -> list[tuple[str, str]]:
    """Each source of a step, once: what it is, and what it is worth ("" where the table lacks it)."""
    return list(dict.fromkeys((what, kind) for _, what, kind in named_sources(step)))  # two rows may read one page


def named_sources(step: Step) -> list[tuple[str, str, str]]:
    """Each row of sources of a step, once: its name in the table, what it is, and what it is worth."""
    found = [(name, source(step.table, name) if step.table else None) for name in dict.fromkeys(step.sources)]
    return [
        (name, one_line(told.what), told.kind) if told is not None else (name, one_line(name), "")
        for name, told in found
    ]


def _gb(amount: float) -> str:
    """What is known of a relative, of another release or Python, in whole GB where there are some."""
    return f"{amount:.0f} GB" if amount >= 2 else f"{amount:.1f} GB"


def cost_words(steps: Iterable[Step]) -> list[str]:
    """What steps cost, as far as somebody has published it: download with its time, disk; a login, a restart."""
    found = list(steps)
    fetched = sum(one.download_gb or 0.0 for one in found)
    disk = sum(one.disk_gb or 0.0 for one in found)
    words: list[str] = []
    if fetched:
        words.append(f"about {_gb(fetched)} to download ({minutes(fetched)} min at {LINE_MBIT_S} Mbit/s)")
    if disk:
        words.append(f"{_gb(disk)} of disk")
    if any(one.id == "restart" for one in found):
        words.append("a restart")
    elif any(one.effective == "new-login" and not _activates(one) for one in found):
        words.append("a new login")
    return words
