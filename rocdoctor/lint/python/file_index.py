"""One Python file, read once: calls, names used, imports, texts, dictionaries and assignments, each with its place.

Names are told as the libraries call them: imports, ``as`` names and plain aliases are followed, and names that a
function binds itself are not taken for imports. The tree is walked with a list, not by recursion: input is hostile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from rocdoctor.lint.python.blocks import CodeBlock, asks_release, guards, leaves
from rocdoctor.lint.python.source import SourceCode

MAX_NODES = 1_000_000
# Rules compare calls with each other: nobody's script calls one function more often.
MAX_OF_ONE_NAME = 500
_MAX_DEPTH = 30


@dataclass(frozen=True, slots=True, eq=False)
class CodePlace:
    """A node where it stands; ``name``: its full dotted name where it has one; ``order`` grows down the file."""

    node: ast.AST
    block: CodeBlock
    order: int
    name: str = ""

    @property
    def line(self) -> int:
        """Line of the code, from 1."""
        return int(getattr(self.node, "lineno", 1))


@dataclass(slots=True)
class FileIndex:
    """What a file holds. ``words``: every identifier in it, as an excuse for what a rule would otherwise say."""

    source: SourceCode
    module: CodeBlock
    calls: list[CodePlace] = field(default_factory=list)
    uses: list[CodePlace] = field(default_factory=list)
    imports: list[CodePlace] = field(default_factory=list)
    texts: list[CodePlace] = field(default_factory=list)
    dicts: list[CodePlace] = field(default_factory=list)
    assigned: list[CodePlace] = field(default_factory=list)  # Assign, AnnAssign, AugAssign and Delete statements
    blocks: list[CodeBlock] = field(default_factory=list)
    classes: list[CodePlace] = field(default_factory=list)
    chains: dict[tuple[str, str], list[CodePlace]] = field(default_factory=dict)  # by the last two names of a chain
    words: set[str] = field(default_factory=set)
    by_name: dict[str, list[CodePlace]] = field(default_factory=dict)
    by_method: dict[str, list[CodePlace]] = field(default_factory=dict)
    same: tuple[tuple[str, str], ...] = ()
    memo: dict[str, object] = field(default_factory=dict)  # what several rules work out

    def dotted(self, node: ast.AST | None, block: CodeBlock) -> str:
        """The full name of a name or attribute chain that begins with an import; "" for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MAX_DEPTH:
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        base = self._base(node.id, block)
        return self.usual(".".join([base, *reversed(parts)])) if base else ""

    def _base(self, name: str, block: CodeBlock, depth: int = 0) -> str:
        for scope in block.above():
            if scope.kind not in ("function", "module"):
                continue
            if name in scope.imports:
                return scope.imports[name]
            if name in scope.bound:
                values = scope.bound[name]
                if len(values) == 1 and depth < 5 and isinstance(values[0], (ast.Attribute, ast.Name)):
                    return self._alias(values[0], scope, depth + 1)
                return ""
        return ""

    def _alias(self, node: ast.expr, scope: CodeBlock, depth: int) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MAX_DEPTH:
            parts.append(node.attr)
            node = node.value
        base = self._base(node.id, scope, depth) if isinstance(node, ast.Name) else ""
        return ".".join([base, *reversed(parts)]) if base else ""

    def usual(self, name: str) -> str:
        """The public name of something that a library defines elsewhere."""
        for inner, public in self.same:
            if name == inner or name.startswith(inner + "."):
                return public + name[len(inner) :]
        return name

    def value(self, node: ast.expr | None, block: CodeBlock, depth: int = 0) -> ast.expr | None:
        """A node, or what the only assignment to its name in the nearest scope put there."""
        if not isinstance(node, ast.Name) or depth > 3:
            return node
        for scope in block.above():
            if scope.kind in ("function", "module") and node.id in scope.bound:
                values = scope.bound[node.id]
                one = values[0] if len(values) == 1 else None
                return self.value(one, scope, depth + 1) if one is not None else node
        return node


def build(source: SourceCode, same: Iterable[tuple[str, str]] = ()) -> FileIndex | None:
    """The index of a file, or None where it is too large to walk."""
    module = CodeBlock("module", source.tree, None)
    index = FileIndex(source, module, same=tuple(same), blocks=[module])
    return _resolve(index) if _Walker(index).walk() else None


def _resolve(index: FileIndex) -> FileIndex:
    index.calls = [_named(index, one, one.node.func) for one in index.calls if isinstance(one.node, ast.Call)]
    for one in index.calls:
        assert isinstance(one.node, ast.Call)
        if one.name:
            _put(index.by_name, one.name, one)
        if isinstance(one.node.func, ast.Attribute):
            _put(index.by_method, one.node.func.attr, one)
    index.uses = [place for one in index.uses if (place := _named(index, one, one.node)).name]
    return index


def _put(table: dict[str, list[CodePlace]], name: str, place: CodePlace) -> None:
    rows = table.setdefault(name, [])
    if len(rows) < MAX_OF_ONE_NAME:
        rows.append(place)


def _named(index: FileIndex, one: CodePlace, node: ast.AST) -> CodePlace:
    name = index.dotted(node, one.block)
    return CodePlace(one.node, one.block, one.order, name) if name else one


class _Walker:
    """Fills an index from its tree, in the order of the file."""

    def __init__(self, index: FileIndex) -> None:
        self.index = index
        self.count = 0
        self.stack: list[tuple[ast.AST, CodeBlock]] = []

    def walk(self) -> bool:
        """False when there are too many nodes."""
        self._body(self.index.source.tree.body, self.index.module)
        while self.stack:
            node, block = self.stack.pop()
            self.count += 1
            if self.count > MAX_NODES:
                return False
            self._visit(node, block)
        return True

    def _visit(self, node: ast.AST, block: CodeBlock) -> None:
        index = self.index
        place = CodePlace(node, block, self.count)
        if isinstance(node, ast.Attribute):
            index.words.add(node.attr)
            index.uses.append(place)
            # The inner parts of a chain are no uses of their own.
            inner: ast.expr = node.value
            if isinstance(inner, ast.Attribute):
                index.chains.setdefault((inner.attr, node.attr), []).append(place)
            while isinstance(inner, ast.Attribute):
                index.words.add(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name):
                index.words.add(inner.id)
            else:
                self.stack.append((inner, block))
            return
        if isinstance(node, ast.Name):
            index.words.add(node.id)
            index.uses.append(place)
            return
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                index.texts.append(place)
            return
        handler = getattr(self, f"_{type(node).__name__}", None)
        if handler is not None:
            handler(node, block, place)
            return
        self._children(node, block)

    def _children(self, node: ast.AST, block: CodeBlock) -> None:
        self.stack.extend((child, block) for child in reversed(list(ast.iter_child_nodes(node))))

    def _push(self, block: CodeBlock, *nodes: ast.AST | None) -> None:
        self.stack.extend((node, block) for node in reversed(nodes) if node is not None)

    def _body(self, body: list[ast.stmt], block: CodeBlock) -> None:
        """Statements of a block; a text that stands alone is a comment. After a test for a release all is guarded."""
        rows: list[tuple[ast.AST, CodeBlock]] = []
        for one in body:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                continue
            rows.append((one, block))
            if isinstance(one, ast.If) and not block.guarded and leaves(one.body) and asks_release(one.test):
                block = self._block("body", one, block, guarded=True)
        self.stack.extend(reversed(rows))

    def _block(self, kind: str, node: ast.AST, parent: CodeBlock, guarded: bool = False) -> CodeBlock:
        made = CodeBlock(kind, node, parent, guarded or parent.guarded)  # type: ignore[arg-type]
        self.index.blocks.append(made)
        return made

    def _bind(self, target: ast.AST, value: ast.expr | None, block: CodeBlock) -> None:
        names = [(target, value)]
        while names:
            node, told = names.pop()
            if isinstance(node, ast.Name):
                block.scope.bound.setdefault(node.id, []).append(told)
            elif isinstance(node, (ast.Tuple, ast.List)):
                parts = told.elts if isinstance(told, (ast.Tuple, ast.List)) else []
                fit = len(parts) == len(node.elts) and not any(isinstance(one, ast.Starred) for one in node.elts)
                names.extend((one, parts[at] if fit else None) for at, one in enumerate(node.elts))
            elif isinstance(node, ast.Starred):
                names.append((node.value, None))

    # -- statements

    def _Import(self, node: ast.Import, block: CodeBlock, place: CodePlace) -> None:  # noqa: N802
        for alias in node.names:
            self.index.words.update(alias.name.split("."))
            self.index.imports.append(CodePlace(node, block, place.order, self.index.usual(alias.name)))
            first = alias.name.split(".")[0]
            self._imported(block, alias.asname or first, alias.name if alias.asname else first)

    def _ImportFrom(self, node: ast.ImportFrom, block: CodeBlock, place: CodePlace) -> None:  # noqa: N802
        module = "." * node.level + (node.module or "")
        self.index.words.update((node.module or "").split("."))
        for alias in node.names:
            self.index.words.add(alias.name)
            full = f"{module}.{alias.name}"
            self.index.imports.append(CodePlace(node, block, place.order, self.index.usual(full)))
            self._imported(block, alias.asname or alias.name, full)

    def _imported(self, block: CodeBlock, name: str, full: str) -> None:
        """A name that branches import from different places is none of them for sure."""
        known = block.scope.imports
        known[name] = full if known.get(name, full) == full else ""

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, block: CodeBlock, _: CodePlace) -> None:
        block.scope.bound.setdefault(node.name, []).append(None)
        inner = self._block("function", node, block)
        self._parameters(node.args, inner)
        self._body(node.body, inner)
        self._push(block, *node.decorator_list, *node.args.defaults, *node.args.kw_defaults)

    _FunctionDef = _AsyncFunctionDef = _function

    def _Lambda(self, node: ast.Lambda, block: CodeBlock, _: CodePlace) -> None:  # noqa: N802
        inner = self._block("function", node, block)
        self._parameters(node.args, inner)
        self._push(inner, node.body)

    def _parameters(self, args: ast.arguments, inner: CodeBlock) -> None:
        for one in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if one is not None:
                inner.bound.setdefault(one.arg, []).append(None)

    def _ClassDef(self, node: ast.ClassDef, block: CodeBlock, place: CodePlace) -> None:  # noqa: N802
        block.scope.bound.setdefault(node.name, []).append(None)
        self.index.classes.append(place)
        self._body(node.body, self._block("class", node, block))
        self._push(block, *node.decorator_list, *node.bases, *node.keywords)

    def _If(self, node: ast.If, block: CodeBlock, _: CodePlace) -> None:  # noqa: N802
        asks = asks_release(node.test)
        if node.orelse:
            self._body(node.orelse, self._block("branch", node, block, guarded=asks))
        self._body(node.body, self._block("branch", node, block, guarded=asks))
        self._push(block, node.test)

    def _IfExp(self, node: ast.IfExp, block: CodeBlock, _: CodePlace) -> None:  # noqa: N802
        inner = self._block("branch", node, block, guarded=asks_release(node.test))
        self._push(inner, node.body, node.orelse)
        self._push(block, node.test)

    def _loop(self, node: ast.For | ast.AsyncFor, block: CodeBlock, place: CodePlace) -> None:
        self.index.assigned.append(place)
        self._bind(node.target, None, block)
        self._body(node.orelse, block)
        self._body(node.body, self._block("loop", node, block))
        self._push(block, node.target, node.iter)

    _For = _AsyncFor = _loop

    def _While(self, node: ast.While, block: CodeBlock, _: CodePlace) -> None:  # noqa: N802
        self._body(node.orelse, block)
        inner = self._block("loop", node, block)
        self._body(node.body, inner)
        self._push(inner, node.test)

    def _Try(self, node: ast.Try, block: CodeBlock, _: CodePlace) -> None:  # noqa: N802
        guarded = guards(node)
        self._body(node.finalbody, block)
        self._body(node.orelse, self._block("body", node, block, guarded=guarded))
        for handler in reversed(node.handlers):
            self._body(handler.body, self._block("branch", handler, block, guarded=guarded))
        self._body(node.body, self._block("body", node, block, guarded=guarded))

    _TryStar = _Try

    def _with(self, node: ast.With | ast.AsyncWith, block: CodeBlock, _: CodePlace) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._bind(item.optional_vars, None, block)
        self._body(node.body, self._block("body", node, block))
        self._push(block, *[item.context_expr for item in node.items])

    _With = _AsyncWith = _with

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, block: CodeBlock, place: CodePlace) -> None:
        self.index.assigned.append(place)
        plain = not isinstance(node, ast.AugAssign)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self._bind(target, node.value if plain else None, block)
        self._children(node, block)

    _Assign = _AnnAssign = _AugAssign = _assign

    def _Delete(self, node: ast.Delete, block: CodeBlock, place: CodePlace) -> None:  # noqa: N802
        self.index.assigned.append(place)
        self._children(node, block)

    # -- expressions

    def _NamedExpr(self, node: ast.NamedExpr, block: CodeBlock, _: CodePlace) -> None:  # noqa: N802
        self._bind(node.target, node.value, block)
        self._push(block, node.value)

    def _comprehension(self, node: ast.comprehension, block: CodeBlock, _: CodePlace) -> None:
        self._bind(node.target, None, block)
        self._children(node, block)

    def _keyword(self, node: ast.keyword, block: CodeBlock, _: CodePlace) -> None:
        if node.arg:
            self.index.words.add(node.arg)
        self._push(block, node.value)

    def _Call(self, node: ast.Call, block: CodeBlock, place: CodePlace) -> None:  # noqa: N802
        self.index.calls.append(place)
        self._children(node, block)

    def _Dict(self, node: ast.Dict, block: CodeBlock, place: CodePlace) -> None:  # noqa: N802
        self.index.dicts.append(place)
        self._children(node, block)
