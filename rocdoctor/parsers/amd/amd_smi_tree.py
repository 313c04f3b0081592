"""The indented text of amd-smi ("GPU: 0", "    ASIC:", "        NAME: ...") as the tree that its JSON would be."""

from __future__ import annotations

import re

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.json_text import Json, JsonText, Path

MAX_DEPTH = 24
MAX_NODES = 200_000

_ENTRY = regex(r"( *)([A-Za-z][A-Za-z0-9_ ()/.-]{0,60}):(?:\s(.*)|\s*)\Z")


def read_tree(lines: list[str]) -> JsonText | None:
    """A list with one object per "GPU: N" block, keys in lower case, values as text; None where there is no block.

    Deeper indentation opens an object under the line above. Lines that are no "KEY: value" are left in ``before``
    (ahead of the first block) or passed over.
    """
    roots: list[Json] = []
    places: dict[Path, int] = {(): 1}
    before: list[str] = []
    # (indent, path, object) of each open level; the first is the GPU block itself.
    stack: list[tuple[int, Path, dict[str, Json]]] = []
    last: tuple[int, Path, str] | None = None
    repeats: dict[tuple[int, str], int] = {}
    nodes = 0
    for number, line in enumerate(lines, 1):
        match = _ENTRY.match(line) if len(line) < 2000 else None
        if match is None:
            if not stack and line.strip():
                before.append(line.strip())
            continue
        indent, key, value = len(match.group(1)), match.group(2).strip().lower(), (match.group(3) or "").strip()
        if key == "gpu" and re.match(r"\d{1,4}\Z", value) and (not stack or indent <= stack[0][0]):
            block: dict[str, Json] = {"gpu": int(value)}
            roots.append(block)
            path: Path = (len(roots) - 1,)
            places[path] = number
            stack, last = [(indent, path, block)], None
            continue
        if not stack:
            before.append(line.strip())
            continue
        nodes += 1
        if nodes > MAX_NODES:
            break
        if indent <= stack[0][0]:
            # Something of the text around the output: this block ends here.
            stack, last = [], None
            before.append(line.strip())
            continue
        if last is not None and indent > last[0] and len(stack) < MAX_DEPTH:
            opened: dict[str, Json] = {}
            parent = stack[-1][2]
            if parent.get(last[2]) not in (None, ""):
                opened["value"] = parent[last[2]]
            parent[last[2]] = opened
            stack.append((last[0], (*last[1], last[2]), opened))
        while len(stack) > 1 and indent <= stack[-1][0]:
            stack.pop()
        _, path, container = stack[-1]
        # A key that comes again (one PROCESS_INFO a process) gets a number behind it.
        count = repeats[(id(container), key)] = repeats.get((id(container), key), 0) + 1
        name = key if count == 1 else f"{key} {count}"
        container[name] = value
        place = (*path, name)
        places[place] = number
        last = (indent, path, name)
    if not roots:
        return None
    return JsonText(roots, places[(0,)], True, places, tuple(before[:1000]))
