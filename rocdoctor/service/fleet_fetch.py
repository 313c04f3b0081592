"""Asking many nodes for their records through an engine of the site, with an end to all waiting."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rocdoctor.fleet import flux
from rocdoctor.fleet.fetching import Asking, FetchName, FetchPlan, fetch_plan
from rocdoctor.fleet.node_side import TOO_LARGE, failed, missing_reason
from rocdoctor.fleet.record import MOST_BYTES
from rocdoctor.fleet.store import Batch
from rocdoctor.host.live.folder_names import files_below
from rocdoctor.host.live.program_lines import program_lines
from rocdoctor.host.live.programs import child_environment, find_program, refusal, root_home, weak_code
from rocdoctor.host.live.settings_code import named_code
from rocdoctor.host.live.trust import private_folder, privileged, weak
from rocdoctor.host.live.trusted_content import doubtful_below, entries
from rocdoctor.model.printable import one_line
from rocdoctor.service.errors import UsageError
from rocdoctor.service.fleet_apply import answered

_TAG_BYTES = 300
_MOST_SAID = 4
# What engines need from whoever starts them: keys, tickets, and files of settings, which can name code.
_HANDED = ("SSH_AUTH_SOCK", "KRB5CCNAME")
_SETTINGS = ("SLURM_CONF", "ANSIBLE_CONFIG")


def fetched(engine: FetchName, asking: Asking, say: Callable[[str], None]) -> Batch:
    """What the nodes say of themselves: a record, or why there is none. Raises UsageError where nobody can be asked."""
    if engine == "flux":
        asking = replace(asking, ranks=_ranks())
    folder = private_folder("rocdoctor-fleet-")
    try:
        plan = fetch_plan(engine, replace(asking, inventory=_inventory(asking.inventory)), folder)
        os.mkdir(f"{folder}/records", 0o700)
        for name, text in plan.files:
            place = Path(folder, name)
            place.parent.mkdir(mode=0o700, exist_ok=True)
            place.write_text(text)
        say(shlex.join(plan.argv))
        return _brought(plan, asking, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ranks() -> dict[str, int]:
    """The rank of each host of the Flux instance. Raises UsageError where nobody tells."""
    hosts, size = (answered(list(argv)) for argv in (flux.ASK_HOSTS, flux.ASK_SIZE))
    try:
        return flux.ranks_of(hosts, size)
    except ValueError as error:
        raise UsageError(f"flux getattr: {error}") from None


def _brought(plan: FetchPlan, asking: Asking, folder: str) -> Batch:
    program = find_program(plan.argv[0])
    if program is None:
        raise UsageError(refusal(plan.argv[0]) or f"{plan.argv[0]} is not installed here")
    batch, said, status = Batch(), _Said(), ""
    parts: dict[str, _Parts] = {}
    try:
        argv = [program, *plan.argv[1:]]
        most = MOST_BYTES + _TAG_BYTES
        for line in program_lines(argv, _environment(plan), asking.whole_s(), most, plan.memory_bytes):
            text = line.text.decode("utf-8", errors="replace")
            if line.where == "end":
                status = text
            elif line.where == "err" or plan.in_folder:
                said.hear(plan, text.rstrip("\n"))
            elif (told := plan.record_part(text)) is None:
                batch.unnamed += bool(text.strip())
            elif line.cut:
                batch.problem(told[0], TOO_LARGE)
            elif not told[1].strip() and not plan.in_parts:
                continue  # the end that was added to what a node sent
            elif plan.in_parts:
                parts.setdefault(told[0], _Parts()).add(told[1])
            else:
                batch.add(*told)
    except OSError as error:
        raise UsageError(f"cannot start {plan.argv[0]}: {error.strerror or error}") from None
    for node, each in parts.items():
        batch.add(node, "".join(each.texts))
    if plan.in_folder:
        batch.read(Path(folder, "records"))
    asked = batch.records or batch.problems or said.by_node
    if not asked and (status not in ("", "0") or plan.in_folder):  # Ansible gives 0 where no host is one of those named
        raise UsageError(f"{plan.argv[0]} asked no node: {said.last or f'exit status {status}'}")
    for node in asking.nodes:
        if node not in batch.records:
            words = said.by_node.get(node, ())
            why = missing_reason(words, asking.program, asking.limit_s, plan.by_hand, not status)
            if failed(words):  # what it sent until then is no record either, but that is not why
                batch.problems[node] = why
            batch.problem(node, why)
    return batch


class _Parts:
    """The parts of a record, one more sign than it may have at most."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.left = MOST_BYTES + 1

    def add(self, text: str) -> None:
        """The next part."""
        if self.left > 0:
            self.texts.append(text[: self.left])
            self.left -= max(1, len(text))  # an empty one takes its place too


class _Said:
    """What engines complain of, the last lines for each node: how it ended is what is said last."""

    def __init__(self) -> None:
        self.by_node: dict[str, list[str]] = {}
        self.last = ""

    def hear(self, plan: FetchPlan, line: str) -> None:
        """A line beside the records."""
        if line.strip():
            self.last = one_line(line)[:200]
        nodes, why = plan.complaint(line)
        for node in nodes:
            lines = self.by_node.setdefault(node, [])
            lines.append(one_line(why)[:200])
            del lines[:-_MOST_SAID]


def _environment(plan: FetchPlan) -> Mapping[str, str]:
    found = {**child_environment(), "LC_ALL": "C"}
    if privileged():
        found["HOME"] = root_home()  # keys and settings of root itself
    for name in (*_HANDED, *_SETTINGS):
        value = os.environ.get(name, "")
        if name in _SETTINGS and value:
            value = os.path.abspath(value)  # engines start elsewhere
            if why := weak(value) or named_code(value, weak_code):
                raise UsageError(f"${name}: {why}, and root runs no code of others")
        if value:
            found[name] = value
    return {**found, **dict(plan.environment)}


def _inventory(given: str | None) -> str | None:
    """The inventory as the engine finds it: an absolute path, or a list of hosts. Raises UsageError.

    An inventory may be a program, and it, group_vars and host_vars may name programs and sockets to connect with.
    """
    if given is None:
        return given
    path = os.path.abspath(given)
    if not os.path.lexists(path):
        if "," in given:
            return given
        raise UsageError(f"--inventory {given}: no such file")
    beside = path if os.path.isdir(path) else os.path.dirname(path)
    try:
        why = _not_roots(path, beside) if privileged() else ""
    except OSError as error:
        why = f"{error.filename or path}: {error.strerror or error}"
    if why:
        raise UsageError(f"--inventory {given}: {why}, and root runs no code of others")
    return path


def _not_roots(path: str, beside: str) -> str:
    """Why others can change an inventory, what lies beside it, or the code that these name; raises OSError."""
    folders = [one for one in (path, f"{beside}/group_vars", f"{beside}/host_vars") if os.path.isdir(one)]
    places = [path, *folders, *(place for one in folders for place in doubtful_below(one, set()))]
    files = [path, *(one.path for one in entries(path))]
    programs = [one for one in files if os.path.isfile(one) and os.access(one, os.X_OK)]
    texts = [one for one in files if one not in programs]
    for one in ("group_vars", "host_vars"):
        texts += files_below(f"{beside}/{one}")
    named = (named_code(one, weak_code) for one in texts)
    return next(filter(None, chain(map(weak, places), map(refusal, programs), named)), "")
