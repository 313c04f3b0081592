"""The outputs of tools that this evidence holds, parsed once.

On a live machine only the tools are asked that its hardware calls for; elsewhere whatever output is there is used,
however its command was spelled.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Any

from rocdoctor.collect.gpus import tools as folder
from rocdoctor.collect.gpus.tool import Tool, Tools
from rocdoctor.host.base import Answer, Host, argv_of
from rocdoctor.model.facts import ToolFailure

_RELEASE = "read /proc/sys/kernel/osrelease"
# Many times what a report of a cluster's node holds.
_MOST_OUTPUTS = 1000


@cache
def all_tools() -> tuple[Tool[Any], ...]:
    """The ``TOOL`` of each file of the folder, in their order."""
    names = [one.name for one in pkgutil.iter_modules(folder.__path__)]
    found: list[Tool[Any]] = [importlib.import_module(f"{folder.__name__}.{name}").TOOL for name in names]
    return tuple(sorted(found, key=lambda tool: tool.order))


def questions(host: Host, vendors: Sequence[str], several: bool) -> list[str]:
    """Which tool outputs to look at: those at hand, and on a live machine those that its hardware calls for."""
    if host.kind != "live":
        return [question for question in host.available() if _is_ours(question)]
    tools = all_tools()
    wanted = [question for vendor in vendors for tool in tools if tool.vendor == vendor for question in tool.live]
    if not vendors and "microsoft" in host.ask(_RELEASE).text.lower():
        return [question for tool in sorted(tools, key=lambda tool: tool.vendor) for question in tool.in_wsl]
    return [*wanted, *(one for tool in tools for one in tool.between)] if several and wanted else wanted


def _program(question: str) -> str:
    argv = argv_of(question)
    return argv[0].rsplit("/", 1)[-1] if argv else ""


def _is_ours(question: str) -> bool:
    """Whether a program's output is read here (a topology dump is kept under the name of its file)."""
    if not question.startswith("run "):
        return question.endswith("xml")
    program = _program(question)
    return program in _programs() or program.startswith(("lstopo", "hwloc")) or question.endswith("xml")


@cache
def _programs() -> frozenset[str]:
    return frozenset(tool.program for tool in all_tools() if tool.program)


def read_tools(host: Host, vendors: Sequence[str], several: bool = False) -> Tools:
    """Ask and parse; ``several`` says that there is more than one GPU."""
    tools = Tools()
    wanted = questions(host, vendors, several)
    if len(wanted) > _MOST_OUTPUTS:
        why = f"left out: of {len(wanted):,} outputs of tools the first {_MOST_OUTPUTS:,} are read"
        tools.failures.append(ToolFailure(wanted[_MOST_OUTPUTS], why))
        wanted = wanted[:_MOST_OUTPUTS]
    host.prefetch(wanted)
    for question in wanted:
        answer = host.ask(question)
        if answer.ok:
            tool = _tool_of(answer)
            if tool is not None:
                tools.add(tool, answer)
        elif answer.status in ("timeout", "failed", "denied"):
            gap = answer.unknown()
            tools.failures.append(ToolFailure(answer.question, gap.why, reason=gap.reason))
    return tools


def _tool_of(answer: Answer) -> Tool[Any] | None:
    """Whose output an answer is: its program's, or by its text a dump's."""
    program, arguments = _program(answer.question), argv_of(answer.question)[1:]
    if program in _programs():
        return next((one for one in all_tools() if one.program == program and one.subcommand(arguments)), None)
    return next((one for one in all_tools() if one.dump(answer.text)), None)
