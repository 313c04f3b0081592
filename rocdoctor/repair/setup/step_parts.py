"""From steps of the tables and verdicts of checks to the parts of a step: what several files of steps share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rocdoctor.knowledge import install
from rocdoctor.knowledge.software.package_managers import Verb, package_managers
from rocdoctor.model.finding import SEVERITIES, Effective, Evidence, Finding, Severity, Verdict
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.setup.plan import Action, Step, Verify, handed_over
from rocdoctor.repair.setup.situation import Situation

# Pages of AMD that a person reads where the tables end.
VENDOR_PAGE = install.hosts()["amd_stable"].page
# For containers whose host has the policy of Red Hat.
SELINUX_NOTE = (
    "If SELinux on the host forbids /dev/kfd (getsebool container_use_devices shows it), sudo setsebool -P "
    "container_use_devices on allows it."
)
_ENABLING = (("subscription-manager", "repos", "--enable"), ("dnf", "config-manager", "--set-enabled"))


def actions_of(steps: Iterable[install.InstallStep]) -> tuple[Action, ...]:
    """What steps of the tables do; the restart is left out, since a plan has one of its own."""
    found: list[Action] = []
    for step in steps:
        if step.id == "reboot":
            continue
        if step.file:
            found.append(Action(file=step.file, lines=step.lines, root=step.root))
        found += [Action(words=words, root=step.root) for words in step.run]
    return tuple(found)


def packages_action(manager: str, verb: Verb, *packages: str) -> Action:
    """What a package manager is told as root."""
    return Action(words=package_managers()[manager].command(verb, packages), root=True)


def with_fresh_lists(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Actions that begin with reading apt's lists of packages: old lists name packages that are gone."""
    found = tuple(actions)
    update = packages_action("apt", "refresh")
    first = next((one for one in found if one.words[:1] == ("apt",)), None)
    return found if first is None or first == update else (update, *found)


def with_key_tool(situation: Situation, actions: Iterable[Action]) -> tuple[Action, ...]:
    """Actions of ``mokutil`` that begin with its installation: not every distribution has it from the start."""
    found = tuple(actions)
    if not found or situation.manager not in ("apt", "dnf"):
        return found
    return with_fresh_lists((packages_action(situation.manager, "install", "mokutil"), *found))


def key_enrolled(key: str) -> Verify:
    """How one sees that the firmware took a key: mokutil tells it of the file, on every distribution that has shim."""
    return Verify(command=shell("mokutil --test-key {key:path}", key=key), shows="that the key is already enrolled")


def changes_of(actions: Iterable[Action]) -> tuple[str, ...]:
    """Files, packages and repositories that actions write, install or enable, each once."""
    found: list[str] = []
    for action in actions:
        if action.file:
            found.append(action.file)
        words = action.words
        if words[:1] in (("curl",), ("gpg",)) and "-o" in words[:-1]:
            found.append(words[words.index("-o") + 1])
        manager = package_managers().get(words[0]) if words else None
        verb = manager.command("install")[-1] if manager is not None else ""
        if verb in words:
            found += [_package(word) for word in words[words.index(verb) + 1 :] if not word.startswith("-")]
        if manager is not None and upgrades_all(action):
            found.append("every package of this system")
            found += [word for word in words[1:] if not word.startswith("-") and word not in manager.whole]
        elif manager is not None and set(words[1:2]) & set(manager.whole):
            found += [word for word in words[2:] if not word.startswith("-")]
        if words[:3] in _ENABLING:
            found += [f"repository {name}" for name in words[3:]]
        elif words == ("crb", "enable"):
            found.append("repository crb")
        elif words[:2] == ("SUSEConnect", "-p"):
            found += [f"module {name}" for name in words[2:]]
    return tuple(dict.fromkeys(found))


def upgrades_all(action: Action) -> bool:
    """Whether a command brings the whole system to newer releases, with kernel and drivers."""
    program, *rest = action.words or ("",)
    manager = package_managers().get("apt" if program == "apt-get" else program)
    return manager is not None and manager.upgrades_all(rest)


def _package(word: str) -> str:
    """The name of a package that is installed from its address."""
    last = word.rpartition("/")[2]
    return re.sub(r"(-latest)?-\d[\w.]*\.rpm$", "", last) if word.startswith("https://") else word


def stay_enabled(actions: Iterable[Action]) -> tuple[str, ...]:
    """That EPEL and CodeReady Builder outlive the undo of a step that enabled them, and what takes EPEL away."""
    changed = changes_of(actions)
    if any(one.startswith("module ") for one in changed):
        return ("The undo leaves the SLES modules enabled; SUSEConnect -d disables a module.",)
    if "epel-release" not in changed:
        return ()
    away = packages_action("dnf", "remove", "epel-release").command
    return (
        f"The undo leaves EPEL and CodeReady Builder enabled, since other packages may need them; {away} removes EPEL.",
    )


def fetched_by(actions: Iterable[Action]) -> tuple[str, ...]:
    """Files that actions fetch from the network or make out of what they fetched (``-o``)."""
    found = [action.words for action in actions if action.words[:1] in (("curl",), ("gpg",)) and "-o" in action.words]
    return tuple(dict.fromkeys(words[words.index("-o") + 1] for words in found))


def sources_of(steps: Iterable[install.InstallStep]) -> tuple[str, ...]:
    """The sources behind steps of one table, each once."""
    # The restart of a table is none of the plan (actions_of).
    return tuple(dict.fromkeys(source for step in steps if step.id != "reboot" for source in step.sources))


def open_in(actions: Iterable[Action]) -> tuple[str, ...]:
    """Names in curly braces that nobody filled: such an action must not be run."""
    texts = [text for action in actions for text in (*action.words, action.file, *action.lines)]
    return tuple(sorted({name for text in texts for name in re.findall(r"\{([a-z_0-9]+)\}", text)}))


def sentence(text: str) -> str:
    """Text as a sentence: a capital first, a full stop last."""
    stripped = text.strip()
    return stripped and stripped[0].upper() + stripped[1:] + ("" if stripped.endswith((".", "!", "?")) else ".")


def evidence_of(verdicts: Iterable[Verdict], most: int = 4) -> tuple[Evidence, ...]:
    """What the findings among verdicts cite, each once."""
    cited = [one for verdict in verdicts if verdict.finding is not None for one in verdict.finding.evidence]
    return tuple(dict.fromkeys(cited))[:most]


def at_least(findings: Iterable[tuple[Verdict, Finding]], severity: Severity) -> list[tuple[Verdict, Finding]]:
    """The findings that are at least this severe."""
    most = SEVERITIES.index(severity)
    return [(verdict, found) for verdict, found in findings if SEVERITIES.index(found.severity) <= most]


def set_for_next_start(step: Step, shown: Evidence) -> Step:
    """A step whose commands were given: its settings are there, and the next start takes them."""
    return replace(
        step,
        state="waiting",
        actions=(),
        evidence=(*step.evidence, shown),
        notes=("It is set, and takes effect after a restart.", *step.notes),
    )


def for_caretaker(situation: Situation, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps of the kernel and the driver as seen from where they cannot be done: whose job they are, and no commands.

    What is done stays done, since the host's driver can be seen from everywhere.
    """
    who = situation.caretaker
    if not who:
        return tuple(steps)
    return tuple(step if step.state == "done" else _handed_over(step, who) for step in steps)


def _handed_over(step: Step, who: str) -> Step:
    return replace(
        step,
        actions=(),
        changes=(),
        undo=(),
        risk="manual",
        effective="now",
        handed_to=who,
        notes=(handed_over(who), *step.notes),
        state="waiting" if step.state == "todo" else step.state,
    )


def by_hand(
    step_id: str,
    title: str,
    found: Finding,
    check: str,
    effective: Effective = "now",
    notes: Sequence[str] = (),
    optional: bool = False,
) -> Step:
    """What a finding says, and its fix in words before the other notes, where no command is known to repair it."""
    text = (sentence(found.fix.text),) if found.fix is not None else ()
    return Step(
        step_id,
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        risk="manual",
        effective=effective,
        verify=Verify(check),
        notes=(*text, *notes),
        optional=optional,
    )


def effect_of(found: Finding) -> Effective:
    """When the fix of a finding takes effect."""
    return found.fix.effective if found.fix is not None else "now"
