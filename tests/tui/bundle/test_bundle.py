"""The bundle screen: what it shows is what it writes, and what it writes is replayed to the same report."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Input

from rocdoctor.cli.main import run
from rocdoctor.collect import collect
from rocdoctor.host.base import Answer, Host
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.host.recorder import MaskedHost, Recorder
from rocdoctor.model.facts import Machine
from rocdoctor.report.machine.bundle_document import masked_spans
from rocdoctor.service.bundles import Bundle, bundle_of, recorder_of
from rocdoctor.service.errors import UsageError
from rocdoctor.service.evidence import open_evidence
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.bundle import contents as bundling
from rocdoctor.tui.bundle.drawing import first_head, head, row
from rocdoctor.tui.bundle.screen import BundlePage
from rocdoctor.tui.draw.lines import cut
from rocdoctor.tui.text_report import report_text
from rocdoctor.tui.widgets.ask import Ask
from rocdoctor.tui.widgets.rows import Rows
from tests.kit import ROOT
from tests.tui.kit import NARROW, driven, fixture_host, same_picture, shown, until


async def _open(app: RocdoctorApp, pilot: Pilot[Any]) -> BundlePage:
    await pilot.press("8")
    await until(pilot, lambda: isinstance(app.screen, BundlePage) and app.screen._contents is not None)
    await pilot.pause()
    page = app.screen
    assert isinstance(page, BundlePage)
    return page


async def _write(app: RocdoctorApp, pilot: Pilot[Any], path: Path) -> None:
    page = app.screen
    assert isinstance(page, BundlePage)
    before = page._written
    await pilot.press("w")
    await until(pilot, lambda: isinstance(app.screen, Ask))
    app.screen.query_one(Input).value = str(path)
    await pilot.press("enter")
    await until(pilot, lambda: page._written != before, 20)


def _contents() -> bundling.Contents:
    """A bundle that stays the same when questions are added: the picture is one of the screen."""
    answers = [Answer("read /etc/os-release", "ok", b'PRETTY_NAME="Ubuntu 24.04.3 LTS"')]
    answers += [Answer(f"read /sys/bus/pci/devices/0000:{bus:02x}:00.0/uevent", "ok", b"x" * bus) for bus in range(40)]
    answers += [
        Answer("run dmesg", "ok", b"dmesg: read kernel buffer failed: Operation not permitted", exit_code=1),
        Answer("run rocm-smi --showallinfo", "timeout", note="5 s"),
        Answer("read /dev/kfd", "denied"),
        Answer("read /proc/driver/nvidia/version", "absent"),
        Answer("env", "ok", b"A=1\n" * 500, truncated=True),
    ]
    made = Bundle(
        tuple(answers),
        "Nothing to fix.\n\n" + "gpu 0     some card\n" * 30,
        "text " * 4000,
        (("host names", 3, 12), ("user name", 1, 2)),
    )
    # How small a text packs differs between builds of zlib.
    return replace(bundling.contents_of(made), packed_bytes=5400)


def test_the_bundle_screen_looks_as_it_should(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "gather", lambda host, machine: _contents())

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot)
        await same_picture(request, app, pilot, "bundle")

    driven(fixture_host("recorded-cpu-vm"), look, NARROW)


def test_questions_and_sizes_are_shown_before_the_answers_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    masked, gather = threading.Event(), bundling.gather

    def waits(host: Host, machine: Machine | None) -> bundling.Contents:
        assert masked.wait(20)
        return gather(host, machine)

    monkeypatch.setattr(bundling, "gather", waits)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[list[str], str]:
        await pilot.press("8")
        await until(pilot, lambda: "The answers are being masked" in shown(app))
        page = app.screen
        assert isinstance(page, BundlePage)
        assert page._contents is None and page.filling, "keys wait for what they work on"
        rows = page.query_one("#questions", Rows)
        first = [rows._draw(at, 200).plain for at in range(rows.count)]
        seen = shown(app)
        masked.set()
        await until(pilot, lambda: page._contents is not None and "The file:" in shown(app))
        contents = page._contents
        assert contents is not None
        whole = [row(one, 200, at == 0).plain for at, one in enumerate(contents.rows)]
        assert [one[2:172] for one in first[1:]] == [one[2:172] for one in whole[1:]], "the same questions"
        assert [one.split()[-1] for one in first[1:]] == [one.split()[-1] for one in whole[1:]], "answered alike"
        return first, seen

    for name in ("mi300x-8gpu", "recorded-cpu-vm"):
        masked.clear()
        first, seen = driven(fixture_host(name), look, (200, 60))
        assert f"{len(first) - 1} questions with their answers" in seen
        assert "Nothing is sent anywhere" in seen


def test_a_question_that_is_listed_first_is_masked_and_its_answer_measured() -> None:
    answers = [Answer("read /home/lathe17/.bashrc", "ok", b"secret"), Answer("read /dev/kfd", "denied")]
    listed = bundling.Listed(answers)
    assert [listed.row(at) for at in range(3)] == [
        bundling.BundleRow(bundling.REPORT, None, ""),
        bundling.BundleRow("read /home/user-1/.bashrc", 6, "answered"),
        bundling.BundleRow("read /dev/kfd", 0, "denied"),
    ]
    assert (listed.count, listed.size_bytes) == (2, 6)
    assert "2 questions with their answers (1 answered, 1 denied)" in first_head(listed).plain


def test_other_evidence_takes_the_place_of_a_list_that_is_being_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    masked, gather = threading.Event(), bundling.gather

    def waits(host: Host, machine: Machine | None) -> bundling.Contents:
        assert masked.wait(20)
        return gather(host, machine)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("8")
        await until(pilot, lambda: "The answers are being masked" in shown(app))
        app.open(fixture_host("rx6600"))
        page = app.screen
        assert isinstance(page, BundlePage)
        await until(pilot, lambda: page._of is not None and page._of[0] is app.host)
        masked.set()
        await until(pilot, lambda: page._contents is not None)
        assert page._contents is not None
        assert "RX 6600" in page._contents.made.summary

    monkeypatch.setattr(bundling, "gather", waits)
    driven(fixture_host("mi300x-8gpu"), look)


def test_a_written_bundle_gives_the_same_report_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "bundle.txt"

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await _open(app, pilot)
        await _write(app, pilot, path)
        assert "Written:" in shown(app)
        return report_text(app, 100)

    async def report(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        return report_text(app, 100)

    first = driven(fixture_host("mi210-8gpu"), write)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "MI210" in first
    assert driven(open_evidence(str(path)), report) == first


def test_the_screen_writes_what_the_command_writes(tmp_path: Path) -> None:
    fixture = ROOT / "fixtures" / "rx6700xt-override.capture"
    assert run(["bundle", "--from", str(fixture), "-o", str(tmp_path / "command.txt")]) == 0

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot)
        await _write(app, pilot, tmp_path / "screen.txt")

    driven(open_evidence(str(fixture)), write)
    assert (tmp_path / "screen.txt").read_bytes() == (tmp_path / "command.txt").read_bytes()


def test_nothing_is_overwritten_and_the_reason_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("mine")

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await _open(app, pilot)
        await _write(app, pilot, path)
        return shown(app)

    text = driven(fixture_host("rx6700xt-override"), write, (200, 60))
    assert "Not written: " in text
    assert "already exists; bundles are never overwritten" in text
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_packed_on_request_and_the_path_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(RocdoctorApp, "copy_to_clipboard", lambda _, text: copied.append(text))

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await _open(app, pilot)
        await pilot.press("c")
        assert copied == []
        await pilot.press("g")
        await _write(app, pilot, tmp_path / "b.txt")
        await pilot.press("c")

    driven(fixture_host("rx6700xt-override"), write)
    path = tmp_path / "b.txt.gz"
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert copied == [str(path)]


def test_escape_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await _open(app, pilot)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        name = app.screen.query_one(Input).value
        await pilot.press("escape")
        await pilot.pause()
        return name

    assert driven(fixture_host("rx6700xt-override"), write).startswith("rocdoctor-")
    assert os.listdir(tmp_path) == []


def test_search_and_read() -> None:
    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str, str]:
        page = await _open(app, pilot)
        await pilot.press("slash", *"os-release")
        await until(pilot, lambda: len(page._hits) < 5)
        found = shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: page.focused is page.query_one("#questions"))
        await pilot.press("enter")
        await until(pilot, lambda: page.reading and "PRETTY_NAME" in shown(app))
        answer = shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: not page.reading and page.focused is page.query_one("#questions"))
        return found, answer, shown(app)

    found, answer, after = driven(fixture_host("mi300x-8gpu"), read)
    assert "> read /etc/os-release" in found
    assert 'PRETTY_NAME="Ubuntu 24.04.3 LTS"' in answer
    assert "Escape: back" in answer
    assert "> read /etc/os-release" in after


def test_no_end_of_a_line_is_hidden_where_an_answer_needs_a_scrollbar() -> None:
    words = " ".join(f"word{number:04}" for number in range(2000))
    host = OverlayHost(
        fixture_host("recorded-cpu-vm"), {"read /proc/cmdline": Answer("read /proc/cmdline", "ok", words.encode())}
    )

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        page = await _open(app, pilot)
        await pilot.press("slash", *"cmdline")
        await until(pilot, lambda: len(page._hits) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: page.focused is page.query_one("#questions"))
        await pilot.press("enter")
        await until(pilot, lambda: "word0000" in shown(app))
        await pilot.pause()
        return shown(app)

    text = driven(host, read)
    seen = [word for word in text.split() if word.startswith("word")]
    assert len(seen) > 100
    assert seen == [f"word{number:04}" for number in range(len(seen))]
    assert "\N{HORIZONTAL ELLIPSIS}" not in text


def test_the_search_and_the_place_outlast_another_screen_and_a_resize() -> None:
    async def leave(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        await pilot.press("slash", *"uevent", "enter")
        await until(pilot, lambda: page.focused is page.query_one("#questions"))
        await pilot.press("down", "down")
        await until(pilot, lambda: page.query_one("#questions", Rows).cursor == 2)
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "overview")
        await pilot.press("8")
        await until(pilot, lambda: app.screen is page)
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: page.has_class("wide"))
        assert page.query_one("#questions", Rows).cursor == 2
        assert page.query_one("#search", Input).value == "uevent"
        assert page.has_class("wide")
        page.rocdoctor.open(fixture_host("rx6600"))
        await until(pilot, lambda: page._contents is not None and page.query_one("#search", Input).value == "")

    driven(fixture_host("mi300x-8gpu"), leave)


def _secret_host() -> OverlayHost:
    secret = Answer("env", "ok", b"HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEF12\nHIP_VISIBLE_DEVICES=0")
    return OverlayHost(fixture_host("rx6700xt-override"), {"env": secret})


def test_only_masked_content_is_shown_and_written(tmp_path: Path) -> None:
    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        page = await _open(app, pilot)
        await _write(app, pilot, tmp_path / "b.txt")
        contents = page._contents
        assert contents is not None
        return "\n".join(bundling.text_of(contents, index) for index in range(len(contents.rows)))

    text = driven(_secret_host(), read)
    assert "HIP_VISIBLE_DEVICES=0" in text
    assert "hf_abcdef" not in text
    assert "hf_abcdef" not in (tmp_path / "b.txt").read_text()


def test_a_recorder_that_masks_nothing_is_masked_here() -> None:
    open_recorder = Recorder(_secret_host())
    contents = bundling.gather(open_recorder, None)
    assert "hf_abcdef" not in contents.made.content
    assert "HF_TOKEN=<dropped>" in contents.made.content


def test_what_a_masking_recorder_has_kept_is_not_asked_again() -> None:
    recorder = Recorder(MaskedHost(_secret_host(), Masker()))
    machine = collect(recorder)
    asked = len(recorder.answers)
    contents = bundling.gather(recorder, machine)
    assert len(contents.rows) == asked + 1 == len(recorder.answers) + 1
    assert recorder_of(recorder) is recorder


def test_what_is_too_much_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise UsageError("x: too much for a bundle: more than 64 MiB")

    monkeypatch.setattr(bundling, "bundle_of", full)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("8")
        await until(pilot, lambda: "No bundle can be made: x: too much for a bundle" in shown(app))
        await pilot.press("w")
        await until(pilot, lambda: any("not put together" in one.message for one in app._notifications))

    driven(fixture_host("rx6700xt-override"), look)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("q", "ok", b"x"), "answered"),
        (Answer("q", "ok", b"x", exit_code=0), "answered"),
        (Answer("q", "ok", b"x", exit_code=3), "exit 3"),
        (Answer("q", "ok", b"x", truncated=True), "answered, cut"),
        (Answer("q", "timeout", note="5 s"), "timed out"),
        (Answer("q", "denied"), "denied"),
        (Answer("q", "not-asked"), "not asked"),
    ],
    ids=["ok", "status-0", "status-3", "cut", "timeout", "denied", "not-asked"],
)
def test_states_in_words(answer: Answer, words: str) -> None:
    assert bundling.state(answer) == words


def test_hostile_answers_are_shown_as_plain_text() -> None:
    evil = CaptureHost(parse(b"rocdoctor capture 1\n-- env --\nA=\x1b]0;gone\x07[red]x[/red]\x1b[2J\n"), "evil")
    recorder = Recorder(MaskedHost(evil, Masker()))
    made = bundle_of(recorder, collect(recorder), "bundle")
    contents = bundling.gather(recorder, collect(recorder))
    index = next(i for i, one in enumerate(contents.rows) if one.question == "env")
    text = bundling.text_of(contents, index)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert made.content == contents.made.content


def test_places_that_were_masked_are_marked_and_found_one_after_the_other() -> None:
    text = b"rocdoctor capture 1\n-- read /etc/hostname --\nlathe17\n-- read /proc/cmdline --\nquiet ip=10.1.2.3\n"
    recorder = Recorder(MaskedHost(CaptureHost(parse(text + b"-- read /proc/version --\nLinux\n"), "box"), Masker()))
    for name in ("/etc/hostname", "/proc/cmdline", "/proc/version"):
        recorder.ask(f"read {name}")
    contents = bundling.gather(recorder, collect(recorder))
    masked = [one.question for one in contents.rows if one.masked and one.question != bundling.REPORT]
    assert sorted(masked) == ["read /etc/hostname", "read /proc/cmdline"]
    hits = bundling.search(contents, "masked")
    assert all(contents.rows[one].masked for one in hits)
    assert {one.question for one in (contents.rows[at] for at in hits)} >= {*masked}
    everything = range(len(contents.rows))
    first = bundling.next_masked(contents, everything, -1)
    assert first is not None
    second = bundling.next_masked(contents, everything, first)
    assert second is not None and second > first
    assert bundling.next_masked(contents, everything, len(contents.rows) - 1) == first, "from the top again"
    answer = contents.made.answers[[one.question for one in contents.rows].index("read /proc/cmdline") - 1].text
    ((start, end),) = masked_spans(answer)
    assert answer[:start] == "quiet ip=", "the mark itself, and no word beside it"
    assert "10.1.2.3" not in answer
    assert not answer[end:].strip()


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_rows_and_lines_keep_to_the_width(width: int) -> None:
    long = bundling.BundleRow("read /sys/" + "a" * 300, 123_456, "timed out")
    drawn = row(long, width, True)
    assert drawn.plain.startswith("> read")
    if width >= 40:
        assert drawn.cell_len <= width
        assert "121 KiB" in drawn.plain
    for text in ("word " * 100, "x" * 1000, "全角" * 300, "\tindented " * 50):
        lines = cut(text, width)
        assert all(Text(line).cell_len <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())
        again = cut(text, width, "... ")
        assert all(Text(line).cell_len <= width for line in again)
        assert all(line.startswith("... ") for line in again[1:])


def test_long_answers_are_shown_in_part_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "MOST_SHOWN", 100)
    host = OverlayHost(
        fixture_host("rx6700xt-override"), {"read /proc/cmdline": Answer("read /proc/cmdline", "ok", b"quiet " * 100)}
    )
    contents = bundling.gather(host, None)
    index = next(i for i, one in enumerate(contents.rows) if one.question == "read /proc/cmdline")
    assert "more bytes, which are in the file too" in bundling.text_of(contents, index)
    assert "questions with their answers" in head(contents, True, "").plain
    assert "written compressed" in head(contents, True, "").plain


def test_a_finding_leads_to_the_whole_answer_that_shows_it_at_every_width() -> None:
    for size in ((80, 24), (200, 60)):

        async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
            await pilot.press("2")
            await until(pilot, lambda: "ras-uncorrectable" in shown(app))
            await pilot.press("e")
            await until(pilot, lambda: "umc_err_count" in shown(app) and "ue: 3" in shown(app))
            assert isinstance(app.screen, BundlePage)
            app.wanted_answer = "read /no/such"
            app.screen._go_to_wanted()
            assert app.wanted_answer == "", "an answer that is not there is asked for once"

        driven(fixture_host("faulty/mi300x-8gpu-tired"), drive, size)
