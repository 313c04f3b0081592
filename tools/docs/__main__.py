"""``python -m tools.docs [NAME...]``: write all pages and pictures that are made from the code anew, or those named."""

from __future__ import annotations

import asyncio
import sys

from rocdoctor.host import output
from tools.docs.pages import DOCS, FIXTURES, PAGES


def main(names: list[str]) -> int:
    """Write them, and name those that changed; 2 for a name that is none."""
    wrong = [name for name in names if name not in (*PAGES, "pictures")]
    if wrong:
        output.note(f"no page '{wrong[0]}'; there are {', '.join(PAGES)} and pictures", "")
        return 2
    made = {f"{name}.md": page() for name, page in PAGES.items() if name in names or not names}
    if "pictures" in names or not names:
        from tools.docs.pictures import PICTURES, draw

        for one in PICTURES:
            drawn = asyncio.run(draw(FIXTURES / f"{one.fixture}.capture", one))
            made[f"pictures/{one.name}.svg"] = drawn
    for name, text in made.items():
        path = DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            output.note(f"wrote docs/{name}", "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
