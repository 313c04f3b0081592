"""An estimate as a document: the verdict, the terms of the memory, the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rocdoctor.report.document import GAP, Block, Heading, Para, Row, Title
from rocdoctor.report.plan.recommend_document import TERMS

_VERDICTS = {"yes": "It fits", "tight": "It is tight", "no": "It does not fit"}
_TERMS = (
    *TERMS,
    ("live_peak", "in use at the peak, not all at once (max_memory_allocated)"),
    ("reserved", "held by the allocator (max_memory_reserved)"),
)
_COLUMN = 14


def document(answer: Mapping[str, Any]) -> Iterator[Block]:
    """The whole answer; ``answer`` is that of ``rocdoctor.estimate/1``."""
    memory = answer["memory_gib"]
    yield Title("rocdoctor estimate")
    yield Para(
        f"{_VERDICTS[answer['fits']]}: {memory['low']:.1f} to {memory['high']:.1f} GiB per GPU, "
        f"{0.92 * memory['usable']:.1f} GiB available to a plan ({memory['usable']:.1f} GiB usable)",
        bold=True,
    )
    rate = answer["tokens_per_s_per_gpu"]
    if rate is None:
        yield Para("Speed is not known for this GPU")
    else:
        yield Para(f"About {rate:.0f} tokens/s per GPU, MFU {100 * answer['mfu']:.1f} %, bound by {answer['bound_by']}")
    yield GAP
    yield Heading("Memory of one GPU")
    for key, words in _TERMS:
        yield Row(f"{memory[key]:8.2f} GiB".ljust(_COLUMN), words, "  ", _COLUMN)
    yield GAP
    yield Heading("Why")
    for reason in answer["why"]:
        yield Para(reason, "  ", "    ", item=True)
    trace = answer.get("trace")
    if trace is not None:
        yield GAP
        yield Para(f"Trace {_trace(trace)}", "", "  ")


def _trace(trace: Mapping[str, Any]) -> str:
    if trace["state"] != "used":
        return f"not available, the figures are the closed form's: {trace['why']}"
    return f"used (torch {trace['torch']}): {trace['live_peak']:.2f} GiB live, most in the {trace['at']}"
