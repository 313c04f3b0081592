"""What a plan fetches, for a machine without network, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocdoctor.knowledge.load import source
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.setup.command_lines import commands, quoted
from rocdoctor.repair.setup.offline import FOLDER, Fetch, fetches
from rocdoctor.repair.setup.plan import Action, SetupPlan
from rocdoctor.repair.setup.words import GOAL_WORDS, cost_words, number
from rocdoctor.report.document import GAP, Block, Code, CommandLines, Heading, Para, Row, Title, Tokens

_ALL_OF_THEM = ("/*.deb", "/*.rpm")
_TWIN = (
    "Fetch on a machine with network that has the same distribution, release, processor and Python: what it has "
    "installed already is not fetched, so a fresh installation (or a container of that release) is best."
)
_SIZES = "A size that is missing here is not known; the package manager shows it before it downloads."
_RESTART = "Restarts, groups and settings are those of the plan, in its order: rocdoctor setup."


def offline_document(plan: SetupPlan, *, sudo: bool = True, verbose: bool = False) -> Iterator[Block]:
    """Every address and package of the steps that are left, the commands for both machines, and what has no form."""
    yield Title(f"Setup without network for {GOAL_WORDS[plan.goal]}")
    found = fetches(plan)
    if not found:
        yield Para("Nothing that is left to do is fetched from the network.", bold=True)
        return
    addresses = list(dict.fromkeys(one for fetch in found for one in fetch.addresses))
    count = len(addresses)
    head = f"{len(found)} step{'s' if len(found) > 1 else ''} of the plan fetch from the network"
    yield Para(
        f"{head}: {count} address{'' if count == 1 else 'es'} besides the distribution's own archive.", bold=True
    )
    for words in (_TWIN, f"Then carry {FOLDER} to the home of this machine.", _SIZES, _RESTART):
        yield Para(words, "  ")
    for fetch in found:
        yield GAP
        yield from _blocks(plan, fetch, sudo, verbose)


def _blocks(plan: SetupPlan, fetch: Fetch, sudo: bool, verbose: bool) -> Iterator[Block]:
    step = fetch.step
    optional = " (not needed for the goal)" if step.optional else ""
    yield Heading(f"Step {number(plan, step)}, {one_line(step.title)}{optional}")
    size = "; ".join(cost_words([step])) if step.download_gb or step.disk_gb else "unknown"
    for one in fetch.addresses:
        yield Row("address", (Code(clean(one)),), "  ")
    if not fetch.addresses:
        yield Row("address", "the repositories that the machine has, and those of the steps before", "  ")
    yield Row("size", size, "  ")
    if fetch.names:
        yield Row("packages", ", ".join(one_line(name) for name in fetch.names), "  ")
    yield CommandLines(_tokens(fetch.there, sudo), "there", "  ", 9)
    yield CommandLines(_tokens(fetch.here, sudo), "here", "  ", 9)
    for command in fetch.by_hand:
        yield Row(
            "by hand", (Code(clean(command)), " fetches by itself and has no form for a machine without network."), "  "
        )
    if verbose:
        told = (source("install_offline", name) for name in fetch.sources)
        yield from (Row("source", f"{one_line(one.what)} ({one.kind})", "  ") for one in told if one is not None)


def _tokens(actions: Iterable[Action], sudo: bool) -> tuple[Tokens, ...]:
    """The commands; all files of a folder are left to the shell, which a quoted word would not be."""
    found: list[Tokens] = []
    for action in actions:
        if action.words and action.words[-1].endswith(_ALL_OF_THEM):
            folder, _, pattern = action.words[-1].rpartition("/")
            front: Tokens = ("sudo",) if sudo and action.root else ()
            found.append((*front, *(quoted(word) for word in action.words[:-1]), f"{quoted(folder)}/{pattern}"))
        else:
            found += commands(action, sudo)
    return tuple(found)
