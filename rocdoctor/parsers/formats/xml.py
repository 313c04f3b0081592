"""A small XML reader for hostile and damaged text: a bounded element tree with line numbers.

Entities are never declared or expanded and nothing is fetched: a document type with an external id (``hwloc2.dtd``,
``nvsmi_device_v12.dtd``) is read over, one with an internal subset is refused. Damage ends the reading; what stood
before it is kept and flagged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from rocdoctor.model.lazy_re import regex

MAX_CHARACTERS = 16 * 1024 * 1024
MAX_DEPTH = 200
MAX_ELEMENTS = 100_000
# Expat is fed in pieces, so that an oversized document costs no second copy of itself.
_CHUNK = 1 << 20
_PROLOG = regex(r"<(?:\?xml\b|!DOCTYPE\b)")
_START = regex(r"<(?:!--|[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Element:
    """One element: ``line`` (from 1) is that of its start tag, ``text`` its own character data, children's left out."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The character data, trimmed."""
        return "".join(self.pieces).strip()

    def get(self, name: str) -> str | None:
        """An attribute, or None where it does not stand."""
        return self.attributes.get(name)

    def child(self, *tags: str) -> Element | None:
        """The first child with one of the tags, the tags being tried in their order."""
        for tag in tags:
            for one in self.children:
                if one.tag == tag:
                    return one
        return None

    def find(self, path: str) -> Element | None:
        """The first element at ``a/b/c`` below this one; every branch of repeated tags is looked at."""
        return next(self.find_all(path), None)

    def find_all(self, path: str) -> Iterator[Element]:
        """Every element at ``a/b/c`` below this one, in document order."""
        head, _, rest = path.partition("/")
        for one in self.children:
            if one.tag == head:
                if rest:
                    yield from one.find_all(rest)
                else:
                    yield one

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in document order."""
        stack: list[Element] = [self]
        while stack:
            one = stack.pop()
            yield one
            stack.extend(reversed(one.children))


@dataclass(frozen=True, slots=True)
class XmlDocument:
    """What could be read.

    ``root`` is None without any element. ``truncated`` means that the root element was not closed: cut, damaged, or
    beyond the bounds; ``error`` then says why. Text after the root element (messages of the tool) is no damage.
    """

    root: Element | None
    truncated: bool
    error: str | None = None


class _StopReading(Exception):
    pass


class _Builder:
    def __init__(self, first_line: int, max_elements: int, max_depth: int) -> None:
        self.root: Element | None = None
        self.open: list[Element] = []
        self.closed = False
        self.count = 0
        self.first_line = first_line
        self.max_elements = max_elements
        self.max_depth = max_depth
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.doctype
        # No entity can be declared without an internal subset; this one holds should expat ever see it differently.
        self.parser.EntityDeclHandler = self.entity
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > self.max_elements:
            raise _StopReading(f"more than {self.max_elements} elements")
        if len(self.open) >= self.max_depth:
            raise _StopReading(f"nested deeper than {self.max_depth} elements")
        element = Element(tag, attributes, self.parser.CurrentLineNumber + self.first_line - 1)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()
        self.closed = not self.open

    def text(self, data: str) -> None:
        # White space between elements is the bulk of such files and says nothing.
        if self.open and not data.isspace():
            self.open[-1].pieces.append(data)

    def doctype(self, _name: str, _system: str | None, _public: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            raise _StopReading("a document type with an internal subset is refused")

    def entity(self, *_declaration: object) -> None:
        raise _StopReading("entity declarations are refused")


def parse_xml(text: str, max_elements: int = MAX_ELEMENTS, max_depth: int = MAX_DEPTH) -> XmlDocument:
    """Reads one XML document; text before it (a warning of the tool) is skipped, text after it ignored.

    Never raises, never opens anything. At most ``MAX_CHARACTERS`` are read.
    """
    begin = _PROLOG.search(text) or _START.search(text)
    if begin is None:
        return XmlDocument(None, False, "no XML in this text")
    offset = begin.start()
    builder = _Builder(text.count("\n", 0, offset) + 1, max_elements, max_depth)
    error: str | None = None
    end = min(len(text), offset + MAX_CHARACTERS)
    try:
        for at in range(offset, end, _CHUNK):
            builder.parser.Parse(text[at : min(at + _CHUNK, end)].encode("utf-8", "replace"), False)
            if builder.closed:
                break
        if not builder.closed:
            builder.parser.Parse(b"", True)
            error = "the document ends before its root element"
    except _StopReading as stop:
        error = str(stop)
    except expat.ExpatError as damage:
        error = f"{expat.ErrorString(damage.code)} in line {damage.lineno + builder.first_line - 1}"
    finally:
        _release(builder)
    if builder.closed:
        return XmlDocument(builder.root, False)
    return XmlDocument(builder.root, True, error)


def _release(builder: _Builder) -> None:
    # The bound methods make a cycle of parser and builder that would keep the whole tree until a collection.
    builder.parser.StartElementHandler = None
    builder.parser.EndElementHandler = None
    builder.parser.CharacterDataHandler = None
    builder.parser.StartDoctypeDeclHandler = None
    builder.parser.EntityDeclHandler = None
