"""The page of a finding, drawn for many machines without an app."""

from __future__ import annotations

import re
from itertools import cycle

import pytest
from rich.cells import cell_len

from rocdoctor.host.base import Answer, Host
from rocdoctor.judging.subjects import sentence
from rocdoctor.model.evidence import Reason, Source, Unknown
from rocdoctor.model.finding import Evidence, Finding, Fix, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.question_commands import command_of
from rocdoctor.model.subject import MACHINE
from rocdoctor.service.evidence import open_evidence
from rocdoctor.tui.findings.details import Details, look_up, recorded, steps_for
from rocdoctor.tui.findings.excerpt import ExcerptLine
from rocdoctor.tui.findings.finding_page import clipped, page, plain
from rocdoctor.tui.findings.findings_list import FindingsRow, sections
from rocdoctor.tui.findings.manual_page import paragraphs
from rocdoctor.tui.findings.manual_page import sections as manual_sections
from tests.golden.replay import host_of, judged, our_checks
from tests.kit import named
from tests.tui.findings.finding_kit import BROKEN, FAULTY, LiveCapture, diagnosis_of, every_machine, failed
from tests.tui.findings.finding_kit import recorded as recorded_live


def _rows(host: Host, check: str = "") -> list[FindingsRow]:
    return [row for one in sections(judged(host)) for row in one.rows if check in ("", row.check)]


def _page(host: Host, check: str, width: int = 78) -> str:
    row = _rows(host, check)[0]
    diagnosis = judged(host)
    return page(row, diagnosis, look_up(host, row, diagnosis), width).plain


def test_a_page_has_the_sentence_the_lines_the_fix_and_why() -> None:
    text = _page(BROKEN["override of another family"](), "gfx-override-mismatch")
    assert text.split("\n")[:2] == ["error  gfx-override-mismatch  gpu 0-1 (0000:03:00.0, 0000:06:00.0)", ""]
    assert "\nroot cause, the one to do first: HSA_OVERRIDE_GFX_VERSION is wrong here\n" in text
    assert "Each of these GPUs is gfx1100, but HSA_OVERRIDE_GFX_VERSION makes it run" in text
    assert "  > 19 | gfx_target_version 110000\n    20 | vendor_id 4098" in text
    assert "  HSA_OVERRIDE_GFX_VERSION=10.3.0  from env:2\n" in text
    assert "  > 2 | HSA_OVERRIDE_GFX_VERSION=10.3.0" in text
    assert "The same of gpu 1:\n    gpu 1 (0000:06:00.0): gfx1100  from read" in text
    assert "Fix  safe; takes effect at once" in text
    assert "\n      unset HSA_OVERRIDE_GFX_VERSION\n" in text
    assert "Verify  key v\n      rocdoctor check gfx-override-mismatch\n" in text
    assert "Why it matters\n  The variable replaces the target" in text
    assert "References\n  https://llvm.org/docs/AMDGPUUsage.html#processors\n" in text


def test_the_fix_stands_before_what_shows_the_fault() -> None:
    """A small terminal has room for one of them, and a person asks first what to type."""
    text = _page(BROKEN["override of another family"](), "gfx-override-mismatch")
    places = [text.index(one) for one in ("Each of these GPUs", "Fix  safe", "unset HSA", "root cause", "Evidence")]
    assert places == sorted(places)


def test_what_to_do_first_needs_no_scrolling_on_a_small_terminal() -> None:
    """Beside a list of 7 lines a terminal of 80 x 24 has 12 for the page; the beginning of a long fix suffices."""
    seen = 0
    for name, _, diagnosis in every_machine():
        rows = [row for one in sections(diagnosis) for row in one.rows]
        fix = rows[0].finding.fix if rows and rows[0].finding is not None else None
        if fix is None:
            continue
        above = "\n".join(page(rows[0], diagnosis, None, 77).plain.split("\n")[:12])
        said = " ".join(above.split())
        assert " ".join(fix.text.split())[:60] in said, (name, above)
        assert not fix.command or " ".join(fix.command.split()) in said, (name, above)
        seen += bool(fix.command)
    assert seen > 20


def test_many_addresses_stand_behind_the_fix() -> None:
    diagnosis = diagnosis_of(
        failed("made-up", "Something is wrong.", subject=f"gpu {at} (0000:{at:02x}:00.0)", fix=Fix("Mend it"))
        for at in range(8)
    )
    row = sections(diagnosis)[0].rows[0]
    text = page(row, diagnosis, None, 76).plain
    assert text.split("\n")[0] == "error  made-up  gpu 0-7"
    assert text.index("Mend it") < text.index("found at 0000:00:00.0, 0000:01:00.0")
    assert "0000:07:00.0" in text


def test_the_value_is_highlighted_in_its_line() -> None:
    host = BROKEN["uncorrectable errors"]()
    row = _rows(host, "ras-uncorrectable")[0]
    text = page(row, judged(host), look_up(host, row, judged(host)), 78)
    marked = [text.plain[span.start : span.end] for span in text.spans if "reverse" in str(span.style)]
    assert marked == ["3"]
    assert "  > 1 | ue: 3" in text.plain


def test_no_line_is_wider_than_the_page_but_words_that_cannot_be_broken() -> None:
    widths = cycle([(56,), (76,), (110,)])  # each row at one of them, each check at all
    for name, host, diagnosis in every_machine():
        rows = [row for one in sections(diagnosis) for row in one.rows]
        for row in [row for row in rows if row.state == "fail"] + [row for row in rows if row.state == "unknown"][:6]:
            details = look_up(host, row, diagnosis)
            for width in next(widths):
                text = page(row, diagnosis, details, width).plain
                for line in text.split("\n"):
                    command = line.startswith("      ")
                    lone = len(line.split()) <= 2
                    assert cell_len(line) <= width or command or lone, (name, row.check, width, line)
                assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b]", text), (name, row.check)


def test_every_finding_shows_its_message_its_values_and_its_command() -> None:
    for name, host, diagnosis in every_machine():
        for row in [row for one in sections(diagnosis) for row in one.rows if row.finding is not None]:
            found = row.finding
            assert found is not None
            whole = one_line(plain(row, diagnosis, look_up(host, row, diagnosis)))
            message = sentence(found.message, [one.subject for one in row.members])
            assert one_line(message) in whole, (name, row.check)
            for member in row.members:
                for one in member.finding.evidence if member.finding is not None else ():
                    assert one_line(one.value)[:100] in whole, (name, row.check, one.value)
            if found.fix is not None:
                assert one_line(found.fix.command) in whole, (name, row.check)
            assert "Why it matters" in whole, (name, row.check)


def test_nearly_all_values_that_were_read_on_a_line_are_shown_with_it() -> None:
    shown, bare = 0, []
    for name, host, diagnosis in every_machine():
        for row in [row for one in sections(diagnosis) for row in one.rows if row.finding is not None]:
            for one in look_up(host, row, diagnosis).shown:
                if any(line.marked for line in one.excerpt.lines):
                    shown += 1
                elif any(each.line is not None for each in one.evidence):
                    bare.append((name, row.check, one.source))
    assert not bare
    assert shown > 100


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (FindingsRow("pass", "shm-too-small", (Verdict("shm-too-small", MACHINE, "pass"),)), "nothing is wrong here"),
        (
            FindingsRow("crashed", "shm-too-small", (Verdict("shm-too-small", MACHINE, "crashed", why="KeyError: 3"),)),
            "The check itself broke: KeyError: 3",
        ),
        (
            FindingsRow(
                "not-applicable",
                "shm-too-small",
                (Verdict("shm-too-small", named("m"), "not-applicable", why="no GPU"),),
            ),
            "There is nothing to judge here: no GPU.",
        ),
    ],
)
def test_verdicts_that_are_no_findings_have_a_page_too(row: FindingsRow, words: str) -> None:
    host = host_of("mi300x-8gpu")
    diagnosis = judged(host)
    text = page(row, diagnosis, look_up(host, row, diagnosis), 80).plain
    assert words in text
    assert "What is looked for\n  Shared memory" in text or "What is looked for\n  /dev/shm" in text


def test_how_sure_it_is_is_said_in_words() -> None:
    def text(confidence: str, voice: str) -> str:
        found = Finding("error", "Bad.", (Evidence("v", "text", 1, voice),), confidence=confidence)  # type: ignore[arg-type]
        verdict = Verdict("made-up", MACHINE, "fail", found)
        return page(FindingsRow("fail", "made-up", (verdict,)), diagnosis_of([verdict]), None, 80).plain

    assert "certain" not in text("certain", "program")
    assert "Likely, not certain" in text("likely", "program")
    assert "Only possible: it rests on what is said in words" in text("possible", "words")
    assert "Only possible: it rests on evidence that fits other causes too" in text("possible", "program")


def test_the_risk_and_the_time_of_a_fix_are_said_in_words() -> None:
    def title(**more: str) -> str:
        verdict = failed("made-up", "Bad.", fix=Fix("Do it", "x", **more))  # type: ignore[arg-type]
        text = page(FindingsRow("fail", "made-up", (verdict,)), diagnosis_of([verdict]), None, 80).plain
        return next(line for line in text.split("\n") if line.startswith("Fix"))

    assert title(safety="safe") == "Fix  safe; takes effect at once"
    assert title(safety="manual", effective="new-login").endswith("; takes effect at the next login")
    assert title(safety="reboots", effective="reboot") == "Fix  needs a reboot"
    assert (
        title(safety="risky", effective="reboot") == "Fix  risky: read it before you do it; takes effect after a reboot"
    )


def test_what_follows_from_a_cause_says_so() -> None:
    wheel = failed("wheel", "A CPU wheel.", "error", "wrong-backend-build", ("no-gpu",))
    verdicts = [wheel, failed("no-gpu", "torch sees none.")]
    diagnosis = diagnosis_of(verdicts)
    row = sections(diagnosis)[0].rows[1]
    text = " ".join(page(row, diagnosis, None, 80).plain.split())
    assert "follows from: The installed build is for a different kind of machine; fix that first" in text


def test_many_values_on_many_subjects_are_counted_and_copied_whole() -> None:
    verdicts = [
        failed("hot", "Too hot.", subject=f"gpu {n}", evidence=(Evidence(f"value {n}", f"read /x{n}", 1),))
        for n in range(32)
    ]
    diagnosis = diagnosis_of(verdicts)
    row = sections(diagnosis)[0].rows[0]
    text = page(row, diagnosis, Details(), 100).plain
    assert "... and 19 more values (key y copies all of them)" in text
    assert "value 31" not in text
    assert "value 31" in plain(row, diagnosis, Details())


def test_hostile_text_is_shown_as_it_is_and_drives_nothing() -> None:
    bad = "\x1b[2J[red]boom[/red]\x1b]0;title\x07 \u202edrow"
    verdict = failed("made-up", bad, evidence=(Evidence(bad, bad),), fix=Fix(bad, bad))
    text = page(FindingsRow("fail", "made-up", (verdict,)), diagnosis_of([verdict]), None, 80).plain
    assert "[red]boom[/red]" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)


# -- unknown verdicts


def test_an_unknown_verdict_says_why_and_what_would_answer_it() -> None:
    host = host_of("mi300x-8gpu")
    text = _page(host, "gpu-fell-off-bus")
    assert "Why it is unknown\n  only root can read the kernel log" in text
    assert "What would answer it\n      sudo dmesg | rocdoctor check --add -\n" in text


def _unknown(gap: Unknown) -> FindingsRow:
    return FindingsRow("unknown", "made-up", (Verdict("made-up", MACHINE, "unknown", why=gap.why, gap=gap),))


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("read /proc/meminfo", "cat /proc/meminfo"),
        ("run rocminfo", "rocminfo"),
        ("stat /dev/kfd", "ls -l /dev/kfd"),
        ("space /dev/shm", "df /dev/shm"),
        ("env", "env"),
        ("python default", ""),
        ("smoke quick", ""),
        ("read", ""),
        ("run nvidia-smi -q -x", "nvidia-smi -q -x"),
        ("run nvidia-smi --gpu-reset", ""),
        ("run dmesg --clear", ""),
        ("run /tmp/x/nvidia-smi", ""),
        ("run rm -rf /etc x.xml", ""),
        ("run sh -c 'id' x.xml", ""),
    ],
)
def test_a_question_as_a_command(question: str, command: str) -> None:
    assert command_of(question) == command


def test_steps_are_only_those_that_fit() -> None:
    bundle = host_of("mi300x-8gpu")
    diagnosis = judged(bundle)

    def commands(reason: Reason, question: str, host: Host = bundle) -> list[str]:
        gap = Unknown("words that nobody reads", reason, Source(question) if question else None)
        return [step.command for step in steps_for(host, _unknown(gap), diagnosis)]

    assert commands("not-asked", "read /proc/meminfo") == ["cat /proc/meminfo", "rocdoctor bundle"]
    assert commands("not-asked", "") == ["rocdoctor bundle"]
    assert commands("absent", "read /x") == commands("undecided", "read /x") == commands("undecided", "") == []
    assert commands("denied", "run dmesg") == ["sudo dmesg | rocdoctor check --add -"], "its log needs root"
    assert commands("suspended", "read /x/power/runtime_status") == [], "none of its GPUs sleeps"
    assert commands("not-asked", "python default") == [], "no bundle holds an import that was not asked for"
    live = LiveCapture(bundle)
    assert commands("not-asked", "python default", live) == ["rocdoctor check made-up --import-torch"]
    assert commands("timeout", "python default", live) == []
    assert commands("timeout", "run rocminfo", live) == ["rocminfo"]


def test_a_text_is_told_what_it_lacks() -> None:
    host = open_evidence(str(FAULTY[1]))
    row = next(row for row in _rows(host) if row.state == "unknown" and "does not hold" not in row.why)
    assert "rocdoctor bundle" in [step.command for step in steps_for(host, row, judged(host))]


# -- the answers that were recorded


def test_a_live_machine_is_not_asked_for_the_lines_of_its_evidence() -> None:
    host = recorded_live(BROKEN["override of another family"]())
    diagnosis = judged(host)
    inner = host.inner
    assert isinstance(inner, LiveCapture)
    before = len(inner.asked)
    row = sections(diagnosis)[0].rows[0]
    details = look_up(host, row, diagnosis)
    assert any(line.marked for one in details.shown for line in one.excerpt.lines)
    assert recorded(host, "run never-asked") is None
    assert recorded(inner, "run rocminfo") is None  # also one that keeps no record
    assert len(inner.asked) == before


def test_answers_that_were_added_are_found_too() -> None:
    from rocdoctor.host.overlay import OverlayHost

    inner = recorded_live(host_of("mi300x-8gpu"))
    added = Answer("run dmesg", "ok", b"[1.0] x")
    host = OverlayHost(inner, {"run dmesg": added})
    assert recorded(host, "run dmesg") is added
    assert recorded(host, "run lsmod") is None


# -- small parts


@pytest.mark.parametrize(
    ("line", "room", "text"),
    [
        (ExcerptLine(1, "short", True, ((0, 5),)), 20, "short"),
        (ExcerptLine(1, "abcdefghijklmnopqrstuvwxyz"), 12, "abcdefgh ..."),
        (ExcerptLine(1, "." * 40 + "VALUE" + "." * 40, True, ((40, 45),)), 30, None),
        (ExcerptLine(1, "." * 80 + "VALUE", True, ((80, 85),)), 30, None),
    ],
)
def test_a_long_line_is_cut_so_that_the_value_stays(line: ExcerptLine, room: int, text: str | None) -> None:
    found = clipped(line, room).plain
    assert len(found) <= room
    if text is not None:
        assert found == text
    else:
        assert "VALUE" in found
        assert found.startswith("... ")


def test_manual_pages_of_all_checks_come_apart_and_together() -> None:
    for one in our_checks():
        parts = manual_sections(one.manual)
        assert set(parts) == {"title", "Why", "Fix", "References"}, one.name
        for name in ("Why", "Fix"):
            joined = " ".join(paragraphs(parts[name]))
            assert one_line(joined) == one_line(" ".join(parts[name])), one.name
    assert paragraphs(["a", "b", "", "- c", "  d", "- e"]) == ["a b", "- c d", "- e"]
    assert paragraphs(["http://x", "  (more)", "http://y"], True) == ["http://x (more)", "http://y"]
