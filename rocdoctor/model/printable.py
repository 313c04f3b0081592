"""Text from outside made safe to print: nothing in it may drive a terminal, hide, or reorder what is read."""

from __future__ import annotations

from rocdoctor.model.lazy_re import regex

_UNSAFE = regex(
    # Strings that a terminal takes in up to a terminator (titles, clipboard); unterminated, only their start goes.
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,500}(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|\x1b[ -/]{0,8}[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # what is left of control characters
)
_BLANKS = regex(r"\s+")
# Categories of characters without a shape: format marks (direction, joiners, tags), line and paragraph separators,
# halves of characters. Those of _NAMELESS are shown as one sign, since nobody can say what a font makes of them.
_SHAPELESS = frozenset(("Cc", "Cf", "Zl", "Zp", "Cs"))
_NAMELESS = frozenset(("Co", "Cn"))
_REPLACEMENT = "\ufffd"
# Default_Ignorable_Code_Point of DerivedCoreProperties.txt (Unicode 14.0 to 16.0) as far as the categories above do not
# cover it: letters and marks that are drawn as nothing. https://www.unicode.org/Public/UCD/latest/ucd/
_IGNORABLE = frozenset(
    (
        0x34F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        *range(0x180B, 0x1810),
        0x2065,
        0x3164,
        *range(0xFE00, 0xFE10),
        0xFFA0,
        *range(0xFFF0, 0xFFF9),
    )
)
_IGNORABLE_PLANE = range(0xE0000, 0xE1000)  # tags, more variation selectors, and what is reserved for the like
# Prepended_Concatenation_Mark of PropList.txt: format marks by category, though drawn (Arabic and Syriac numbers).
_DRAWN = frozenset((*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))


def clean(text: str) -> str:
    """The text without control sequences and invisible characters; tabs and line ends stay."""
    if text.isascii() and text.isprintable():
        return text
    text = _UNSAFE.sub("", text)
    if text.isascii():
        return text
    changed = {ord(sign): _shown(sign) for sign in hidden(text)}
    return text.translate(changed) if changed else text


def hidden(text: str) -> set[str]:
    """The characters of the text that are not shown as they are, control characters of ASCII apart."""
    return set() if text.isascii() else {sign for sign in set(text) if _shown(sign) != sign}


def _shown(sign: str) -> str:
    code = ord(sign)
    if code < 0x7F or code in _DRAWN:
        return sign
    if code in _IGNORABLE or code in _IGNORABLE_PLANE:
        return ""
    from unicodedata import category  # a table of its own, for what is not ASCII alone

    kind = category(sign)
    return "" if kind in _SHAPELESS else _REPLACEMENT if kind in _NAMELESS else sign


def one_line(text: str) -> str:
    """The text without control sequences, in one line."""
    return _BLANKS.sub(" ", clean(text)).strip()


def spelled(name: str) -> str:
    """A name in one line: as it is, or, with signs that nobody sees, as bash reads it (``$'a\\nb.sh'``)."""
    if name.isascii() and name.isprintable():
        return name
    odd = {sign for sign in set(name) if sign in "\n\t\r" or clean(sign) != sign}
    if not odd:
        return name
    return "$'" + "".join(_typed(sign) if sign in odd or sign in "\\'" else sign for sign in name) + "'"


_TYPED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}
_BYTES = range(0xDC80, 0xDD00)  # bytes of a name that is no UTF-8, as Python has them


def _typed(sign: str) -> str:
    code = ord(sign)
    if code in _BYTES:
        return f"\\x{code - 0xDC00:02x}"
    wide = f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return _TYPED.get(sign, wide)
