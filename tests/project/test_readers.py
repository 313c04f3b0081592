"""What nobody reads is not kept: each name of a module and each field of a record has a reader in the product.

Names are compared without their types, so what shares its name with something that is read is not found. A text
counts as a reader too (``getattr``, keys), but not in the parsers, which fill their records by such words.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.kit import ROOT

# Who reads what no code of ours reads, by the end of a name or a part of its file's path.
ALLOWED = {
    "checks/": "loaded by the names of their files",
    "Page": "loaded by the name of its area",
    "DEFAULT_CSS": "Textual",
    "COMPONENT_CLASSES": "Textual",
    "render_line": "Textual",
    "render_segments": "Textual",
    "tui/kept_rules.py reparse": "Textual",
    "tui/kept_rules.py set_variables": "Textual",
    "find_class": "pickle",
    "knowledge/gpus/": "records of tables say what the table says",
    "install/amd_drivers.py": "the same",
}


def _reads(tree: ast.AST, texts: bool) -> Iterator[str]:
    passed_on = {id(name) for node in ast.walk(tree) if _is_all(node) for name in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in passed_on:  # nobody reads a name by listing it in ``__all__``
            continue
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (one.name for one in node.names if one.asname)
        elif texts and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == ["__all__"]


def _definitions(body: list[ast.stmt], fields: bool = False) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.AnnAssign) or (isinstance(node, ast.Assign) and not fields):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((one.id, node) for one in targets if isinstance(one, ast.Name))
        yield from _definitions(node.body, True) if isinstance(node, ast.ClassDef) else ()


def _unread(sources: dict[str, str]) -> list[str]:
    trees = {path: ast.parse(text) for path, text in sources.items()}
    total = Counter(name for path, tree in trees.items() for name in _reads(tree, "/parsers/" not in path))
    own = ((p, n, at) for p, tree in trees.items() for n, at in _definitions(tree.body) if _counts(n, at, tree))
    rare = ((path, name, at) for path, name, at in own if total[name] < 9)  # no function calls itself that often
    return [f"{path} {name}" for path, name, at in rare if total[name] <= [*_reads(at, True)].count(name)]


def _counts(name: str, at: ast.stmt, tree: ast.Module) -> bool:
    """Public names everywhere, private ones of the module alone: those of a class may be called by their names."""
    return not name.startswith("__") and (not name.startswith("_") or any(at is one for one in tree.body))


def test_everything_has_a_reader() -> None:
    paths = [path for folder in ("rocdoctor", "checks", "tools") for path in (ROOT / folder).rglob("*.py")]
    found = _unread({path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths})
    handlers = (" on_", " action_", " watch_")  # Textual calls them by name
    left = [one for one in found if not any(word in one for word in handlers)]
    assert [one for one in left if not any(one.endswith(key) or key in one for key in ALLOWED)] == []


def test_what_has_none_is_found() -> None:
    record = "class Gpu:\n    name: str\n    brand: str\n\ndef parse(text):\n    return Gpu('name', 'brand')\n"
    found = _unread({"a/parsers/x.py": record, "a/y.py": "def again():\n    again()\n    return parse('').name\n"})
    assert found == ["a/parsers/x.py brand", "a/y.py again"]
    listed = "from a.z import far\n__all__ = ['far']\n_LEFT, _used = 1, 2\n_OLD = _used\n"
    assert _unread({"a/__init__.py": listed, "a/z.py": "def far():\n    pass\n"}) == [
        "a/__init__.py _OLD",
        "a/z.py far",
    ]
