"""Signs of a text replaced by others, fast beyond ASCII too."""

from __future__ import annotations


def translated_bytes(text: str, table: bytes) -> str:
    """The text with ASCII signs replaced by others, where Python itself is a hundred times as slow: beyond ASCII.

    ``table``: of all 256 bytes, with those above 127 as they are.
    """
    return text.encode("utf-8", "surrogatepass").translate(table).decode("utf-8", "surrogatepass")
