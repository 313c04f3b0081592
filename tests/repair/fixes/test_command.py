"""``rocdoctor fix`` on the command line, on a machine made by hand and a scratch root."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocdoctor.cli.commands import fix
from rocdoctor.cli.main import run
from rocdoctor.model.facts import Machine, Memory, NumaNode
from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.fixes.offers import Offer, offers
from tests.kit import amd_gpu, environment, k, machine
from tests.repair.fixes.fix_kit import Scratch, changed, tree

_NAMES = ["gfx-override-mismatch", "numa-balancing-on"]


class Box:
    """What the command sees: a machine that follows the files of the scratch root."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.variables = {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
        self.answers: list[str] = []
        self.asked: list[str] = []
        self.privileged = False
        self.seen: list[fix.Options] = []

    def machine(self) -> Machine:
        on = (self.scratch.root / "proc/sys/kernel/numa_balancing").read_text().strip() != "0"
        nodes = tuple(NumaNode(number, cpulist=k(f"{number}")) for number in range(2))
        return replace(
            machine(amd_gpu(0), amd_gpu(1), environment=environment(self.variables)),
            memory=Memory(numa_balancing=k(on)),
            numa_nodes=nodes,
        )


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box(Scratch(tmp_path))
    host = SimpleNamespace(kind="live", origin="here")

    def open_host(options: fix.Options) -> SimpleNamespace:
        made.seen.append(options)
        return host

    monkeypatch.setattr(fix, "open_host", open_host)
    monkeypatch.setattr(fix, "collect", lambda host: made.machine())
    monkeypatch.setattr(fix, "this_machine", lambda: made.scratch.place(made.variables, privileged=made.privileged))

    def answer() -> str:
        made.asked.append("asked")
        if not made.answers:
            raise EOFError
        return made.answers.pop(0)

    monkeypatch.setattr("builtins.input", answer)
    return made


def test_the_commands_are_shown_in_the_order_of_the_causes(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(box.scratch.root)
    assert run(["fix", *_NAMES]) == 1
    text = capsys.readouterr().out
    assert text.startswith("2 fixes, the main cause first. rocdoctor can apply 1 of them: rocdoctor fix --apply\n")
    first, second = text.index("1  error  gfx-override-mismatch  gpu 0-1"), text.index("2  info  numa-balancing-on")
    assert "apply    switch off line 5 of ~/.bashrc" in text[first:second]
    assert "safety   safe; takes effect in each new shell" in text[first:second]
    assert "run      sudo sysctl kernel.numa_balancing=0" in text[second:]
    assert "apply    no: it needs root" in text[second:]
    for words in ("fix      Unset HSA", "verify   rocdoctor check gfx-override"):
        assert words in text
    assert tree(box.scratch.root) == before
    assert not box.scratch.state.exists()
    assert box.seen[0].include_identity, "a masked path or name would be wrong in a command"


def test_with_names_only_those(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fix", "numa-balancing-on"]) == 0, "a note alone is no reason for another status"
    assert "gfx-override-mismatch" not in capsys.readouterr().out
    assert run(["fix", "numa-balancing"]) == 2
    assert "did you mean 'numa-balancing-on'?" in capsys.readouterr().err


def test_where_a_variable_is_set_is_shown_also_where_a_person_has_to_judge(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    box.variables = {"NCCL_DEBUG": "LOUD", "HIP_VISIBLE_DEVICES": "-1"}
    box.scratch.file("home/alice/.profile", "x=1\nexport NCCL_DEBUG=LOUD HIP_VISIBLE_DEVICES=-1\n")
    box.scratch.file("etc/environment", "NCCL_DEBUG=LOUD\n")
    run(["fix", "env-wrong-value"])
    text = capsys.readouterr().out
    assert "set in   ~/.profile:2, /etc/environment:1\n" in text
    assert "apply    no: it shows something to you, or needs your judgement" in text
    run(["fix", "visible-devices-hides-all", "--json"])
    assert json.loads(capsys.readouterr().out)["fixes"][0]["set_in"] == ["~/.profile:2"]


def test_json(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fix", *_NAMES, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "rocdoctor.fix/1"
    first, second = data["fixes"]
    assert first["does"] == ["switch off line 5 of ~/.bashrc"]
    assert (first["check"], first["subjects"]) == (
        "gfx-override-mismatch",
        ["gpu 0 (0000:23:00.0)", "gpu 1 (0000:43:00.0)"],
    )
    assert first["effective"] == "new-login"
    assert (second["does"], second["left"][0][:13]) == ([], "it needs root")


def test_one_by_one_after_a_question(
    box: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fix, "_can_ask", lambda: True)
    box.privileged, box.answers = True, ["n", "y"]
    before = tree(box.scratch.root)
    assert run(["fix", *_NAMES, "--apply"]) == 1, "an error is left"
    text = capsys.readouterr().out
    assert box.asked == ["asked"] * 2
    assert text.count("Do this? [y/N]") == 2
    assert changed(before, tree(box.scratch.root)) == {"proc/sys/kernel/numa_balancing"}
    assert "wrote 0 to /proc/sys/kernel/numa_balancing\n" in text
    assert "Verified: rocdoctor check numa-balancing-on no longer finds it." in text
    assert "Left to you: 1 of 2." in text
    assert text.index("sudo sysctl") < text.index("wrote 0"), "the command stands before what was done"


def test_an_end_of_input_is_a_no(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "_can_ask", lambda: True)
    before = tree(box.scratch.root)
    assert run(["fix", *_NAMES, "--apply"]) == 1
    assert tree(box.scratch.root) == before


def test_without_questions_and_back_again(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.privileged = True
    before = tree(box.scratch.root)
    assert run(["fix", *_NAMES, "--apply", "--yes"]) == 0
    text = capsys.readouterr().out
    assert box.asked == []
    assert changed(before, tree(box.scratch.root)) == {"home/alice/.bashrc", "proc/sys/kernel/numa_balancing"}
    assert "It takes effect in each new shell. Then: rocdoctor check gfx-override-mismatch" in text
    assert "In this session: unset HSA_OVERRIDE_GFX_VERSION" in text
    assert "Verified: rocdoctor check gfx" not in text, "nothing can be seen of it before the login"
    assert "Nothing is left to you." in text
    folder = re.findall(r"rocdoctor fix --undo (\S+)", text)
    assert len(set(folder)) == 1
    assert run(["fix", "--undo", folder[0]]) == 0
    assert "~/.bashrc is as it was before" in capsys.readouterr().out
    after = tree(box.scratch.root)
    assert changed(before, after) == {"proc/sys/kernel/numa_balancing"}, "of the kernel's file the time alone"
    assert after["proc/sys/kernel/numa_balancing"][:5] == before["proc/sys/kernel/numa_balancing"][:5]
    assert run(["fix", "--undo", folder[0]]) == 0
    assert "Nothing is left to undo." in capsys.readouterr().out


def test_without_questions_what_is_only_worth_knowing_is_done_by_its_name_alone(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    box.privileged = True
    before = tree(box.scratch.root)
    run(["fix", "--apply", "--yes"])
    text = " ".join(capsys.readouterr().out.split())
    assert changed(before, tree(box.scratch.root)) == {"home/alice/.bashrc"}
    assert "it is only worth knowing; rocdoctor fix numa-balancing-on --apply does it" in text
    assert run(["fix", "numa-balancing-on", "--apply", "--yes"]) == 0
    assert "proc/sys/kernel/numa_balancing" in changed(before, tree(box.scratch.root))


def test_what_one_fix_has_done_is_not_left_to_the_person_by_the_next(
    box: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def twice(diagnosis: Diagnosis, names: Sequence[str] = ()) -> list[Offer]:
        (one,) = offers(diagnosis, ["gfx-override-mismatch"])
        return [one, replace(one, check="env-wrong-value")]

    monkeypatch.setattr(fix, "offers", twice)
    assert run(["fix", "--apply", "--yes"]) == 0
    assert "Nothing is left to you." in capsys.readouterr().out


def test_a_fix_that_does_not_help_is_said(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.privileged = True
    stuck = box.machine()
    box.machine = lambda: stuck  # type: ignore[method-assign]
    assert run(["fix", "numa-balancing-on", "--apply", "--yes"]) == 1
    assert "FAILED to help: rocdoctor check numa-balancing-on still finds it." in capsys.readouterr().out


def test_without_privileges_the_command_is_printed(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(box.scratch.root)
    assert run(["fix", "numa-balancing-on", "--apply", "--yes"]) == 0
    text = capsys.readouterr().out
    assert "Left to you: 1 of 1." in text
    assert "sudo sysctl kernel.numa_balancing=0" in text
    assert tree(box.scratch.root) == before


def test_a_long_command_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    text = tmp_path / "issue.txt"
    names = "  Marketing Name:          AMD Instinct MI300X\n  Name:                    gfx942\n"
    failed = ">>> torch.__version__\n'2.5.1+cu124'\nRuntimeError: Found no NVIDIA driver on your system.\n"
    text.write_text(names + failed)
    run(["fix", "--from", str(text)])
    lines = capsys.readouterr().out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.strip().startswith("run      pip uninstall"))
    end = next(number for number, line in enumerate(lines) if number > begin and not line.endswith("\\"))
    words = " ".join(line.removesuffix("\\").strip() for line in lines[begin : end + 1])
    assert words.startswith("run      pip uninstall -y torch torchvision torchaudio; pip install torch")
    assert words.endswith("/rocm7.2")
    assert end > begin
    assert all(len(line) <= 70 for line in lines[begin : end + 1])


def test_nothing_to_fix(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.variables = {}
    assert run(["fix", "gfx-override-mismatch", "--apply", "--yes"]) == 0
    assert capsys.readouterr().out.startswith("Nothing to fix")
    assert not box.scratch.state.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--apply"], "no terminal to ask on; --yes"),
        (["--yes"], "--yes needs --apply"),
        (["--apply", "--yes", "--from", "x"], "cannot be used with --from"),
        (["--apply", "--yes", "--add", "x"], "or --add"),
        (["--apply", "--yes", "--json"], "prints text"),
        (["--undo", "x", "--apply"], "takes no other option"),
        (["--undo", "x", "numa-balancing-on"], "takes no other option"),
        (["--undo", "/nowhere/at/all"], "no folder of rocdoctor fix"),
        (["--format", "junit"], "choose from"),
    ],
)
def test_what_does_not_go_together(
    box: Box, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(box.scratch.root)
    assert run(["fix", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert tree(box.scratch.root) == before


def test_evidence_of_another_machine_is_only_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise AssertionError("evidence of another machine says nothing of this one")

    monkeypatch.setattr(fix, "this_machine", refuse)
    text = tmp_path / "issue.txt"
    text.write_text("$ export HSA_OVERRIDE_GFX_VERSION=10.3.0\n$ rocminfo\n  Name:                    gfx942\n")
    assert run(["fix", "--from", str(text), "--json"]) in (0, 1)
    assert all(one["does"] == [] for one in json.loads(capsys.readouterr().out)["fixes"])
