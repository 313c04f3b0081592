"""What a script may read and start next, by its words: files by their paths, programs by their names.

A script is not understood: each word that may be a path and leads to something is a place, each name where a command
may stand is a program. That is more than a run reads, which is the safe side.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from rocdoctor.host.live.folder_names import TooManyNamesError, matching, names_in
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.model.lazy_re import regex

_FIRST_LINE = 256  # as the kernel reads it (BINPRM_BUF_SIZE of include/uapi/linux/binfmts.h)
MOST_BYTES = 2 << 20  # the longest script of a vendor has a tenth of it
_VALUE = regex(r"\w+=")
# Behind a quote it may be part of a text.
_COMMENT = regex(r"^((?:[^\"'#\n]*\s)?)#[^\n]*", re.MULTILINE)
_PATH = regex(r"(?<![\w.+@-])[\w.+@-]*(?:/[\w.+@-]+)+")
# Where a command may begin, and a name that ends where one ends.
_END = r"(?=$|[\s\"'`;&|)])"
_NAME = regex(
    r"(?:\b(?:then|do|else|elif|if|while|until|exec|eval|env|sudo|command|nohup|xargs|which|type|time|nice)[ \t]"
    r"|^[ \t]*[^\s()]{1,80}\)|^|[;&|(`{!=\[,\"'])[ \t]*(?=([\w.+-]+)" + _END + ")",
    re.MULTILINE,
)
# The same behind a variable that is set for it (LC_ALL=C x), and as what another program is told to start.
_NAME_BEHIND = regex(
    r"(?:(?<![\w.-])\w{1,80}=(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"';&|()]{0,200})"
    r"|\b(?:env|sudo|exec|nice|xargs|timeout|setsid|ionice|stdbuf|taskset|numactl|chrt|flock|chroot|unshare|nsenter)"
    r"(?:[ \t]{1,8}(?:[-+]\S{0,200}|\d\S{0,200}|/\S{0,200}|[A-Za-z_]\w{0,80}=\S{0,200})){0,8})"
    r"[ \t]{1,8}(?=([\w.+-]+)" + _END + ")"
)
_LIST = regex(r"\bfor[ \t]+\w+[ \t]+in[ \t]+([^;\s][^;\n]*)")
# Read by a shell as its own code, whether it may be run or not; a name without a folder is looked up as programs are.
_SOURCED = regex(
    r"(?:^|[;&|({]|\b(?:then|do|else)\b)[ \t]*(?:\.|source)[ \t]+[\"']?(?:([\w.+-]+)|(/[\w.+@/-]+))" + _END,
    re.MULTILINE,
)
_MANY = regex(r"(?:\bin|(?:\.|source))[ \t]+[\"']?(/[\w.+@/-]+)[\"']?(/[\w.+@-]*\*[\w.+@*-]*)")
_SET = regex(r"(?<![\w$])(\w+)=[\"']?(/[\w.+@/-]+)[\"']?(?=$|[\s;&|)])", re.MULTILINE)
_OTHERWISE = regex(r"\$\{\w+:?[-=](/[\w.+@/-]+)\}")
_VARIABLE = regex(r"\$(?:\{(\w+)\}|(\w+))(?=/)")
# What lies there is no code of a program, or the kernel's; but everybody may put files into some of these.
_NO_CODE = regex(r"/(?:proc|sys|dev(?!/shm/)|run(?!/user/)|var/(?:log|run|cache|spool|mail))(?:/|\Z)")
_MOST_MATCHES, _MOST_NESTED = 500, 3
_MOST_FILLED = 2 * MOST_BYTES


def first_line(path: str) -> list[str] | None:
    """The words of the first line of a script; None for other files."""
    try:
        with open_regular(Path(path)) as stream:
            line = stream.read(_FIRST_LINE).partition(b"\n")[0]
    except OSError:
        return None
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else None


def reader(words: list[str], folders: Collection[str]) -> tuple[str, list[str]]:
    """(the program that reads a script with this first line, what else the line names by a path); "" for none.

    ``folders``: where ``env`` looks names up, unless the line names others, which are among the places then.
    """
    if not words:
        return "", []
    if os.path.basename(words[0]) != "env" or len(words) == 1:
        return os.path.join("/", words[0]), [one for one in words[1:] if os.path.isabs(one)]
    given = [one.removeprefix("-S") for one in words[1:]]
    values = dict(one.split("=", 1) for one in given if _VALUE.match(one))
    parts = [words[0], *given, *(one for value in values.values() for one in value.split(os.pathsep))]
    places = [os.path.join("/", one) for one in parts if os.sep in one and not _VALUE.match(one)]
    folders = [os.path.join("/", one) for one in values["PATH"].split(os.pathsep)] if "PATH" in values else folders
    name = next((one for one in given if one and not one.startswith("-") and not _VALUE.match(one)), "")
    if os.sep in name:
        return os.path.join("/", name), places
    return next((one for folder in folders if name and is_program(one := os.path.join(folder, name))), ""), places


def text_of(path: str) -> str | None:
    """The text of a script without its comments; None where it is too long to be looked through."""
    with open_regular(Path(path)) as stream:
        data = stream.read(min(os.fstat(stream.fileno()).st_size, MOST_BYTES) + 1)  # all of it is set aside first
    return None if len(data) > MOST_BYTES else _COMMENT.sub(r"\1", data.decode("utf-8", errors="replace"))


def named_places(path: str, text: str) -> Iterator[str]:
    """What the words of a script lead to: as they stand, and from the folders where it lies.

    ``$HERE/../lib/x`` has its variable cut off, so the rest is also looked for from there.
    """
    folders = [os.path.dirname(one) for one in dict.fromkeys((path, os.path.realpath(path)))]
    folders += [os.path.dirname(one) for one in folders]
    filled = _filled(text)
    if filled is None:
        raise OSError(errno.EFBIG, "too long a script to be looked through", path)
    words = _PATH.findall(filled)
    for folder, names in _MANY.findall(filled):
        words += matching(names, folder)[:_MOST_MATCHES]
    words += [word[word.index("/") :] for word in words]  # $HERE/x
    for word in dict.fromkeys(words):
        for place in (
            *([word] if word[0] == "/" else []),
            *(f"{folder}/{word}" for folder in folders if folder != "/"),
        ):
            if not _NO_CODE.match(place) and os.path.exists(place):
                yield place
    yield from dict.fromkeys(path for _, path in _SOURCED.findall(filled) if path)


def _filled(text: str) -> str | None:
    """The text with folders in the place of the variables that it sets to them; one without such a value stays.

    None where it grows past all measure: a long value that is used often, or one that holds others.
    """
    text = _OTHERWISE.sub(lambda found: found[1], text)
    for _ in range(_MOST_NESTED):
        values = dict(_SET.findall(text))
        used = [(found, values[name]) for found in _VARIABLE.finditer(text) if (name := found[1] or found[2]) in values]
        if len(text) + sum(len(value) - len(found[0]) for found, value in used) > _MOST_FILLED:
            return None
        parts, position = [], 0
        for found, value in used:
            parts += [text[position : found.start()], value]
            position = found.end()
        text = "".join([*parts, text[position:]])
    return text


def named_programs(text: str, folders: Collection[str]) -> Iterator[str]:
    """The programs that a script may start by name."""
    names = {*_NAME.findall(text), *_NAME_BEHIND.findall(text)}
    names.update(word for words in _LIST.findall(text) for word in words.split())
    sourced = {name for name, _ in _SOURCED.findall(text)}
    names |= sourced
    for folder in folders:
        here = names & set(_listed(folder))
        paths = {name: os.path.join(folder, name) for name in here}
        yield from sorted(one for name, one in paths.items() if is_program(one) or name in sourced)
        names -= here


def _listed(folder: str) -> list[str]:
    try:
        return names_in(folder)
    except TooManyNamesError:
        raise
    except OSError:
        return []


def is_program(path: str) -> bool:
    """Whether there is a file that we may run."""
    return os.path.isfile(path) and os.access(path, os.X_OK)
