"""What tells a script cheaply that an action is done already, and how a command is run where nobody answers.

A test is a line of shell over the functions of ``script.py``. An action that nothing can test runs again each time.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.setup.command_lines import quoted
from rocdoctor.repair.setup.plan import Action

Words = tuple[str, ...]

# Done twice they change nothing and prove nothing: they prepare what can be told, or follow from it.
_PREPARING = frozenset(("mkdir", "install", "chmod", "rpm", "subscription-manager", "SUSEConnect", "crb", "udevadm"))
_REBUILDING = frozenset(("ldconfig", "update-initramfs", "dracut", "depmod", "update-grub", "grub2-mkconfig"))
_CLEAN = frozenset(("clean", "makecache"))
_REFRESH = frozenset(("update", "refresh"))
# They ask a person, or end the machine's session.
_BY_HAND = frozenset(("mokutil", "newgrp", "passwd"))
_ENDS = frozenset(("reboot", "shutdown", "poweroff", "halt"))
_PACKAGE = regex(r"[a-z0-9][A-Za-z0-9.+_-]*\Z")
_OF_KERNEL = regex(
    r"(linux-headers|linux-modules-extra|kernel-devel-matched|kernel-uek-devel|kernel-devel|kernel-headers)-\d[\w.+~-]*\Z"
)
_PINNED = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!_-]+\Z")
_LABELLED = ("torch", "torchvision", "torchaudio")
_LABEL = regex(r"/((?:rocm|cu|xpu|cpu)[0-9.]*)/?\Z")
_CHANGING = frozenset(
    (
        "install",
        "remove",
        "purge",
        "autoremove",
        "upgrade",
        "full-upgrade",
        "dist-upgrade",
        "downgrade",
        "reinstall",
        "groupinstall",
        "swap",
        "distro-sync",
    )
)
_OF_APT_GET = frozenset(("install", "remove", "purge", "autoremove", "reinstall", "upgrade", "update", "clean"))
_REMOVING = ("remove", "purge", "autoremove")
_APT, _DNF = ("apt", "apt-get"), ("dnf", "yum")


def is_neutral(action: Action) -> bool:
    """Whether doing it again does no harm and says nothing of the step."""
    words = _bare(action.words)
    if not words:
        return not action.file
    head, two = words[0], " ".join(words[:2])
    if head in _PREPARING or is_rebuild(action) or two in ("systemctl restart", "systemctl daemon-reload"):
        return True
    if head in (*_APT, *_DNF, "zypper"):
        if words[1:3] in (("module", "enable"), ("module", "reset")):  # which packages a step then installs
            return True
        # A package by its address or its file registers a repository, from which the step then installs.
        return words[1:2] in [(one,) for one in (*_CLEAN, "config-manager")] or (
            "install" in words and words[-1].startswith(("https://", "/"))
        )
    return _pip(words)[1:2] == ("uninstall",) or words[1:3] == ("-m", "ensurepip")


def is_rebuild(action: Action) -> bool:
    """Whether it makes something anew from files, which an interrupted run may have left undone."""
    words = _bare(action.words)
    return bool(words) and words[0] in _REBUILDING


def is_refresh(action: Action) -> bool:
    """Whether it reads the lists of packages anew, which any later installation may rest on."""
    words = [word for word in _bare(action.words) if not word.startswith("-")]
    return len(words) > 1 and words[0] in (*_APT, "zypper") and words[1] in _REFRESH and len(words) == 2


def replaced(action: Action, later: Sequence[Action]) -> bool:
    """Whether it takes packages away that a later action installs: what tells of those tells of this one too.

    It comes before the file of their new repository, so that the old package is gone where that file is there.
    """
    gone = _named(action, _REMOVING)
    return bool(gone) and gone <= {name for one in later for name in _named(one, ("install",))}


def _named(action: Action, verbs: Sequence[str]) -> frozenset[str]:
    """The packages behind one of these verbs of a package manager."""
    words = _bare(action.words)
    plain = [word for word in words[1:] if not word.startswith("-")]
    if words[:1] == () or words[0] not in (*_APT, *_DNF, "zypper") or plain[:1] == [] or plain[0] not in verbs:
        return frozenset()
    return frozenset(plain[1:])


def is_by_hand(action: Action) -> bool:
    """Whether it asks a person something."""
    words = _bare(action.words)
    return bool(words) and words[0] in _BY_HAND


def ends_session(action: Action) -> bool:
    """Whether it restarts the machine, which a script leaves to the person."""
    words = _bare(action.words)
    return bool(words) and (words[0] in _ENDS or words[:2] == ("systemctl", "reboot"))


def joined_groups(action: Action) -> tuple[str, Words] | None:
    """(user, groups) of a command that adds a user to groups; None for any other."""
    words = _bare(action.words)
    plain = [word for word in words[1:] if not word.startswith("-")]
    adds = {"-aG", "-a", "--append"} & set(words) and {"-aG", "-G", "--groups"} & set(words)
    if words[:1] != ("usermod",) or len(plain) != 2 or not adds:
        return None
    return plain[1], tuple(plain[0].split(","))


def done_test(action: Action) -> str:
    """A line of shell that succeeds when the action is done already; "" where nothing cheap tells."""
    if action.file:
        function = "has_lines" if action.append else "file_is"
        return " ".join([function, quoted(action.file), *(quoted(line) for line in action.lines)])
    words = _bare(action.words)
    if not words:
        return ""
    plain = [word for word in words[1:] if not word.startswith("-")]
    head = words[0]
    if head in (*_APT, *_DNF, "zypper", "pacman"):
        return _packages(head, words)
    joins = joined_groups(action)
    if joins is not None:
        return " ".join(["may_enter", quoted(joins[0]), *(quoted(group) for group in joins[1])])
    if _pip(words)[1:2] == ("install",):
        return _wheels(words)
    if words[1:3] == ("-m", "venv") and len(words) == 4:
        # One that was interrupted, or made before the package of venv was there, has an interpreter and no pip.
        return f"{quoted(words[3] + '/bin/python')} -m pip --version >/dev/null 2>&1"
    if head in ("uv", "conda") and words[1:2] in (("venv",), ("create",)):
        into = words[words.index("-p") + 1] if "-p" in words else words[-1]
        return f"{quoted(into + '/bin/python')} -m pip --version >/dev/null 2>&1"
    if head == "sed" and words[1:2] == ("-i",) and len(words) >= 4:
        return " ".join(["sed_is_done", *(quoted(word) for word in words[2:])])
    if head == "modprobe" and len(plain) == 1:
        return f"test -d {quoted('/sys/module/' + plain[0].replace('-', '_'))}"
    if head == "sysctl" and len(plain) == 1 and "=" in plain[0]:
        name, _, value = plain[0].partition("=")
        return f'test "$(sysctl -n {quoted(name)} 2>/dev/null)" = {quoted(value)}'
    if head == "systemctl" and plain[:1] == ["enable"] and len(plain) == 2:
        running = f" && systemctl is-active --quiet {quoted(plain[1])}" if "--now" in words else ""
        return f"systemctl is-enabled --quiet {quoted(plain[1])} 2>/dev/null{running}"
    if head == "rm" and plain:
        return " && ".join(f"test ! -e {quoted(one)}" for one in plain)
    if head in ("curl", "gpg") and "-o" in words[:-1]:
        return f"test -s {quoted(words[words.index('-o') + 1])}"
    return ""


def _packages(head: str, words: Words) -> str:
    """Of package managers only the plain installation of packages by name can be told."""
    if head == "pacman":
        names = [word for word in words[1:] if not word.startswith("-")]
        wanted = any(word.startswith("-S") for word in words[1:])
    else:
        rest = [word for word in words[1:] if not word.startswith("-")]
        wanted, names = rest[:1] == ["install"], rest[1:]
        if any(word.startswith("--target-release") for word in words):
            return ""  # of another release than the one that may be there
    if not wanted or not names or not all(_PACKAGE.match(name) for name in names):
        return ""
    function = {"pacman": "has_pacman"}.get(head, "has_deb" if head in _APT else "has_rpm")
    return " ".join([function, *(of_kernel(name) or quoted(name) for name in names)])


def _pip(words: Words) -> Words:
    """``PYTHON -m pip ...`` without what stands between the interpreter and pip: (interpreter, verb, ...)."""
    return (words[0], *words[3:]) if words[1:3] == ("-m", "pip") else ()


def _wheels(words: Words) -> str:
    """Packages with their versions; builds of torch have the name of their index behind the version."""
    python, _, *rest = _pip(words)
    label = ""
    named: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--index-url" and rest:
            found = _LABEL.search(rest.pop(0))
            label = f"+{found[1]}" if found else ""
        elif _PINNED.match(word):
            named.append(word)
        elif word != "--no-deps":
            return ""
    if not named:
        return ""
    return " ".join(["has_wheels", quoted(python), *(quoted(_installed(one, label)) for one in named)])


def _installed(pinned: str, label: str) -> str:
    """``name==version`` as it is installed; builds of torch carry the label, what comes with them may."""
    name, _, version = pinned.partition("==")
    if not label or "+" in version:
        return pinned
    return f"{pinned}{label}" if name in _LABELLED else f"{pinned}|{version}{label}"


def of_kernel(word: str) -> str:
    """A package of one kernel, named by the kernel that runs when the script does; "" for any other word."""
    found = _OF_KERNEL.match(word)
    return f'{found[1]}-"$(uname -r)"' if found is not None else ""


def overwritten(action: Action) -> str:
    """The file that an action writes over or edits in place; "" where it only adds to one, or makes another."""
    if action.file:
        return "" if action.append else action.file
    words = _bare(action.words)
    return words[-1] if words[:2] == ("sed", "-i") and len(words) >= 4 else ""


def unattended(words: Sequence[str]) -> Words:
    """The command with the option by which its program asks nothing."""
    front, bare = _split(tuple(words))
    if not bare:
        return tuple(words)
    head, rest = bare[0], bare[1:]
    changes = any(word in _CHANGING for word in rest)
    if head == "apt" and not _OF_APT_GET.isdisjoint(rest):
        head = "apt-get"  # apt warns of itself in scripts
    if head in _APT and changes:
        yes: Words = () if {"-y", "--yes"} & set(rest) else ("-y",)
        return (*front, "env", "DEBIAN_FRONTEND=noninteractive", head, *yes, *rest)
    asks = changes or "update" in rest or rest[:1] == ("module",)
    if head in _DNF and asks and not {"-y", "--assumeyes"} & set(rest):
        return (*front, head, "-y", *rest)
    if head == "zypper" and not {"-n", "--non-interactive"} & set(rest):
        return (*front, head, "--non-interactive", *rest)
    if head == "pacman" and "--noconfirm" not in rest:
        return (*front, head, "--noconfirm", *rest)
    return (*front, head, *rest)


def _bare(words: Words) -> Words:
    """A command without ``env NAME=VALUE`` before it."""
    return _split(words)[1]


def _split(words: Words) -> tuple[Words, Words]:
    if words[:1] != ("env",):
        return (), words
    at = next((place for place, word in enumerate(words[1:], 1) if "=" not in word), len(words))
    return words[:at], words[at:]
