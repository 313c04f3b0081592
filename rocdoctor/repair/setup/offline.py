"""What a plan fetches, for a machine without network: every address, what to fetch where there is one, what to type.

Derived from the actions of the plan, so that both always speak of the same packages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.knowledge.software.package_managers import package_managers
from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step

# Absolute, since apt takes a relative folder for one of its own cache; the shell knows whose home it is.
FOLDER = "$HOME/rocdoctor-offline"
_ADDRESS = regex(r"https?://[^\s\"'\]]{3,400}")
_REPOSITORIES = ("/etc/apt/sources.list.d/", "/etc/yum.repos.d/", "/etc/zypp/repos.d/")
# Programs that choose by the machine they run on, or that a cluster fetches with: nothing replaces them here.
_BY_HAND = ("ubuntu-drivers", "helm", "kubectl", "pipx", "git")


@dataclass(frozen=True, slots=True)
class Fetch:
    """What one step needs from the network.

    ``addresses``: files and repositories. ``names``: packages (of the repositories, or of the distribution's own
    archive where there is none). ``there`` are commands for a machine with network, ``here`` for this one afterwards;
    ``by_hand`` what has no such form. ``sources`` stand in ``install_offline``.
    """

    step: Step
    addresses: tuple[str, ...]
    names: tuple[str, ...]
    there: tuple[Action, ...]
    here: tuple[Action, ...]
    by_hand: tuple[str, ...]
    sources: tuple[str, ...]


def fetches(plan: SetupPlan) -> tuple[Fetch, ...]:
    """One entry for each step that is still to be done and needs the network, in the order of the plan."""
    open_steps = (step for step in plan.steps if step.state in ("todo", "waiting") and step.actions)
    return tuple(found for step in open_steps if (found := _fetch(step)) is not None)


def _fetch(step: Step) -> Fetch | None:
    there: list[Action] = []
    here: list[Action] = []
    names: list[str] = []
    by_hand: list[str] = []
    sources: list[str] = []
    folder = f"{FOLDER}/{step.id}"
    for action in step.actions:
        told = _package(action, folder) or _wheels(action, folder)
        if told is not None and any(one.startswith("http") for one in told[2]):
            there.append(action)  # it brings a repository
        elif told is not None:
            fetch, install, packages, cited = told
            there.append(fetch)
            here.append(install)
            names += packages
            sources += cited
        elif _nothing_replaces(action):
            by_hand.append(action.command)
        elif action.file.startswith(_REPOSITORIES) or _only_there(action):
            there.append(action)
        else:
            here.append(action)
    addresses = tuple(dict.fromkeys(_addresses(step)))
    if not names and not by_hand and not addresses:
        return None
    if any("/packages" in word for action in there for word in action.words):
        there.insert(0, Action(words=("mkdir", "-p", f"{folder}/packages/partial")))  # apt makes none of its own
    listed, alone, cited = (tuple(dict.fromkeys(found)) for found in (names, by_hand, sources))
    # The lists are read anew after each repository; all packages of a step are installed at once.
    return Fetch(step, addresses, listed, tuple(there), tuple(dict.fromkeys(here)), alone, cited)


def _nothing_replaces(action: Action) -> bool:
    """What chooses by the machine it runs on, or fetches in a way of its own."""
    program = action.words[0] if action.words else ""
    installs = program in package_managers() and any(word in ("install", "-S", "-Syu") for word in action.words)
    return program in _BY_HAND or installs


def _only_there(action: Action) -> bool:
    """What prepares fetching: keys, repositories, lists of packages."""
    program, *more = action.words or ("",)
    if program in ("crb", "subscription-manager"):
        return True
    listing = ("update", "refresh", "clean", "makecache", "enable")
    refresh = program in package_managers() and any(word in listing for word in more)
    key = program in ("curl", "wget", "gpg") or action.words[:2] == ("install", "-d")
    return refresh or key


def _package(action: Action, folder: str) -> tuple[Action, Action, list[str], tuple[str, ...]] | None:
    """The packages of an installation, fetched and then taken from the folder; None for other commands."""
    rows = load_table("install_offline")["managers"]
    program = action.words[0] if action.words else ""
    if program not in rows or "install" not in action.words or "module" in action.words:
        return None
    packages = [word for word in action.words[action.words.index("install") + 1 :] if not word.startswith("-")]
    fetch = _filled(rows[program]["fetch"], folder, packages)
    install = _filled(rows[program]["install"], folder, [])
    return Action(words=fetch, root=True), Action(words=install, root=True), packages, words(rows[program]["s"])


def _wheels(action: Action, folder: str) -> tuple[Action, Action, list[str], tuple[str, ...]] | None:
    """The same for pip, whose index stays behind."""
    if action.words[1:4] != ("-m", "pip", "install"):
        return None
    raw = load_table("install_offline")["pip"]
    given = list(action.words[4:])
    packages = given[:]
    for option in ("--index-url", "--extra-index-url"):
        while option in packages:
            at = packages.index(option)
            del packages[at : at + 2]
    fetch = _filled(raw["fetch"], folder, given)
    install = (*action.words[:4], *_filled(raw["install"], folder, []), *packages)
    names = [one for one in packages if not one.startswith("-")]
    return Action(words=fetch), Action(words=install), names, words(raw["s"])


def _filled(template: str, folder: str, packages: list[str]) -> tuple[str, ...]:
    found: list[str] = []
    for word in template.split():
        found += packages if word == "{packages}" else [word.replace("{folder}", folder)]
    return tuple(found)


def _addresses(step: Step) -> Iterator[str]:
    """Every address in the commands and files of a step, as it stands there."""
    for action in step.actions:
        for text in (*action.words, *action.lines):
            yield from (one.rstrip("/,;") for one in _ADDRESS.findall(text))
