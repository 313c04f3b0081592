"""``docs/checks.md``: the manual pages of all checks, from their docstrings. ``python -m tools.docs`` writes it."""

from __future__ import annotations

from rocdoctor.judging.loading import check_files, checks_folder, manual_of, name_of

_SECTIONS = ("Why", "Fix", "References")


def page(name: str, manual: str) -> str:
    """One check as markdown: the title, then each section as a paragraph under its name."""
    lines = manual.strip().split("\n")
    out = [f"## {name}", "", lines[0].strip(), ""]
    for line in lines[1:]:
        word = line.strip()
        if word in _SECTIONS and not line.startswith(" "):
            out += [f"**{word}**", ""]
        else:
            out.append(word)
    text = "\n".join(out)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.rstrip() + "\n"


def manual() -> str:
    """The whole document."""
    pages = [(name_of(path), manual_of(path)) for path in check_files(checks_folder())]
    head = (
        f"# Checks\n\nMade from the docstrings of `checks/*.py` by `python -m tools.docs`.\n\n{len(pages)} checks:\n\n"
    )
    index = "".join(f"- [{name}](#{name}): {text.strip().splitlines()[0]}\n" for name, text in pages)
    return head + index + "\n" + "\n".join(page(name, text) for name, text in pages)
