"""Options of programs that set variables for what they start: containers, MPI, Slurm, and shells given a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import Token

_PAIR = regex(r"([A-Za-z_][A-Za-z0-9_]{0,255})=(.*)\Z", re.S)
_CONTAINERS = frozenset(["docker", "podman", "nerdctl", "nvidia-docker", "singularity", "apptainer", "docker-compose"])
_STARTS = frozenset(["run", "create", "exec", "shell", "start", "up"])
_MPI = frozenset(["mpirun", "mpiexec", "orterun", "mpiexec.hydra", "prun", "mpirun_rsh"])
_SLURM = frozenset(("srun", "sbatch", "salloc"))
_LAUNCHERS = _CONTAINERS | _MPI | _SLURM
_SHELLS = frozenset(["bash", "sh", "zsh", "dash"])
_SHELL_OPTION = regex(r"-[a-z]{0,6}c")


def _name(word: Token) -> str:
    return word.text.rsplit("/", 1)[-1]


def _program(names: Sequence[str], wanted: frozenset[str]) -> int | None:
    return next((at for at, name in enumerate(names) if name in wanted), None)


def option_settings(words: Sequence[Token]) -> tuple[bool, list[tuple[str, str, int]]]:
    """Whether the program's child inherits nothing (a container), and what the options set: name, value, line."""
    found: list[tuple[str, str, int]] = []
    names = [word.text.rsplit("/", 1)[-1] for word in words[:12]]
    if _LAUNCHERS.isdisjoint(names):
        return False, found
    at = _program(names, _CONTAINERS)
    if at is not None and any(word.text in _STARTS for word in words[at + 1 : at + 8]):
        for key, word in _options(words[at + 1 :], ("-e", "--env")):
            found += [(name, value, word.line) for name, value in _pairs(key)]
        return True, found
    at = _program(names, _MPI)
    if at is not None:
        for key, word in _options(words[at + 1 :], ("-x", "--x")):
            found += [(name, value, word.line) for name, value in _pairs(key)]
        for place, word in enumerate(words[:-2]):
            if word.text in ("-genv", "--genv", "-env"):
                found.append((words[place + 1].text, words[place + 2].text, word.line))
        return False, found
    at = _program(names, _SLURM)
    if at is not None:
        for key, word in _options(words[at + 1 :], ("--export",)):
            found += [(*pair, word.line) for part in key.split(",") for pair in _pairs(part)]
    return False, found


def _options(words: Sequence[Token], names: tuple[str, ...]) -> list[tuple[str, Token]]:
    found: list[tuple[str, Token]] = []
    for place, word in enumerate(words):
        if word.text in names and place + 1 < len(words):
            found.append((words[place + 1].text, word))
        else:
            found += [
                (word.text[len(name) :].removeprefix("="), word)
                for name in names
                if word.text.startswith(f"{name}=")
                or (len(name) == 2 and _PAIR.match(word.text[2:]) and word.text[:2] == name)
            ]
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    match = _PAIR.match(text)
    return [(match[1], match[2])] if match else []


def shell_text(words: Sequence[Token]) -> Token | None:
    """The text that a shell is given to run: ``bash -lc 'export A=1; ...'``."""
    for place, word in enumerate(words[1:-1]):
        if word.text[:1] == "-" and _SHELL_OPTION.fullmatch(word.text) and _name(words[place]) in _SHELLS:
            return words[place + 2]
    return None
