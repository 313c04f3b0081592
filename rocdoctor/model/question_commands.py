"""What a person types for a question of ours (``host/base.py`` lists the verbs)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.model.question import Question
from rocdoctor.model.shell_command import ShellCommand, shell

if TYPE_CHECKING:
    from typing_extensions import LiteralString

_COMMANDS: dict[str, LiteralString] = {
    "read": "cat {path:path}",
    "list": "ls -d {path:glob}",
    "stat": "ls -l {path:path}",
    "space": "df {path:path}",
    "link": "readlink -f {path:path}",
    "open": "ls -l {path:path}",
}
# Programs that tell something and change nothing, without the options that do (nvidia-smi -r, dmesg --clear).
_PROGRAMS: dict[str, LiteralString] = {
    one: one
    for one in (
        "amd-smi",
        "amd-smi metric --json",
        "amd-smi static",
        "amd-smi static --json",
        "dkms status",
        "dmesg",
        "dpkg -l",
        "journalctl -k -b --no-pager",
        "journalctl -k -b --no-pager -o short-monotonic",
        "lsmod",
        "lspci",
        "lspci -D -nn -vv",
        "lspci -k",
        "lstopo",
        "nvidia-smi",
        "nvidia-smi -L",
        "nvidia-smi -q",
        "nvidia-smi -q -x",
        "nvidia-smi nvlink --status",
        "nvidia-smi topo -m",
        "rocm-smi",
        "rocm-smi --json",
        "rocm-smi --showtopo",
        "rocminfo",
        "rpm -qa",
    )
}


def command_of(question: str) -> ShellCommand:
    """A command that people can type for a question; empty where there is none.

    A bundle may hold any question, so no program of it is named but those that rocdoctor would run itself.
    """
    asked = Question.of(question)
    verb, rest = asked.verb, asked.rest
    if verb == "env":
        return ShellCommand("env")
    if verb == "run":
        known = _PROGRAMS.get(rest)
        return ShellCommand("") if known is None else ShellCommand(known)
    return shell(_COMMANDS[verb], path=rest) if rest and verb in _COMMANDS else ShellCommand("")
