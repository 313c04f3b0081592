"""The documentation site: mkdocs builds it without a warning, and all that its pages lead to is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.kit import ROOT
from tests.project.site_pages import DOCS
from tests.train.emit.readers import venvs
from tools.site import repository_links

_CONFIG = ROOT / "tools" / "site" / "mkdocs.yml"


class _Page(HTMLParser):
    """What a page is named by, what it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or tag == "link":
            self.loads.append(given.get("src") or given.get("href", ""))


@pytest.mark.reader
def test_the_site_builds_strictly_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    program = venvs.reader("site").with_name("mkdocs")
    words: list[str | Path] = [program, "build", "--strict", "-f", _CONFIG, "-d", tmp_path]
    done = venvs.run(words, environment={"NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {path: _Page(path) for path in tmp_path.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 35
    wrong = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = pages[there].names if there in pages else set[str]()
            if not there.exists() or (parts.fragment and there in pages and unquote(parts.fragment) not in names):
                wrong.append(f"{path.relative_to(tmp_path)}: {link}")
    assert wrong == []
    assert [one for page in pages.values() for one in page.loads if re.match(r"(https?:)?//", one)] == []
    assert {"pictures/overview.svg", "pictures/findings.svg"} <= set(pages[tmp_path / "index.html"].loads)


def _nav() -> Iterator[str]:
    yield from re.findall(r"^ +- (?:[\w -]+: )?(\S+\.md)$", _CONFIG.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_page_has_its_place_in_the_list() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(repository_links.PROJECT.values())
    assert sorted(_nav()) == sorted(pages)


def test_links_out_of_the_documentation_are_moved() -> None:
    page = DOCS / "decisions" / "code.md"
    for text, expected in (
        ("[x](../../checks/swap_heavy.py)", "[x](../source/checks/swap_heavy.py.txt)"),
        ("[`x`](../../CONTRIBUTING.md#style) `[y](../z)`", "[`x`](../project/contributing.md#style) `[y](../z)`"),
        ("[x](../smoke.md#modes) [y](https://a.b/c) [z](#here)",) * 2,
        ("```sh\n[x](../../LICENSE)\n```",) * 2,
        ("`a(?<![b])` and `c`", "<code>a&#40;&#63;&#60;&#33;&#91;b&#93;&#41;</code> and `c`"),
    ):
        assert repository_links.moved(text, page) == expected
    readme = repository_links.moved("![x](docs/pictures/overview.svg) [y](SECURITY.md)", ROOT / "README.md")
    assert readme == "![x](../pictures/overview.svg) [y](security.md)"


def test_the_tests_build_with_what_the_extra_names() -> None:
    (line,) = re.findall(r'^site = \["(\S+)>=([\d.]+),<10"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    ((recipe,),) = venvs.RECIPES["site"].commands
    assert recipe.startswith(f"{line[0]}=={line[1]}")
