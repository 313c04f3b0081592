"""``rocdoctor bundle``: the file, its permissions and name, what people read first, and what a replay says of it."""

from __future__ import annotations

import gzip
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocdoctor.cli.arguments import options_of
from rocdoctor.cli.commands import bundle
from rocdoctor.cli.main import run
from rocdoctor.host.base import Answer, Kind
from rocdoctor.host.evidence.capture import CaptureError, CaptureHost, parse, write
from rocdoctor.host.live.new_file import write_new
from rocdoctor.report.machine.bundle_document import masked_counts, masked_text
from rocdoctor.service import bundles
from tests.kit import ROOT


def _fixture(name: str = "rx6700xt-override") -> str:
    return str(ROOT / "fixtures" / f"{name}.capture")


def test_a_bundle_holds_the_report_and_every_answer_and_belongs_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    assert run(["bundle", "--from", _fixture(), "-o", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    capture = parse(path.read_bytes())
    assert "list /sys/bus/pci/devices/*" in capture.answers
    words = capture.summary
    assert words.index("gpu 0") < words.index("Smoke tests: not run") < words.index("Masked: ")
    assert "ROCm      6.4.2" in words


def test_nothing_is_overwritten_and_no_link_is_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "b.txt"
    path.write_text("mine")
    assert run(["bundle", "--from", _fixture(), "-o", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "never overwritten" in capsys.readouterr().err
    link = tmp_path / "link.txt"
    os.symlink(tmp_path / "target.txt", link)
    assert run(["bundle", "--from", _fixture(), "-o", str(link)]) == 2
    assert not (tmp_path / "target.txt").exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.txt", "link.txt"]


def test_names_of_our_own_choice_are_never_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda _: "rocdoctor-20260102-030405")
    monkeypatch.chdir(tmp_path)
    assert run(["bundle", "--from", _fixture()]) == 0
    assert run(["bundle", "--from", _fixture(), "-o", str(tmp_path)]) == 0
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["rocdoctor-20260102-030405-2.txt", "rocdoctor-20260102-030405.txt"]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_interrupts_the_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, links: bool
) -> None:
    written = 0

    def half(descriptor: int, data: memoryview) -> int:
        nonlocal written
        if written >= (1 if links else 3):
            raise failure
        written += 1
        return real(descriptor, data[: max(1, len(data) // 2)] if written != 2 else data)

    def no_links(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    real = os.write
    monkeypatch.setattr(os, "write", half)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(type(failure)):
        write_new(tmp_path / "b.txt", b"0123456789")
    assert list(tmp_path.iterdir()) == []


def test_file_systems_without_hard_links_get_the_whole_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    write_new(tmp_path / "b.txt", b"whole")
    assert (tmp_path / "b.txt").read_bytes() == b"whole"
    assert [one.name for one in tmp_path.iterdir()] == ["b.txt"]
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "b.txt", b"other")


def test_an_interrupt_while_it_writes_leaves_no_file(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from rocdoctor.host.live.new_file import write_new\n"
        "real = os.fsync\n"
        "def slow(descriptor):\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
        "os.fsync = slow\n"
        "write_new(Path(sys.argv[1]), b'x' * 100000)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "b.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(60) != 0
    assert list(tmp_path.iterdir()) == []


def test_large_bundles_are_packed_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "PACKED_ABOVE_BYTES", 1000)
    assert run(["bundle", "--from", _fixture(), "-o", str(tmp_path / "big.txt")]) == 0
    (path,) = tmp_path.iterdir()
    assert path.name == "big.txt.gz"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert parse(gzip.decompress(path.read_bytes())).answers
    assert run(["check", "--from", str(path), "--fail-on", "never"]) == 0


def test_gzip_packs_when_asked_and_small_ones_stay_text(tmp_path: Path) -> None:
    assert run(["bundle", "--from", _fixture(), "-o", str(tmp_path / "a.gz"), "--gzip"]) == 0
    assert run(["bundle", "--from", _fixture(), "-o", str(tmp_path / "b.txt")]) == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.gz", "b.txt"]
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == (tmp_path / "b.txt").read_bytes()


def test_show_prints_all_of_it_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bundle", "--from", _fixture(), "--show"]) == 0
    said = capsys.readouterr()
    assert list(tmp_path.iterdir()) == []
    assert parse(said.out.encode()).answers
    assert said.err.startswith("Masked: 1 user name")
    assert "nothing was written" in said.err


@pytest.mark.parametrize("name", ["rx6700xt-override", "mi210-slurm-2of8", "h100-8gpu", "recorded-cpu-vm"])
def test_a_bundle_of_a_bundle_gives_the_same_text(tmp_path: Path, name: str) -> None:
    first, second = tmp_path / "1.txt", tmp_path / "2.txt"
    assert run(["bundle", "--from", _fixture(name), "-o", str(first)]) == 0
    assert run(["bundle", "--from", str(first), "-o", str(second)]) == 0
    assert first.read_text() == second.read_text()


def test_the_report_of_the_bundle_is_that_of_its_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "b.txt"
    assert run(["bundle", "--from", _fixture("mi300x-docker"), "-o", str(path)]) == 0
    capsys.readouterr()
    run(["check", "--from", str(path), "--no-color", "--fail-on", "never"])
    assert parse(path.read_bytes()).summary.startswith(capsys.readouterr().out.rstrip("\n"))


def test_names_learned_late_are_masked_in_the_report_too(tmp_path: Path) -> None:
    source = parse(Path(_fixture()).read_bytes())
    answers = dict(source.answers)
    log = "Nov 21 08:20:28 storage-7 kernel: amdgpu 0000:0c:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1"
    answers["read /proc/cmdline"] = Answer("read /proc/cmdline", "ok", b"ro root=nfs:storage-7 quiet")
    answers["run dmesg"] = Answer("run dmesg", "ok", log.encode(), 0)
    (tmp_path / "in.txt").write_text(write(answers.values(), {"origin": "constructed"}))
    assert run(["bundle", "--from", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt")]) == 0
    assert "storage-7" not in (tmp_path / "out.txt").read_text()


def test_identities_stay_when_asked_and_the_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    assert run(["bundle", "--from", _fixture(), "--include-identity", "-o", str(path)]) == 0
    assert "Nothing was masked (--include-identity)" in re.sub(r"\s+", " ", parse(path.read_bytes()).summary)


@pytest.mark.parametrize("option", ["--with-smoke", "--with-figures"])
@pytest.mark.parametrize("other", [["--from", "x"], ["--pid", "1"]])
def test_tests_run_on_this_machine_only(option: str, other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", option, *other]) == 2
    assert option in capsys.readouterr().err


def test_smoke_and_figures_are_asked_in_one_question() -> None:
    asked = [
        bundle._smoke(options_of("bundle", bundle, options))
        for options in ([], ["--with-smoke"], ["--with-figures"], ["--with-smoke", "--with-figures"])
    ]
    assert asked == ["", "smoke quick", "smoke none figures=yes", "smoke quick figures=yes"]


class _Asleep(CaptureHost):
    """The laptop of a fixture as if it were this machine, its GPU suspended."""

    kind: Kind = "live"

    def ask(self, question: str) -> Answer:
        return Answer(question, "ok", b"suspended") if question.endswith("/runtime_status") else super().ask(question)


@pytest.mark.parametrize("wake", [False, True])
def test_the_tools_of_a_sleeping_gpu_are_recorded_on_demand(
    wake: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = _Asleep(parse(Path(_fixture("rx7600s-laptop")).read_bytes()), "here")
    monkeypatch.setattr(bundle, "open_host", lambda options: host)
    path = tmp_path / "b.txt"
    assert run(["bundle", "-o", str(path), *(["--wake"] if wake else [])]) == 0
    assert ("run rocminfo" in parse(path.read_bytes()).answers) is wake


def test_what_was_masked_is_counted_by_class() -> None:
    texts = [
        "host-1 host-1 host-2 user-1 masked-github-token 02:5e:ed:00:00:01 ip-1.2",
        "A=<dropped>\nB=<dropped>\nC=1 0x5eed000000000001 6840123409045651457 a-host-3 6899999999999999999",
    ]
    assert masked_counts(texts) == [
        ("variables without their values", 2, 2),
        ("secret", 1, 1),
        ("host names", 2, 3),
        ("user name", 1, 1),
        ("IP address", 1, 1),
        ("network card address", 1, 1),
        ("ids of devices or machines", 2, 2),
    ]
    assert masked_text([]) == "Nothing had to be masked."
    assert masked_text(masked_counts(["host-1 host-1"])).startswith("Masked: 1 host name (in 2 places).")


def test_a_file_of_an_older_tool_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.txt"
    old.write_text(
        "rocdoctor capture 1\norigin: recorded\n\nwords for people\n-- env --\nHSA_OVERRIDE_GFX_VERSION=11.0.0\n"
        "-- run lspci -D -nn -vv -- absent\n-- some new verb /x -- exit 0 flag-of-another-day\nbody\n"
    )
    assert run(["check", "--from", str(old), "--fail-on", "never"]) == 0
    assert run(["bundle", "--from", str(old), "-o", str(tmp_path / "new.txt")]) == 0
    assert "env" in parse((tmp_path / "new.txt").read_bytes()).answers


def test_more_than_a_bundle_can_hold_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: bytes) -> object:
        raise CaptureError("more than 64 MiB")

    # Only answers that a late name changes are read again.
    monkeypatch.setattr(bundles, "settled", lambda recorder: [*recorder.answers.values()][:-1])
    monkeypatch.setattr(bundles, "parse", full)
    assert run(["bundle", "--from", _fixture(), "-o", str(tmp_path / "out.txt")]) == 2
    assert "too much for a bundle: more than 64 MiB" in capsys.readouterr().err
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.live
def test_the_report_of_a_live_run_is_that_of_its_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "b.txt"
    assert run(["bundle", "-o", str(path), "--timeout", "60"]) == 0
    capsys.readouterr()
    run(["check", "--from", str(path), "--no-color", "--fail-on", "never"])
    replayed = capsys.readouterr().out.rstrip("\n")
    assert replayed
    assert parse(path.read_bytes()).summary.startswith(replayed)
