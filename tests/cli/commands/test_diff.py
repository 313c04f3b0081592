from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocdoctor.cli.commands import diff
from rocdoctor.cli.main import run
from rocdoctor.host.evidence.capture import write
from tests.golden.edits import Broken
from tests.golden.replay import FIXTURES

RAS = "read /sys/class/drm/card1/device/ras/gfx_err_count"


def _bundle(folder: Path, name: str, broken: Broken) -> str:
    path = folder / name
    path.write_text(write(broken.host.capture.answers.values(), {"origin": "constructed"}))
    return str(path)


def _rx() -> Broken:
    return Broken("rx7900xtx-2gpu")


def test_no_drift_is_said_and_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [_bundle(tmp_path, name, _rx()) for name in ("a", "b")]
    assert run(["diff", *names]) == 0
    assert capsys.readouterr().out == "No drift between 2 machines, as far as both are known.\n"


def test_a_machine_whose_buses_are_numbered_otherwise_is_the_same(tmp_path: Path) -> None:
    text = (FIXTURES / "h100-8gpu.capture").read_text()
    for bus in ("1b", "3c", "4d", "5e", "9b", "bc", "cd", "de"):
        assert f"0000:{bus}:00.0" in text
        other = f"{int(bus, 16) + 1:02x}"
        text = text.replace(f"{bus}:00.0", f"{other}:00.0").replace(f"{bus.upper()}:00.0", f"{other.upper()}:00.0")
    moved = tmp_path / "moved.txt"
    moved.write_text(text)
    assert run(["diff", str(FIXTURES / "h100-8gpu.capture"), str(moved), "--quiet"]) == 0


def test_before_and_after_an_update(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Broken("mi300x-8gpu").set(RAS, "ue: 1\nce: 0")
    after = Broken("mi300x-8gpu").set(RAS, "ue: 40\nce: 0")
    after.set("read /proc/sys/kernel/osrelease", "6.8.0-90-generic").set("read /sys/module/amdgpu/version", "6.16.6")
    after.set("read /sys/class/drm/card1/device/hwmon/hwmon3/temp1_input", "66000")
    names = [_bundle(tmp_path, "before", before), _bundle(tmp_path, "after", after)]
    assert run(["diff", *names, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "rocdoctor.diff/1"
    assert report["drift"] is True
    facts = {one["what"]: one["values"] for one in report["differences"] if one["kind"] != "finding"}
    assert facts == {
        "kernel": ["6.8.0-71-generic", "6.8.0-90-generic"],
        "amdgpu driver": ["6.14.14", "6.16.6"],
    }
    found = {one["what"]: one for one in report["differences"] if one["kind"] == "finding"}
    assert [" 1 in" in found["ras-uncorrectable"]["values"][0], " 40 in" in found["ras-uncorrectable"]["values"][1]]
    assert found["ras-uncorrectable"]["subject"] == "gpu 0"


def test_of_many_the_odd_one_stands_in_a_line_for_a_drain_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for n in range(6):
        broken = Broken("epyc-cpu-only")
        if n == 4:
            broken.set("read /proc/sys/kernel/osrelease", "6.1.0-1-amd64")
        _bundle(tmp_path, f"node{n}", broken)
    assert run(["diff", "--quiet", *(f"node{n}" for n in range(6))]) == 1
    name, why = capsys.readouterr().out.rstrip("\n").split("\t")
    assert name == "node4"
    assert why.startswith("kernel: 6.1.0-1-amd64 (others: ")
    assert run(["diff", *(f"node{n}" for n in range(6))]) == 1
    assert "1 of 6 machines differs from the majority." in capsys.readouterr().out
    assert run(["diff", "--format", "markdown", *(f"node{n}" for n in range(6))]) == 1
    assert "- `node4`: kernel: 6.1.0-1-amd64" in capsys.readouterr().out


def test_several_processes_and_one_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        _bundle(tmp_path, f"n{n}", Broken("epyc-cpu-only").env(**({"NCCL_DEBUG": "INFO"} if n == 3 else {})))
        for n in range(6)
    ]
    monkeypatch.setattr(diff, "_processors", lambda: 1)
    alone = diff.snapshots(names)
    monkeypatch.setattr(diff, "_processors", lambda: 2)
    assert diff.snapshots(names) == alone
    assert [one.name for one in alone] == names


def test_pasted_text_is_compared_in_what_it_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "issue.md"
    text.write_text("```\n$ uname -r\n5.15.0-100-generic\n```\nROCm 6.3.1, torch 2.6.0+rocm6.2.4\n")
    assert run(["diff", str(text), str(FIXTURES / "rx7900xtx-2gpu.capture"), "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {one["what"] for one in report["differences"] if one["drift"]} == {
        "kernel",
        "ROCm",
        "torch",
        "HIP that torch was built with",
    }
    assert {"GPUs", "CPU model"} <= set(report["machines"][0]["unknown"])
    same = tmp_path / "same.md"
    same.write_text("torch 2.9.1\n")
    assert run(["diff", str(same), str(same)]) == 0


@pytest.mark.parametrize("count", [2, 6])
def test_what_cannot_be_read_ends_with_2_and_is_named(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff, "_processors", lambda: 2)
    good = [_bundle(tmp_path, f"n{n}", Broken("epyc-cpu-only")) for n in range(count - 1)]
    assert run(["diff", *good, str(tmp_path / "missing")]) == 2
    said = capsys.readouterr()
    assert "missing: no such file" in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["one"], "two or more"),
        (["-", "-"], "standard input"),
        (["a", "b", "--from", "c"], "--from"),
        (["a", "b", "--format", "junit"], "choose from"),
    ],
)
def test_wrong_usage(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *arguments]) == 2
    assert why in capsys.readouterr().err


def test_names_and_values_cannot_drive_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = _rx().set("read /proc/sys/kernel/osrelease", "6.1\x1b]0;x\x07\x1b[31m")
    names = [_bundle(tmp_path, "a\x1b[31m", _rx()), _bundle(tmp_path, "b|`<b>", odd)]
    for form in ("text", "markdown", "json"):
        assert run(["diff", *names, "--format", form]) == 1
        said = capsys.readouterr().out
        assert "\x1b" not in said
        assert "\\u001b" not in said


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_what_nobody_has_masked_is_masked_in_the_comparison(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "hf_" + "abcdQWERTYuiopASDFghjkZXCVbnm12345"
    planted = _rx().set("env", f"USER=tkowalsk\nHSA_OVERRIDE_GFX_VERSION={token}\nNCCL_SOCKET_IFNAME=tkowalsk0\n")
    names = [_bundle(tmp_path, name, one) for name, one in (("a", _rx()), ("b", planted))]
    assert run(["diff", *names, "--format", form]) == 1
    said = capsys.readouterr().out
    assert "gfx-override-mismatch" in said
    assert token not in said
    assert run(["diff", *names, "--format", form, "--include-identity"]) == 1
    assert token in capsys.readouterr().out.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_names_that_differ_by_a_sign_that_nobody_sees_stay_apart(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else nobody can tell which of the two machines has the fault."""
    monkeypatch.chdir(tmp_path)
    sick = Broken("mi300x-8gpu").set(RAS, "ue: 3\nce: 0")
    for name, broken in (("a.txt", Broken("mi300x-8gpu")), ("a\u200b.txt", sick)):
        _bundle(tmp_path, name, broken)
    assert run(["diff", "a.txt", "a\u200b.txt", "--format", form]) == 1
    told = capsys.readouterr().out
    assert "200b" in told and "\u200b" not in told
