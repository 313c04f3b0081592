"""XML reader: bounds, refusals and damage. All samples are constructed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.formats.xml import parse_xml

WHOLE = '<?xml version="1.0"?>\n<a x="1">\n  <b>one</b>\n  <c><b>two</b></c>\n  <b>three &amp; four</b>\n</a>\n'


def test_tree_with_lines() -> None:
    document = parse_xml(WHOLE)
    root = document.root
    assert root is not None
    assert (root.tag, root.get("x"), root.get("y"), root.line) == ("a", "1", None, 2)
    assert [(one.text, one.line) for one in root.find_all("b")] == [("one", 3), ("three & four", 5)]
    found = root.find("c/b")
    assert found is not None and found.text == "two"
    assert root.find("c/d") is None
    assert [one.tag for one in root.walk()] == ["a", "b", "c", "b", "b"]
    assert not document.truncated and document.error is None


def test_find_looks_at_every_branch() -> None:
    root = parse_xml("<a><p/><p><q>x</q></p></a>").root
    found = None if root is None else root.find("p/q")
    assert found is not None and found.text == "x"


def test_text_around_the_document_is_no_damage() -> None:
    document = parse_xml("WARNING: infoROM <is> corrupted\n\n" + WHOLE + "\nerror: a < b & c\n")
    assert document.root is not None and not document.truncated
    assert document.root.line == 4


@pytest.mark.parametrize("cut", range(len('<?xml version="1.0"?>\n<a x="1">'), len(WHOLE) - 2, 7))
def test_cut_keeps_what_stood_before(cut: int) -> None:
    document = parse_xml(WHOLE[:cut])
    assert document.root is not None and document.root.tag == "a"
    assert document.truncated and document.error


def test_damage_keeps_what_stood_before() -> None:
    document = parse_xml("\n<a>\n<b>1</b>\n<b>2</a>\n")
    assert document.truncated
    assert document.root is not None and [one.text for one in document.root.find_all("b")] == ["1", "2"]
    assert document.error == "mismatched tag in line 4"


def test_external_document_type_is_read_over() -> None:
    root = parse_xml('<!DOCTYPE t SYSTEM "hwloc2.dtd"><t><u/></t>').root
    assert root is not None and root.child("u") is not None


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE a [<!ENTITY x "yyyy">]>',
        '<!DOCTYPE a [<!ATTLIST a b CDATA "yyyy">]>',
        '<!DOCTYPE a SYSTEM "a.dtd" [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1/">%p;]>',
    ],
)
def test_internal_subset_is_refused(head: str) -> None:
    document = parse_xml(head + "<a>&x;</a>")
    assert document.root is None and document.truncated
    assert document.error is not None and "refused" in document.error


def test_bounds() -> None:
    deep = parse_xml("<a>" * 50, max_depth=10)
    assert deep.truncated and deep.error == "nested deeper than 10 elements"
    many = parse_xml("<a>" + "<b/>" * 50 + "</a>", max_elements=20)
    assert many.truncated and many.root is not None and len(many.root.children) == 19
    very_deep = parse_xml("<a>" * 20_000)
    assert very_deep.truncated


def test_encoding_in_the_declaration_does_not_matter() -> None:
    root = parse_xml('<?xml version="1.0" encoding="ISO-8859-1"?><a>53 °C\ud800</a>').root
    assert root is not None and root.text == "53 °C?"


def test_no_xml() -> None:
    document = parse_xml("No devices were found\n")
    assert document.root is None and not document.truncated


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b x='1'>", "</b>", "&lt;", "&x;", "<!--", "-->", "<![CDATA[", "x"])))
def test_any_markup_never_raises(parts: list[str]) -> None:
    parse_xml("".join(parts))
