"""Reports that people post: no secret and no identity in them, whatever they were made from."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rocdoctor.cli.commands import command
from rocdoctor.cli.main import run
from rocdoctor.host.masking.masker import Masker
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, Verdict
from rocdoctor.model.subject import MACHINE
from rocdoctor.report import masked
from rocdoctor.report.machine.summary import machine_lines
from tests.golden.replay import NAMES, host_of, judged
from tests.kit import ROOT, named

SECRET = "h" + "f_" + "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zaB3dE5"
PASSWORD = "Secret" + "99x"
HIDDEN = (SECRET, PASSWORD, "dora_k", "node17", "uni-x")
TEXT = f"""Nov 23 06:11:22 node17 kernel: amdgpu 0000:83:00.0: amdgpu: GPU reset begin! password={PASSWORD} /home/dora_k
[rank0]: RuntimeError: HIP error: invalid device function at /users/dora_k/train.py token={SECRET}
RuntimeError: connect to [node17.hpc.uni-x.de]:29500 timed out, password={PASSWORD}
"""


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    path = tmp_path / "s.txt"
    path.write_text(TEXT)
    return path


def _printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    run(arguments)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "form"),
    [(words, form) for words in (["read"], ["check", "--from"]) for form in command(words[0]).FORMATS],
)
def test_a_pasted_text_is_answered_without_its_secrets_and_names(
    words: list[str], form: str, evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _printed([*words, str(evidence), "--format", form], capsys)
    assert "invalid device function" in said
    assert [one for one in HIDDEN if one in said] == []


def test_identities_are_shown_where_they_are_asked_for(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = _printed(["read", str(evidence), "--include-identity"], capsys)
    assert [one for one in ("dora_k", "train.py", PASSWORD) if one not in said] == []


def test_what_the_last_sentence_tells_is_masked_in_the_first() -> None:
    told = "Nov 23 06:11:22 quux17 kernel: amdgpu: GPU reset begin"
    verdicts = (Verdict("a", MACHINE, "unknown", why="see the log of quux17"), Verdict("b", named(told), "unknown"))
    said = masked.discreet(Diagnosis(Machine(), verdicts, ()), masked.Discretion())
    assert [one.subject.label.count("quux17") + one.why.count("quux17") for one in said.verdicts] == [0, 0]


# The first line alone tells nobody that it holds a secret and a machine: later lines of the text do.
TOLD_LATER = f"""RuntimeError: HIP error: invalid device function near {PASSWORD} on zeusbox17
then I ran

export DB_PASSWORD={PASSWORD}

Nov 23 06:11:22 zeusbox17 systemd[1]: Started Session 5 of user dora_k.
"""


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize("command", [["read", "-"], ["check", "--from", "-"]])
def test_what_any_line_of_a_text_tells_is_masked_in_the_lines_that_are_quoted(
    command: list[str], form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TOLD_LATER.encode())))
    said = _printed([*command, "--format", form], capsys)
    assert "invalid device function near masked-value on host-1" in " ".join(said.split())
    assert [one for one in (PASSWORD, "zeusbox17", "dora_k") if one in said] == []


@pytest.mark.parametrize(
    "told", ["7z x -psunflower a.7z", "keytool -list -storepass sunflower -keystore k", "runuser -u sunflower -- x"]
)
def test_a_quoted_line_of_a_pasted_text_is_masked_whatever_stands_in_it(
    told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pasted = f"RuntimeError: HIP error: invalid device function {told}\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pasted.encode())))
    said = _printed(["read", "-"], capsys)
    assert "invalid device function" in said
    assert "sunflower" not in said


def test_a_linted_file_is_quoted_without_what_another_of_its_lines_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"export HSA_OVERRIDE_GFX_VERSION={PASSWORD}\nexport DB_PASSWORD={PASSWORD}\n")
    said = _printed(["lint", str(path), "--no-machine"], capsys)
    assert "HSA_OVERRIDE_GFX_VERSION is masked-value" in said
    assert PASSWORD not in said


@pytest.mark.parametrize("command", [["check", "--from"], ["setup", "--from"], ["read"]])
def test_evidence_that_is_called_after_its_machine_gives_no_name_away(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "fixtures" / "rx7900xtx-2gpu.capture").read_text()
    planted = text.replace("-- env --\n", "-- env --\nMASTER_ADDR=lynx-cn042.hpc.uni-x.de\nUSER=dora_k\n", 1)
    evidence = tmp_path / "lynx-cn042-dora_k.txt"
    evidence.write_text(planted)
    said = _printed([*command, str(evidence), "--format", "json"], capsys)
    assert '"origin": "host-' in said
    assert [one for one in ("lynx", "cn042", "dora_k", "uni-x") if one in said] == []


def test_listening_counts_nothing_and_gives_no_numbers() -> None:
    masker = Masker()
    masker.hear("ssh bea@zeusbox17\nNov 23 06:11:22 fs-04 kernel: up")
    assert masker.counts() == {}
    assert masker.mask_text("fs-04 is down") == "host-1 is down"


@pytest.mark.parametrize("form", command("lint").FORMATS)
def test_a_linted_file_gives_no_secret_away_and_keeps_its_name(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dora_k.sh"
    path.write_text(f"export HSA_OVERRIDE_GFX_VERSION={SECRET}\nexport NCCL_DEBUG=/home/mkraus/{PASSWORD}=x\n")
    said = _printed(["lint", str(path), "--no-machine", "--format", form], capsys)
    assert SECRET not in said
    assert "dora_k.sh" in said or form == "junit"


def test_a_name_that_only_the_environment_tells_is_masked_in_the_report() -> None:
    from rocdoctor.host.base import Answer
    from rocdoctor.host.evidence.capture import Capture, CaptureHost

    host = CaptureHost(Capture({}, "", {"env": Answer("env", "ok", b"USER=zebra\nHOSTNAME=quokka.x.de")}), "x")
    mask = masked.discretion_of(host)
    assert mask("zebra said so on quokka") == "user-1 said so on host-1"
    assert mask("GPU 0 is on PCIe x8 of 16") == "GPU 0 is on PCIe x8 of 16"


@pytest.mark.parametrize("name", NAMES)
def test_a_report_of_masked_evidence_is_not_changed(name: str) -> None:
    host = host_of(name)
    diagnosis = judged(host)
    shown = masked.discreet(diagnosis, masked.discretion_of(host), machine_lines(diagnosis.machine))
    assert shown.verdicts == diagnosis.verdicts
    assert shown.causes == diagnosis.causes
    assert list(shown.card) == machine_lines(diagnosis.machine)
    assert shown.machine.unanswered == diagnosis.machine.unanswered


def test_fix_says_that_it_masks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run(["fix", "--from", str(ROOT / "fixtures/rx7600s-laptop.capture")])
    captured = capsys.readouterr()
    assert ("not masked" in captured.err) == ("command" in captured.out or "fix" in captured.out)
