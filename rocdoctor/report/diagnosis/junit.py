"""The report as JUnit XML, for continuous integration and fleet tools."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import clean, spelled

_NOT_XML = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("", clean(text))


def render(diagnosis: Diagnosis, fail_on: str = "warning") -> str:
    """One test case a verdict: errors and warnings fail, unknown and not applicable are skipped, crashes are errors."""
    failing = {"error": ("error",), "info": ("error", "warning", "info")}.get(fail_on, ("error", "warning"))
    suite = Element("testsuite", name="rocdoctor")
    failures = skipped = errors = 0
    for verdict in diagnosis.verdicts:
        case = SubElement(suite, "testcase", classname=verdict.check, name=safe(verdict.subject.label))
        found = verdict.finding
        if found is not None and found.severity in failing:
            failures += 1
            failure = SubElement(case, "failure", type=found.severity, message=safe(found.message))
            lines = [
                f"{one.value}  ({spelled(one.source)}{f':{one.line}' if one.line else ''})" for one in found.evidence
            ]
            if found.fix is not None:
                lines.append(f"fix: {found.fix.text} {found.fix.command}".strip())
            failure.text = safe("\n".join(lines))
        elif found is not None:
            SubElement(case, "system-out").text = safe(f"{found.severity}: {found.message}")
        elif verdict.state in ("unknown", "not-applicable"):
            skipped += 1
            SubElement(case, "skipped", message=safe(f"{verdict.state}: {verdict.why}"))
        elif verdict.state == "crashed":
            errors += 1
            SubElement(case, "error", message=safe(verdict.why))
    suite.attrib |= {
        "tests": str(len(diagnosis.verdicts)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(skipped),
    }
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"
