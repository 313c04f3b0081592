"""Files that are one output of a program from the first character to the last, known by how they begin."""

from __future__ import annotations

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer
from rocdoctor.model.lazy_re import regex

_HEAD = 20_000
_XML = r"\A\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!DOCTYPE[^>]{0,200}>\s*)?"
_FORMS = (
    ("run lstopo-no-graphics --of xml", regex(_XML + r"<topology\b")),
    ("run rccl_topo_dump.xml", regex(r"\A\s*(?:<!--[\s\S]{0,2000}?-->\s*)?<system\b[^>]{0,200}>\s*<cpu\b")),
    ("run nvidia-smi -q -x", regex(_XML + r"<nvidia_smi_log\b")),
    ("run rocm-smi -a --json", regex(r'\A\s*\{\s*"(?:card\d{1,3}|system)"\s*:\s*\{')),
)


def whole_output(text: str) -> Answer | None:
    """The answer that the text is as a whole; None for every other text."""
    head = text[:_HEAD].lstrip("\ufeff")
    question = next((question for question, form in _FORMS if form.match(head)), None)
    if question is None:
        return None
    return Answer(question, "ok", text.encode()[:MAX_ANSWER_BYTES].rstrip(b"\n"), complete=False)
