"""Actions of a plan as tasks of Ansible: the module of ansible-core that knows whether it is done, else the command.

Modules and options are those that ``ansible-doc`` of ansible-core 2.19 lists (``ansible.builtin``, 2026-11-24). zypper
and pacman have their modules in a collection that ansible-core does not bring, and ansible.builtin.pip needs Python's
packaging for the interpreter of the system: these three run as commands.

A word of the evidence is text: what Jinja would fill in is tagged ``!unsafe``, and the module ``command`` expands no
variable where a word has a sign of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.setup.command_lines import pieces
from rocdoctor.repair.setup.plan import Action
from rocdoctor.repair.setup.script_guards import joined_groups, unattended

Task = dict[str, Any]
Text = str

# The play sets them: whoever Ansible logs in as, that user's home folder, and the interpreter that is named with -e.
VARIABLES = {"USER": "train_user", "HOME": "train_home", "PYTHON": "train_python"}
_PACKAGE = regex(r"[a-z0-9][A-Za-z0-9.+_-]*\Z")
_JINJA = regex(r"\{[{%#]")
_EXPANDED = regex(r"\$|\A~")  # what the module command would expand
_MODE = "0644"  # files of the system that everybody may read


class Unsafe(str):
    """Text that Ansible must not fill in, although it looks like a template (``!unsafe``)."""

    __slots__ = ()


def text(word: str) -> Text:
    """A word as Ansible reads it back: literal but for what only the user's session knows."""
    return _text(pieces(word))


def _text(parts: Sequence[tuple[str, str]]) -> Text:
    if not any(name for _, name in parts):
        word = "".join(part for part, _ in parts)
        return Unsafe(word) if _JINJA.search(word) else word
    return "".join(f"{{{{ {VARIABLES[name]} }}}}" if name else _escaped(part) for part, name in parts)


def _escaped(part: str) -> str:
    """Literal text beside a variable: each curly bracket by an expression that gives it."""
    return "".join("{{ '" + sign + "' }}" if sign in "{}" else sign for sign in part)


def tasks(action: Action) -> list[Task]:
    """The tasks of an action, without their names: the module with its options, and what Ansible is told of it."""
    if action.file:
        return [_rooted(one, action) for one in _file(action)]
    return [_rooted(_command(action), action)]


def _rooted(task: Task, action: Action) -> Task:
    return {**task, "become": True} if action.root else task


def _file(action: Action) -> list[Task]:
    path = text(action.file)
    if not action.append:
        content = _text([part for line in action.lines for part in (*pieces(line), ("\n", ""))])
        return [{"ansible.builtin.copy": {"dest": path, "content": content, "mode": _MODE, "backup": True}}]
    # Without a regular expression the module looks for the whole line, blanks at its ends and all.
    return [
        {"ansible.builtin.lineinfile": {"path": path, "line": text(line), "create": True, "mode": _MODE}}
        for line in action.lines
    ]


def _command(action: Action) -> Task:
    words = action.words
    known = _known(action)
    if known is not None:
        return known
    return command_task(unattended(words))


def _known(action: Action) -> Task | None:
    """The task of a module that can tell whether the command has something to do; None for any other command."""
    words = action.words
    plain = [word for word in words[1:] if not word.startswith("-")]
    options = [word for word in words[1:] if word.startswith("-")]
    joins = joined_groups(action)
    if joins is not None:
        return {"ansible.builtin.user": {"name": text(joins[0]), "groups": [*map(text, joins[1])], "append": True}}
    match words[0], plain, options:
        case "apt" | "apt-get", ["update"], []:
            return {"ansible.builtin.apt": {"update_cache": True}, "changed_when": False}
        case "apt" | "apt-get", ["install", *names], [] if _names(names):
            return {"ansible.builtin.apt": {"name": names, "state": "present"}}
        case "apt" | "apt-get", ["remove" | "purge" | "autoremove" as verb, *names], [] if _names(names):
            more = {"remove": {}, "purge": {"purge": True}, "autoremove": {"autoremove": True}}[verb]
            return {"ansible.builtin.apt": {"name": names, "state": "absent", **more}}
        case "apt" | "apt-get", ["clean"], []:
            return {"ansible.builtin.apt": {"clean": True}, "changed_when": False}
        case "dnf", ["install", *names], [] if _names(names):
            return {"ansible.builtin.dnf": {"name": names, "state": "present"}}
        case "dnf", ["install", address], [] if address.startswith("https://"):
            # A package that is named by its address stands in no repository whose key dnf knows: as dnf itself does,
            # it is taken for the connection over which it came.
            told = {"name": text(address), "state": "present", "disable_gpg_check": True}
            return {"ansible.builtin.dnf": told}
        case "dnf", ["remove", *names], [] if _names(names):
            return {"ansible.builtin.dnf": {"name": names, "state": "absent"}}
        case "install", [mode, folder], ["-d", "-m"]:
            return {"ansible.builtin.file": {"path": text(folder), "state": "directory", "mode": mode}}
        case "mkdir", [folder], ["-p"]:
            return {"ansible.builtin.file": {"path": text(folder), "state": "directory"}}
        case "rm", [path], [] | ["-f"] | ["-r"] | ["-rf"]:
            return {"ansible.builtin.file": {"path": text(path), "state": "absent"}}
        case "curl", [path, address], ["-fsSL", "-o"] if address.startswith("https://"):
            return {"ansible.builtin.get_url": {"url": text(address), "dest": text(path), "mode": _MODE}}
        case "systemctl", ["enable", unit], ["--now"]:
            return {"ansible.builtin.systemd_service": {"name": text(unit), "enabled": True, "state": "started"}}
        case "systemctl", ["enable", unit], []:
            return {"ansible.builtin.systemd_service": {"name": text(unit), "enabled": True}}
    return None


def _names(words: Sequence[str]) -> bool:
    return bool(words) and all(_PACKAGE.match(word) for word in words)


# What says that a command changed nothing, by the words that it begins with or has behind the interpreter.
_RESULT = "result"
_CHANGED: dict[tuple[str, ...], str] = {
    ("pip", "install"): f"'Successfully installed' in ({_RESULT}.stdout | default(''))",
    ("pip", "uninstall"): f"'Successfully uninstalled' in ({_RESULT}.stdout | default(''))",
}
# They read something anew, or make again what they made.
_NEUTRAL = (("dnf", "clean"), ("zypper", "refresh"), ("zypper", "--non-interactive", "refresh"), ("gpg", "--dearmor"))


def command_task(words: Sequence[str]) -> Task:
    """The command as a list of words: no shell reads it."""
    words = tuple(words)
    front, bare = _variables(words)
    told: Task = {"argv": [text(word) for word in bare]}
    if any(_EXPANDED.search(part) for word in bare for part, name in pieces(word) if not name):
        told["expand_argument_vars"] = False
    task: Task = {"ansible.builtin.command": told}
    if front:
        task["environment"] = {name: text(value) for name, value in front.items()}
    if bare[1:3] == ("-m", "venv") and len(bare) == 4:
        # One that was interrupted has an interpreter and no pip.
        told["creates"] = text(f"{bare[3]}/bin/pip")
    changed = _CHANGED.get(bare[2:4]) if bare[1:2] == ("-m",) else None
    if changed is not None:
        task |= {"register": _RESULT, "changed_when": changed}
    elif any(bare[: len(one)] == one for one in _NEUTRAL):
        task["changed_when"] = False
    return task


def _variables(words: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables that ``env`` sets before a command, and the command."""
    if words[:1] != ("env",):
        return {}, words
    at = next((place for place, word in enumerate(words[1:], 1) if "=" not in word), len(words))
    return dict(word.split("=", 1) for word in words[1:at]), words[at:]
