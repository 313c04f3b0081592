"""What the linter found: a line with file and line first, as compilers write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocdoctor.model.finding import Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import COLOURS, Block, Code, Para, Strong, Title


def document(verdicts: Iterable[Verdict], files: int) -> Iterator[Block]:
    """Every finding with its line, and how many files were read."""
    verdicts = list(verdicts)
    yield Title("rocdoctor lint")
    count = 0
    for verdict in verdicts:
        found = verdict.finding
        if found is None:
            continue
        count += 1
        mark = Strong(found.severity, COLOURS[found.severity])
        sure = "" if found.confidence != "possible" else " (possible)"
        said = f": {one_line(found.message)}{sure} [{verdict.check}]"
        yield Para((Code(one_line(verdict.subject.label)), ": ", mark, said), item=True, folded=False)
        if found.fix is not None:
            yield Para(f"fix: {found.fix.text}", "    ", item=True)
    for verdict in verdicts:
        if verdict.state == "crashed":
            words = f"{verdict.check} crashed on {one_line(verdict.subject.label)}: {one_line(verdict.why)}"
            yield Para(words, folded=False)
    read = "1 file" if files == 1 else f"{files} files"
    found_words = "1 finding" if count == 1 else f"{count} findings"
    yield Para(f"{found_words} in {read}." if count else f"Nothing found in {read}.", folded=False)
