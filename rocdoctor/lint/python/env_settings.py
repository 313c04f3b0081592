"""Environment variables that a Python file sets, and commands that it gives to a shell or starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from rocdoctor.lint.python.blocks import CodeBlock
from rocdoctor.lint.python.file_index import CodePlace, FileIndex
from rocdoctor.lint.python.values import UNTOLD, command, constant, text
from rocdoctor.parsers.shell.lexer import CLOSE, OPEN
from rocdoctor.parsers.shell.settings import Sheet, ShellSetting
from rocdoctor.paste.env_settings import is_known

_ENVIRON = "os.environ"
_STARTERS = {
    "os.system",
    "os.popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
}
_MAX_SETTINGS = 5000


@dataclass(frozen=True, slots=True)
class EnvSetting:
    """One variable as the code sets it. ``value`` None: taken away; unknown parts of it are ``UNTOLD``.

    ``default``: only if it is not set. ``child``: for a process that is started.
    """

    name: str
    value: str | None
    place: CodePlace
    node: ast.expr | None = None
    default: bool = False
    child: bool = False


def settings_of(index: FileIndex) -> list[EnvSetting]:
    """Every variable that the file sets by name, in the order of the file."""
    if "settings" not in index.memo:
        found = [*_statements(index), *_calls(index)]
        index.memo["settings"] = sorted(found, key=lambda one: one.place.order)[:_MAX_SETTINGS]
    return cast("list[EnvSetting]", index.memo["settings"])


def commands_of(index: FileIndex) -> list[tuple[int, str]]:
    """Line of the file and text of each command that is started; unknown words are ``$VALUE``."""
    found = list(index.source.shell)
    for name in _STARTERS:
        for one in index.by_name.get(name, ()):
            assert isinstance(one.node, ast.Call)
            told = command(index, one.node.args[0] if one.node.args else None, one.block)
            if told is not None and told.strip(f" {UNTOLD}"):
                found.append((index.source.line(one.line), told.replace(UNTOLD, "$VALUE")))
    return sorted(found)


def sheet_of(path: str, index: FileIndex) -> Sheet:
    """The settings as those of any other file; what a function or a branch sets is not sure to hold."""
    sheet = Sheet(path, "python")
    scopes: dict[CodeBlock, int] = {index.module: 0}
    running = _running(index)
    for number, name, value in index.source.settings:
        sheet.settings.append(ShellSetting(name, value, number))
    for one in settings_of(index):
        if not is_known(one.name):
            continue
        scope = _scope(sheet, scopes, running, one.place.block)
        if one.child:
            scope = sheet.open(scope, passing=True, sure=False)
        elif one.default:
            scope = sheet.open(scope, sure=False)
        told = None if one.value is None else one.value.replace(UNTOLD, f"{OPEN}{CLOSE}")
        sheet.settings.append(ShellSetting(one.name, told, index.source.line(one.place.line), scope))
    return sheet


def _scope(sheet: Sheet, scopes: dict[CodeBlock, int], running: set[CodeBlock], block: CodeBlock) -> int:
    chain = list(reversed(block.above()))
    scope = 0
    for one in chain:
        if one not in scopes:
            apart = one.kind in ("function", "branch") and not _main(one) and one not in running
            scopes[one] = sheet.open(scope, sure=False) if apart else scope
        scope = scopes[one]
    return scope


def _running(index: FileIndex) -> set[CodeBlock]:
    """Functions of the module that are surely called when the file runs."""
    functions = {
        one.node.name: one
        for one in index.blocks
        if isinstance(one.node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and one.parent is index.module
        and len(index.module.bound.get(one.node.name, ())) == 1
    }
    calls: dict[CodeBlock, list[str]] = {}
    for place in index.calls:
        assert isinstance(place.node, ast.Call)
        if isinstance(place.node.func, ast.Name) and place.node.func.id in functions:
            chain = place.block.above()
            within = chain[: chain.index(place.block.function)]
            if not any(one.kind == "branch" and not _main(one) for one in within):
                calls.setdefault(place.block.function, []).append(place.node.func.id)
    found: set[CodeBlock] = set()
    pending = [functions[name] for name in calls.get(index.module, ())]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += [functions[name] for name in calls.get(one, ())]
    return found


def _main(block: CodeBlock) -> bool:
    """Whether a block is that of ``if __name__ == "__main__"``."""
    test = block.node.test if isinstance(block.node, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _told(index: FileIndex, node: ast.expr, block: CodeBlock) -> str:
    value = text(index, node, block)
    if value is not None:
        return value
    number = constant(index.value(node, block))
    return str(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else UNTOLD


def _statements(index: FileIndex) -> Iterator[EnvSetting]:
    for place in index.assigned:
        node = place.node
        if isinstance(node, ast.Assign):
            for target in node.targets:
                name = _key(index, target, place.block)
                if name:
                    yield EnvSetting(name, _told(index, node.value, place.block), place, node.value)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                name = _key(index, target, place.block)
                if name:
                    yield EnvSetting(name, None, place)
        elif isinstance(node, ast.AugAssign) and index.dotted(node.target, place.block) == _ENVIRON:
            yield from _pairs(index, node.value, place)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield from _loop(index, node, place)


def _key(index: FileIndex, target: ast.AST, block: CodeBlock) -> str:
    if not isinstance(target, ast.Subscript) or index.dotted(target.value, block) != _ENVIRON:
        return ""
    name = constant(index.value(target.slice, block))
    return name if isinstance(name, str) else ""


def _loop(index: FileIndex, node: ast.For | ast.AsyncFor, place: CodePlace) -> Iterator[EnvSetting]:
    """``for name, value in SETTINGS.items(): os.environ[name] = value``."""
    called = node.iter
    if not (isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute) and called.func.attr == "items"):
        return
    names = (
        [one.id for one in node.target.elts if isinstance(one, ast.Name)] if isinstance(node.target, ast.Tuple) else []
    )
    for one in node.body[:20] if len(names) == 2 else ():
        target: ast.AST | None = one.targets[0] if isinstance(one, ast.Assign) else None
        default = False
        key = target.slice if isinstance(target, ast.Subscript) else None
        holder: ast.AST | None = target.value if isinstance(target, ast.Subscript) else None
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Attribute):
            default = one.value.func.attr == "setdefault"
            key, holder = (one.value.args[0], one.value.func.value) if default and one.value.args else (None, None)
        if isinstance(key, ast.Name) and key.id == names[0] and index.dotted(holder, place.block) == _ENVIRON:
            yield from _pairs(index, called.func.value, place, default=default)


def _pairs(
    index: FileIndex, node: ast.expr, place: CodePlace, *, default: bool = False, child: bool = False
) -> Iterator[EnvSetting]:
    """The entries of a dictionary, each on its own line."""
    told = index.value(node, place.block)
    rows: list[tuple[ast.expr, str, ast.expr]] = []
    if isinstance(told, ast.Dict):
        rows = [
            (key, name, value)
            for key, value in zip(told.keys[:2000], told.values[:2000], strict=True)
            if key is not None and isinstance(name := constant(key), str)
        ]
    elif isinstance(told, ast.Call) and isinstance(told.func, ast.Name) and told.func.id == "dict":
        rows = [(one.value, one.arg, one.value) for one in told.keywords if one.arg]
    for at, name, value in rows:
        here = CodePlace(at, place.block, place.order)
        yield EnvSetting(name, _told(index, value, place.block), here, value, default, child)


def _calls(index: FileIndex) -> Iterator[EnvSetting]:
    for name, default in (("os.environ.setdefault", True), ("os.putenv", False), ("os.environ.__setitem__", False)):
        for place in index.by_name.get(name, ()):
            assert isinstance(place.node, ast.Call)
            if len(place.node.args) == 2:
                key = constant(index.value(place.node.args[0], place.block))
                value = place.node.args[1]
                if isinstance(key, str):
                    yield EnvSetting(key, _told(index, value, place.block), place, value, default)
    for name in ("os.environ.pop", "os.unsetenv"):
        for place in index.by_name.get(name, ()):
            assert isinstance(place.node, ast.Call)
            key = constant(index.value(place.node.args[0], place.block)) if place.node.args else None
            if isinstance(key, str):
                yield EnvSetting(key, None, place)
    for place in index.by_name.get("os.environ.update", ()):
        assert isinstance(place.node, ast.Call)
        for one in place.node.args[:1]:
            yield from _pairs(index, one, place)
        for keyword in place.node.keywords:
            if keyword.arg:
                yield EnvSetting(keyword.arg, _told(index, keyword.value, place.block), place, keyword.value)
    for name in _STARTERS:
        for place in index.by_name.get(name, ()):
            assert isinstance(place.node, ast.Call)
            for keyword in place.node.keywords:
                if keyword.arg == "env":
                    yield from _pairs(index, keyword.value, place, child=True)
