"""Prompts and commands: which command printed which lines."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache

from rocdoctor.host.base import run
from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.output_kinds import KINDS

# Programs whose output is read as evidence: those that a row of output_kinds.py recognises by its looks as well ...
_OF_KINDS = frozenset(one.question.split()[1] for one in KINDS if one.question.startswith("run "))
# ... and those that only their command tells. The rest of a transcript is searched for what it looks like.
_BY_COMMAND = frozenset(
    ("journalctl", "groups", "systemd-detect-virt", "mokutil", "numactl", "sysctl", "dpkg", "ibv_devinfo")
)
_BETWEEN = (
    "env printenv pip3 mamba uv docker podman cat rpm free lstopo grep egrep echo tail head "
    "hostnamectl sudo python3 export hipconfig nvcc set unset setenv apt module source cd getent "
    "hostname torchrun make systemctl which rocm_agent_enumerator clinfo vulkaninfo stat ldd strings "
    "watch time nix srun mpirun ./"
)
# What may stand behind a "#" as a command of root.
PROGRAMS = _OF_KINDS | _BY_COMMAND | frozenset(_BETWEEN.split())

_PROMPT = regex(
    r"\s{0,12}(?:\([\w. -]{1,40}\) ?){0,2}"
    r"(?:\[?[\w.-]{1,40}@[\w.-]{1,60}(?:[: ][^$#%>\n]{0,120})?\]?[$#%>❯]|\[[^\]\n]{1,80}\][$#]|(?P<root>#)"
    r"|[$%❯➜]|PS [A-Z]:[^>\n]{0,120}>|bash-\d\.\d+[$#]|sh-\d\.\d+[$#])"
    r"[ \t]+(?P<command>[^\s|].{0,4000})\Z"
)
_PYTHON = regex(r"\s{0,12}(?:>>>|In \[\d{1,5}\]:|\.\.\.)(?:\s|\Z)")
# A command that stands on a line of its own without a prompt: options, paths and words of sub-commands alone.
_BARE_TEXT = (
    r"\s{0,8}(?:sudo )?(?:rocminfo|rocm-smi|amd-smi|nvidia-smi|lspci|dmesg|journalctl|env|printenv|uname|"
    r"sinfo|scontrol show nodes?|lscpu|(?:uv |[\w.~/-]{1,120}/bin/)?pip3? (?:list|freeze|show)|conda list|ulimit|"
    r"id|groups|dkms status|modinfo|df|ip a(?:ddr)?|ibstat|lsmod|cat /[\w./-]+|ls -l\S*|python3? -m "
    r"torch\.utils\.collect_env)(?:\s+(?:-{1,2}[\w=,.][\w=,.-]*|/[\w./*-]+|static|metric|list|topo|status|"
    r"amdgpu|nvidia))*(?:\s+\|.{0,80})?\s{0,4}\Z"
)
_BARE = regex(_BARE_TEXT)
_BARE_SHAPE = regex(_BARE_TEXT.replace("3?", "0?"))  # the same where all digits are 0
_PRINTED_BY = regex(
    r"(?:output|result)s? (?:of|from|for):? [`\"']?(?P<a>[a-z][\w./ -]{1,80}?)[`\"']?\s?:?\Z|"
    r"\A[`#*\s]{0,8}(?P<b>(?:rocminfo|rocm-smi|amd-smi|nvidia-smi|lspci|dmesg|uname|lscpu|pip (?:list|"
    r"freeze)|conda list)(?: --?\w[\w-]*)*)(?: output| says| shows| prints| gives)?"
    r"[`*\s]{0,6}:?\s{0,4}\Z",
    re.IGNORECASE,
)
_MAX_SECTIONS = 20_000
# What prepares the shell and prints nothing, and what runs a program in an environment of its own.
_SILENT = frozenset({"cd", "source", ".", "export", "pushd", "activate", "conda activate", "deactivate", "module"})
_RUNNERS = (("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("hatch", "run"), ("conda", "run"))


@dataclass(frozen=True, slots=True)
class ShellSection:
    """A command and the lines (indices) of what it printed."""

    command: str
    line: int
    first: int
    end: int  # one past the last line of the output


def _command(line: str) -> str | None:
    begin = line.lstrip()[:4]
    head = begin[:1]
    if not head or len(line) > 4200:
        return None
    if head in "$#%[(❯➜P" or begin.startswith(("bash", "sh-")) or "@" in line[:80]:
        match = _PROMPT.match(line)
        if match:
            command = match["command"].strip()
            if match["root"] is None or _known(command):
                return command
    if (head in "acdegijlmnprsu" or "/bin/pip" in line[:140]) and _BARE.match(line):
        return line.strip()
    return None


def _may_begin(shape: str) -> bool:
    """Whether a line of this shape, with other digits, can be a prompt, a command, or lead to an output."""
    begin = shape.lstrip()[:4]
    return bool(
        ((">>>" in shape[:20] or "In [" in shape[:20]) and _PYTHON.match(shape))
        or (
            (begin[:1] in "$#%[(❯➜P" or begin.startswith(("bash", "sh-")) or "@" in shape[:80]) and _PROMPT.match(shape)
        )
        or ((begin[:1] in "acdegijlmnprsu" or "/bin/pip" in shape[:140]) and _BARE_SHAPE.match(shape))
        or ((shape.rstrip()[-1:] in ":`*" or shape[:1] in "#*`") and _PRINTED_BY.search(shape[:200]))
    )


def _known(command: str) -> bool:
    """Whether "# words" is a command of root rather than a comment or a heading."""
    words = command.split()
    if not words:
        return False
    first = words[0].rsplit("/", 1)[-1]
    if first not in PROGRAMS and not words[0].startswith(("./", "/")):
        return False
    # "# set the variable first" is a comment.
    return (
        len(words) == 1
        or first
        not in ("set", "make", "which", "time", "watch", "source", "module", "head", "tail", "id", "export", "free")
        or any(word.startswith(("-", "/", "$")) or "=" in word for word in words[1:])
    )


def sections(clean: Clean) -> list[ShellSection]:
    """Every command with its output: up to the next prompt, or the end of the code block or of the indented lines."""
    found: list[tuple[int, str]] = []
    prompts: list[int] = []
    for at in clean.alike.where(_may_begin):
        line = clean.lines[at]
        if not line or line.isspace():
            continue
        begin = line[:20]
        if ">>>" in begin or "In [" in begin:
            if _PYTHON.match(line):
                prompts.append(at)
            continue
        command = _command(line)
        if (command is None and line.rstrip()[-1:] in ":`*") or line[:1] in "#*`":
            printed = _PRINTED_BY.search(line[:200])
            command = (printed["a"] or printed["b"]) if printed else None
            if command and command.split()[0] not in PROGRAMS:
                command = None
        if command is not None:
            found.append((at, command))
            prompts.append(at)
        if len(found) >= _MAX_SECTIONS:
            prompts.append(at + 1)  # what follows is not looked at, so it is no output of the last command
            break
    result: list[ShellSection] = []
    following = iter([*prompts, len(clean.lines)])
    upcoming = next(following)
    for at, command in found:
        while upcoming <= at:
            upcoming = next(following, len(clean.lines))
        result.append(ShellSection(command, at, at + 1, _end(clean, at, upcoming)))
    return result


def _end(clean: Clean, at: int, limit: int) -> int:
    """Where the output of the command on a line ends."""
    if clean.blocks[at]:
        end = at + 1
        while end < limit and clean.blocks[end] == clean.blocks[at]:
            end += 1
        return end
    start = at + 1
    while start < limit and start - at < 4 and not clean.lines[start].strip():
        start += 1
    if start < limit and clean.blocks[start]:  # the command led to a block that holds the output
        end = start
        while end < limit and clean.blocks[end] == clean.blocks[start]:
            end += 1
        return end
    indent = _indent(clean.lines[at])
    end = at + 1
    while end < limit and not clean.blocks[end]:
        line = clean.lines[end]
        if line.strip() and indent >= 4 and _indent(line) < min(indent, 4):
            break
        end += 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def words_of(command: str) -> list[str]:
    """The words of a command of the first stage of a pipeline that prints evidence, without sudo and redirections."""
    try:
        words = shlex.split(command[:4000], comments=True)
    except ValueError:
        words = command[:4000].split()
    while words and (
        words[0] in ("sudo", "time", "watch", "$", "#", "env")
        or (words[0].startswith("-") and len(words) > 1)
        or "=" in words[0]
    ):
        if words[0] == "env" and len(words) == 1:
            break
        words = words[1:]
    words = _without_runner(_from_first_that_prints(words))
    stop = next(
        (
            at
            for at, word in enumerate(words)
            if word in ("|", "||", "&&", ";", ">", ">>", "2>&1", "2>", "&>", "<") or word.startswith(("2>", ">", "|"))
        ),
        len(words),
    )
    return [word.rstrip(";") for word in words[:stop]]


def _from_first_that_prints(words: list[str]) -> list[str]:
    """Without the commands in front that only prepare the shell ("source venv/bin/activate && pip list")."""
    while words and (words[0] in _SILENT or words[:2] == ["conda", "activate"]):
        end = next((at for at, word in enumerate(words) if word in ("&&", ";") or word.endswith(";")), None)
        if end is None:
            break
        words = words[end + 1 :]
    return words


def _without_runner(words: list[str]) -> list[str]:
    """Without "uv run", "poetry run", "conda run -n NAME" in front."""
    if tuple(words[:2]) not in _RUNNERS:
        return words
    words = words[2:]
    while len(words) > 1 and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-n", "--name", "-p", "--prefix") else words[1:]
    return words


@lru_cache(maxsize=4096)
def question_of(command: str) -> str | None:
    """The question that the output of a command answers; None where it is not read as evidence."""
    words = words_of(command)
    if not words:
        return None
    program, rest = words[0].rsplit("/", 1)[-1], words[1:]
    if program in ("python", "python3") and rest[:1] == ["-m"]:
        if rest[1:2] == ["torch.utils.collect_env"]:
            return run("python", "-m", "torch.utils.collect_env")
        program, rest = (rest[1] if len(rest) > 1 else ""), rest[2:]
    if program in ("pip", "pip3", "uv"):
        rest = [word for word in rest if word != "pip"]
        return (
            "run pip list"
            if rest[:1] and rest[0] in ("list", "freeze")
            else "run pip show"
            if rest[:1] == ["show"]
            else None
        )
    if program in ("conda", "mamba") and rest[:1] == ["list"]:
        return "run conda list"
    if program in ("printenv", "env") and not rest:
        return "env"
    if program == "cat" and len(rest) == 1 and rest[0].startswith("/") and ".." not in rest[0]:
        return f"read {rest[0]}"
    if program == "ls":
        return "run ls -l /dev/kfd /dev/dri" if any(word.startswith("/dev") for word in rest) else None
    if program == "ip":
        return "run ip addr" if rest[:1] and rest[-1][:1] == "a" else None
    if program in ("sinfo", "scontrol"):
        if program == "sinfo":
            return run(program, *rest)
        return run("scontrol", "show", "node") if rest[:2] in (["show", "node"], ["show", "nodes"]) else None
    if program == "dmesg":
        return "run dmesg"
    if program == "dkms":
        return "run dkms status" if rest[:1] == ["status"] else None
    if program == "ulimit":
        return "run ulimit -a"
    if program in ("conda", "mamba", "python", "python3"):
        return None
    if program in _OF_KINDS or program in _BY_COMMAND:
        return run(program, *rest)
    return None
