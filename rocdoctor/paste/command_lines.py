"""Command lines that start or install something, as typed facts. The answer to the question ``commands``.

One JSON object a line with the fields of ``rocdoctor.model.facts.CommandLine``; ``line`` is that of the text. A command
counts where it was given: behind a prompt, on a line of its own, in a code block, or in a sentence of the first person
("I start it with docker run ..."). Flags that a sentence or a page speaks of are no launch.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.command_options import Parsed, parsed
from rocdoctor.paste.manifests import manifests
from rocdoctor.paste.passage_roles import Role, heading, role_of_block, role_of_setting, sentence_around
from rocdoctor.paste.shell_sections import ShellSection
from rocdoctor.paste.text_part import TextPart
from rocdoctor.paste.word_index import WordIndex, ascending

_HINTS = (
    *(f"{name} {verb}" for name in ("docker", "podman", "nerdctl", "nvidia-docker") for verb in ("run", "create")),
    *("docker container run", "apptainer ", "singularity ", "enroot start", "lxc config", "lxc launch"),
    *("pip install", "pip3 install", "uv add", "conda install", "mamba install", "conda create", "apt install"),
    *("apt-get install", "dnf install", "yum install", "srun ", "salloc ", "torchrun ", "torch.distributed."),
    *("accelerate launch", "deepspeed ", "mpirun ", "mpiexec ", "ray start", "vllm serve", "vllm.entrypoints"),
    *("sglang.launch_server", "apt install", "apt-get install"),
)
_START = regex(
    r"(?<![\w./-])(?:(?:[A-Z_][A-Z0-9_]{1,60}=\S{0,200}\s{1,3}){0,8})(?:sudo (?:-E )?)?(?:time |nohup )?(?:\S{0,80}/)?"
    r"(?:docker|podman|nerdctl|nvidia-docker|apptainer|singularity|enroot|lxc|pip3?|uv|conda|mamba|apt(?:-get)?|dnf|yum|"
    r"srun|salloc|torchrun|accelerate|deepspeed|mpirun|mpiexec|ray|vllm|python3? -m)\s{1,3}[\w.-]"
)
# What may stand in front of a command on a line of its own: a list sign, a prompt, a label, an instruction of an image.
_LEAD = regex(
    r"\s{0,40}(?:[-*+$%>#]{1,2}\s{1,3}|\d{1,2}[.)]\s{1,3}|\S{1,80}[$#%>]\s{1,3}|RUN\s{1,3}|CMD\s{1,3}|\(\S{1,40}\)\s{1,3}){0,3}\Z"
)
_LABEL = regex(
    r"\s{0,20}[-*|]{0,2}\s{0,3}(?:(?:my |the |our |full |start|launch|run|exact |install|docker |used? ?){0,4}"
    r"(?:command|cmd|commandline|command line|launch|start|run(?:ning)?|invocation|install(?:ed|ation)?|started|ran)"
    r"(?: command| line| used| with| by| via)?)\s{0,3}:\s{0,4}\Z",
    re.IGNORECASE,
)
_GIVEN = regex(
    r"\b(?:i|we|i'm|i've|we're|my|our)\b[^.]{0,160}\b(?:r[au]n(?:ning)?|start(?:ed|ing)?|launch(?:ed|ing)?|us(?:e|ed|ing)|"
    r"install(?:ed|ing)?|did|do|execut(?:e|ed|ing)|call(?:ed|ing)?|creat(?:e|ed|ing)|command|with|by|via)\b[^.]{0,60}\Z"
    r"|\A\W{0,4}(?:installed|started|launched|running|ran|built|created)\b[^.]{0,80}\Z"
    r"|(?:\A\W{0,6}|[,;:(] ?)(?:with|using|via|by|when (?:running|starting)|(?:after )?running)\s{1,3}\W{0,2}\Z",
    re.IGNORECASE,
)
_STEPS = regex(r"\b(?:reproduc\w*|steps|commands?|how (?:i|we)|what (?:i|we))\b", re.IGNORECASE)
_PROSE = regex(
    r"\b(?:the|is|are|was|my|i|we|it|and|or|but|not|this|that|when|have|has|does|which|gives?|fails?)\b", re.I
)
_OPERATORS = frozenset(("&&", "||", ";", "|", ">", ">>", "2>&1", "&", "<", "2>", "&>"))
_MOST, _MOST_LINES = 400, 20_000


@dataclass(frozen=True, slots=True)
class Given:
    """A command of the text: its line (an index), its role, and its fields as of ``CommandLine``."""

    line: int
    role: Role
    fields: Mapping[str, Any]


def commands(clean: Clean, found: Sequence[ShellSection], index: WordIndex) -> list[Given]:
    """The commands of a text, in its order."""
    return sorted(islice(_all(clean, found, index), _MOST), key=lambda one: one.line)


def parts(given: Sequence[Given]) -> Iterator[TextPart]:
    """The commands as answers to ``commands``; what was tried was given too, advice stands in a part of its own."""
    rows: dict[Role, list[tuple[int, str]]] = {}
    for one in given:
        row = json.dumps({"line": one.line + 1, **one.fields})
        if len(row) < 4000:
            rows.setdefault("now" if one.role == "tried" else one.role, []).append((one.line + 1, row))
    for role, chosen in rows.items():
        yield TextPart("commands", "\n".join(row for _, row in chosen), tuple(line for line, _ in chosen), role)


def _all(clean: Clean, found: Sequence[ShellSection], index: WordIndex) -> Iterator[Given]:
    given = {section.line: section.command for section in found}
    done = -1
    for at in islice(ascending(index.lines(_HINTS)), _MOST_LINES):
        if at <= done or len(clean.lines[at]) > 4000:
            continue
        for text, role, sentence in _starts(clean, at, given.get(at)):
            joined, last = (text, at) if sentence else _joined(clean, at, text)
            done = max(done, last)
            for one, inside, environment in _nested(joined):
                yield Given(at, role, _row(one, inside, {**environment, **one.environment}, joined))
    for line, role, told in manifests(clean, index):
        yield Given(line, role, told)


def _starts(clean: Clean, at: int, prompted: str | None) -> Iterator[tuple[str, Role, bool]]:
    """(the command, its role, whether it stands in a sentence)."""
    line = clean.lines[at]
    if prompted is not None and (found := _START.search(prompted)):
        yield prompted[_first(prompted, found) :], role_of_block(clean, at, at, setting=True), False
        return
    match = _START.search(line)
    if match is None:
        return
    before = line[: match.start()]
    code = clean.blocks[at] > 0 or line.startswith("    ")
    plain = bool(_LEAD.match(before) or _LABEL.match(before))
    if code or (plain and not _is_prose(line[match.start() :])):
        if code and before.lstrip().startswith("#") and _is_prose(line):
            return  # a comment
        yield line[_first(line, match) :], role_of_block(clean, at, at, setting=True), False
        return
    left, right = sentence_around(clean, at, match.start(), match.end())
    if _GIVEN.search(left) or (plain and _STEPS.search(heading(clean, at))):
        yield line[match.start() :], role_of_setting(left, right) if not plain else "now", True


def _first(text: str, match: re.Match[str]) -> int:
    """Where the command begins: a script of several on one line is read from its first on."""
    return match.start()


def _is_prose(text: str) -> bool:
    """Whether what looks like a command is part of a sentence."""
    plain = " ".join(word for word in text.split() if not word.startswith("-"))
    return len(_PROSE.findall(re.sub(r"([\"']).{0,2000}?\1", "", plain))) >= 2 or text.rstrip()[-1:] in "?!"


def _joined(clean: Clean, at: int, text: str) -> tuple[str, int]:
    """A command with the lines that it goes on in: after a backslash, and over the edge of a terminal."""
    step = at + 1
    while step < min(len(clean.lines), at + 60):
        line = clean.lines[step]
        if text.rstrip().endswith("\\"):
            text = text.rstrip().rstrip("\\") + " " + line.strip()
        elif len(clean.lines[step - 1]) >= 72 and re.match(r"\s{0,24}-{1,2}\w", line):
            text = text.rstrip() + " " + line.strip()
        else:
            break
        step += 1
    return text[:6000], step - 1


def words_of(text: str) -> list[str]:
    """The words of a command as a shell would split them; by blanks where its quotes do not close."""
    try:
        return shlex.split(text[:6000], comments=True)
    except ValueError:
        return text[:6000].split()


def _nested(text: str) -> Iterator[tuple[Parsed, str, dict[str, str | None]]]:
    """Each command of a line, and what it starts in turn: (command, what starts it, variables that it is given)."""
    for words in _simple(words_of(text)):
        inside, environment = "", dict[str, str | None]()
        for _ in range(4):
            one = parsed(words)
            if one is None:
                break
            yield one, inside, environment
            inside, environment = one.program, {**environment, **one.environment}
            words = _inner(one.rest)
            if not words:
                break


def _simple(words: Sequence[str]) -> Iterator[list[str]]:
    """The simple commands of a line."""
    one: list[str] = []
    for word in words:
        if word in _OPERATORS:
            if one:
                yield one
            one = []
        elif word.endswith(";"):
            yield [*one, word[:-1]]
            one = []
        else:
            one.append(word)
    if one:
        yield one


def _inner(words: Sequence[str]) -> list[str]:
    """The command that another one starts, also as a text for a shell ("bash -c '...'")."""
    if len(words) >= 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh") and words[1] in ("-c", "-lc", "-ic"):
        parts = [part for part in _simple(words_of(words[2])) if parsed(part) is not None]
        return parts[0] if parts else []
    return list(words)


def _row(one: Parsed, inside: str, environment: dict[str, str | None], text: str) -> dict[str, Any]:
    return {
        "program": one.program,
        "verb": one.verb,
        "text": " ".join(text.split())[:240],
        "options": one.options,
        "words": one.words,
        "environment": dict(islice(environment.items(), 24)),
        "inside": inside,
        "complete": one.complete,
    }
