"""A plan as text, JSON and markdown: what to do next stands first, and nothing of it can drive a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from rocdoctor.knowledge import install
from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.command_lines import broken, tokens_of
from rocdoctor.repair.setup.plan import GOALS, Action, SetupPlan, Step, Verify
from rocdoctor.repair.setup.words import headline, left, sources, waits_for
from rocdoctor.report import markdown
from rocdoctor.report.setup import setup_json
from rocdoctor.report.setup.setup_document import document
from rocdoctor.report.text import render
from tests.repair.setup.plan_kit import DRIVER, FIRMWARE, FULL, GROUPS, KEY, LIMITS, PLANS, REPOSITORY, RESTART, TORCH
from tests.repair.setup.world.judge import plan_of


def as_text(plan: SetupPlan, lines: Iterable[str] = (), width: int = 100, colour: bool = False, **options: bool) -> str:
    return render(document(plan, lines, **options), width, colour)


def as_markdown(plan: SetupPlan, lines: Iterable[str] = ()) -> str:
    return markdown.render(document(plan, lines, verbose=True))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("full", "Step 2 of 8, now: Install AMD's driver package."),
        ("done", "Nothing is left to do for ROCm: the one step is done."),
        ("empty", "No step is known for ROCm on this machine."),
        ("risky", "Step 1 of 2, now: Remove old packages."),
        ("unknown", "Step 3 of 3, now: Install torch."),
        (
            "impossible",
            "No source describes a way to training with PyTorch here: step 1 of 1, Compute driver for gfx803.",
        ),
        ("optional", "Training with PyTorch needs nothing more."),
    ],
)
def test_the_first_line_says_what_to_do_next(name: str, first: str) -> None:
    assert as_text(PLANS[name]).splitlines()[0] == first


def test_the_next_step_comes_with_its_commands() -> None:
    lines = as_text(FULL).splitlines()
    assert lines[1:5] == [
        "    sudo apt update",
        "    sudo apt install linux-headers-6.8.0-31-generic linux-modules-extra-6.8.0-31-generic",
        "    sudo apt install amdgpu-dkms",
        "  It takes effect after a restart: restart, then run rocdoctor setup again.",
    ]
    assert not any("sudo" in line for line in as_text(FULL, sudo=False).splitlines())


def test_what_is_done_by_hand_begins_with_how() -> None:
    step = Step("a", "Do it", "todo", "Why it is.", risk="manual", notes=("Do this first.", "Then that."))
    lines = as_text(SetupPlan("rocm", (step,))).splitlines()
    assert lines[:3] == ["Step 1 of 1, now: Do it.", "    Do this first.", "    Then that."]
    assert as_text(SetupPlan("rocm", (replace(step, notes=()),))).splitlines()[1] == "    Why it is."


def test_a_plan_of_waiting_steps_says_for_what() -> None:
    late = SetupPlan("pytorch", (replace(GROUPS, needs=()),))
    assert headline(late).text.startswith("Step 1 of 1 waits")
    unknown = SetupPlan("pytorch", (Step("a", "A", "unknown", "Not shown."), replace(GROUPS, needs=("a",))))
    assert headline(unknown).text == "Step 1 of 2 is unknown here: A."
    assert headline(unknown).more == ("Not shown.",)


def test_a_gpu_that_nothing_can_use_is_said_before_the_steps_that_remain() -> None:
    wheel = replace(TORCH, state="todo", optional=False)
    barred = replace(DRIVER, id="rocm", title="ROCm for this GPU", state="impossible", optional=True, why="No release.")
    said = headline(SetupPlan("pytorch", (wheel, barred)))
    assert said.text.startswith("Step 2 cannot be done here: ROCm for this GPU. Step 1 of 2, now: ")
    assert said.more[0] == "No release." and said.step is wheel
    named = headline(SetupPlan("pytorch", (wheel, barred), first=wheel.id))  # a check names what comes first
    assert named.text.startswith("Step 1 of 2, now: ")
    possible = headline(SetupPlan("pytorch", (wheel, replace(barred, state="unknown"))))
    assert possible.text.startswith("Step 1 of 2, now: ")


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("name", PLANS)
def test_no_line_is_wider_than_asked(name: str, width: int) -> None:
    text = as_text(PLANS[name], ["gpu 0     AMD Radeon RX 7900 XTX"], width=width, verbose=True)
    assert max(map(len, text.splitlines())) <= width
    assert "\n\n\n" not in text


def test_every_step_says_all_that_it_knows() -> None:
    text = as_text(FULL, verbose=True)
    block = text[text.index("2  now ") : text.index("3  waiting")]
    for words in (
        "why      Kernel 6.2",
        "run      sudo apt update",
        "changes  amdgpu-dkms, /lib/modules",
        "risk     needs a restart; takes effect after a restart",
        "support  Supported by AMD",
        "verify   rocdoctor check kernel-too-old-for-gpu   (after a restart)",
        "undo     sudo apt autoremove amdgpu-dkms",
        "source ",
        "(primary)",
    ):
        assert words in block
    assert "1  done     Firmware of the GPU: VCN 0x1 (read /sys/kernel/debug/x:3)\n" in text
    assert "waits    for step 4 (Restart the machine)\n" in text
    assert "waits    for step 5 (Join the groups that own the device nodes) and a new login\n" in text
    assert "Waits for:" not in text


def test_what_is_done_takes_one_line() -> None:
    found = tuple(Evidence("value " * 5, "read /sys/" + "a" * 30, number) for number in range(3))
    plan = SetupPlan("rocm", (Step("a", "Title", "done", "Why.", evidence=found),))
    assert "1  done     Title\n" in as_text(plan, width=60)
    assert as_text(plan, width=60, verbose=True).count("/sys/") == 3


def test_by_default_a_step_is_a_line_and_what_the_goal_does_not_need_is_folded() -> None:
    late = replace(GROUPS, optional=True)
    fetched = replace(REPOSITORY, download_gb=5.1, disk_gb=8.0)
    plan = SetupPlan("pytorch", (replace(FIRMWARE, support="It is old."), DRIVER, fetched, late))
    lines = as_text(plan).splitlines()
    assert lines[lines.index("1  done     Firmware of the GPU") + 1] == "   but      It is old."
    assert "2  now      Install AMD's driver package" in lines
    assert any("Register the repository: about 5 GB to download (7 min at 100 Mbit/s), 8 GB" in one for one in lines)
    assert "Not needed for the goal: 4 (Join the groups that own the device nodes)." in lines
    assert not any("undo" in one and "--step" not in one for one in lines)
    assert "It is old." in as_text(plan, verbose=True)


def test_one_step_alone_has_all_that_is_known_of_it() -> None:
    text = render(document(FULL, (), only=2), 100)
    assert text.startswith("2  now      Install AMD's driver package\n")
    for words in ("why ", "run ", "changes ", "undo ", "source "):
        assert f"   {words}" in text


def test_the_key_comes_before_the_restart_that_needs_it() -> None:
    key = replace(KEY, state="todo")
    plan = SetupPlan("pytorch", (DRIVER, key, RESTART))
    assert "Before you restart, do step 2 (Enrol the key that signs the module)" in headline(plan).more[0]
    assert "restart, then run" in headline(SetupPlan("pytorch", (DRIVER, replace(key, state="done"), RESTART))).more[0]


def test_each_source_has_what_it_is_worth_itself() -> None:
    torch = plan_of("xtx-ubuntu2404-fresh").steps
    found = sources(next(one for one in torch if one.id == "torch"))
    assert len({kind for _, kind in found}) > 1, found


def test_what_a_step_waits_for_is_a_note_of_the_json_alone() -> None:
    wanted = Step("b", "Second", "waiting", "Why.", waits_for="a", needs=("a",), notes=("Own.",))
    plan = SetupPlan("rocm", (Step("a", "First", "todo", "Why."), wanted))
    steps = setup_json.as_json(plan, {}, sudo=True)["steps"]
    assert [one["notes"] for one in steps] == [[], ["Own.", "Waits for: First."]]
    assert "Waits for" not in as_text(plan, verbose=True) + as_markdown(plan)
    hopeless = SetupPlan("rocm", (plan.steps[0], replace(wanted, state="impossible")))
    assert setup_json.as_json(hopeless, {}, sudo=True)["steps"][1]["notes"] == ["Own.", "Needs: First."]
    assert "note     Needs: First.\n" in as_text(hopeless, verbose=True)


def test_quiet_is_what_to_do_next() -> None:
    assert as_text(FULL, quiet=True).count("\n") == 5


def test_colour_adds_nothing_but_itself() -> None:
    plain = as_text(FULL)
    coloured = as_text(FULL, colour=True)
    assert coloured != plain
    for code in ("\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31;1m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_waits_and_left() -> None:
    assert waits_for(FULL, GROUPS) == "waits for step 4 (Restart the machine)"
    assert waits_for(FULL, LIMITS) == "", "a login, and no step"
    assert [step.id for step in left(FULL)] == ["driver", "key", "restart", "groups", "repository", "memlock", "torch"]
    assert left(PLANS["optional"]) == left(PLANS["impossible"]) == []
    assert left(SetupPlan("rocm", (replace(RESTART, needs=()), DRIVER)))


def test_json_is_the_contract() -> None:
    data = json.loads(json.dumps(setup_json.as_json(FULL, {"kind": "live", "origin": "here"}, sudo=True)))
    assert data["schema"] == "rocdoctor.setup/1"
    assert (data["goal"], data["next"], data["finished"], data["left"]) == ("pytorch", "driver", False, 7)
    assert data["goal"] in GOALS
    first, driver = data["steps"][:2]
    assert first["evidence"] == [{"source": "read /sys/kernel/debug/x", "line": 3, "value": "VCN 0x1"}]
    assert driver["actions"][0] == {
        "words": ["apt", "update"],
        "file": None,
        "lines": None,
        "append": False,
        "root": True,
        "commands": ["sudo apt update"],
    }
    assert driver["verify"] == {
        "check": "kernel-too-old-for-gpu",
        "command": "rocdoctor check kernel-too-old-for-gpu",
        "shows": "",
    }
    assert set(driver) == {
        "id",
        "number",
        "layer",
        "needs",
        "optional",
        "title",
        "state",
        "why",
        "waits_for",
        "evidence",
        "actions",
        "changes",
        "risk",
        "effective",
        "verify",
        "undo",
        "support",
        "notes",
        "sources",
        "table",
        "kind",
        "download_gb",
        "disk_gb",
    }
    assert driver["sources"][0]["id"] == "drv"
    assert driver["sources"][0]["what"] != "drv", "the table knows it"
    repository = next(step for step in data["steps"] if step["id"] == "repository")
    assert repository["actions"][2]["lines"] == ["deb [arch=amd64] x main", "it's $a `b`"]
    assert data["steps"][3]["waits_for"].startswith("step 3 (")


def test_markdown_is_a_guide() -> None:
    text = as_markdown(FULL, ["gpu 0     AMD"])
    assert text.startswith("## Setup for training with PyTorch\n\n**Step 2 of 8, now: Install AMD's driver package.**")
    assert "| 2 | Install AMD's driver package | now |" in text
    assert "```sh\nsudo apt update\n" in text
    assert "- Verify: `rocdoctor check kernel-too-old-for-gpu` (after a restart)" in text
    assert "- Waits: for step 4 (Restart the machine)\n" in text
    assert text.count("```") % 2 == 0


def test_no_word_ends_a_block_of_commands() -> None:
    step = Step("a", "A", "todo", "W", actions=(Action(("echo", "x\n```\n# H")),))
    lines = as_markdown(SetupPlan("rocm", (step,))).splitlines()
    begin = lines.index("```sh")
    assert lines[begin : begin + 5] == ["```sh", 'echo "x', "\\`\\`\\`", '# H"', "```"]


_EVIL = "x\x1b]0;t\x07 \x1b[2J| `q` <b> \u202e ``` \n# H"


@pytest.mark.parametrize("state", ["done", "todo", "waiting", "unknown", "impossible"])
def test_words_of_the_evidence_are_words(state: str) -> None:
    step = Step(
        "a",
        _EVIL,
        state,  # type: ignore[arg-type]
        _EVIL,
        (Evidence(_EVIL, _EVIL, 1),),
        (Action((_EVIL, "b")), Action(file=_EVIL, lines=(_EVIL,))),
        (_EVIL,),
        verify=Verify(command=_EVIL, shows=_EVIL),
        undo=(Action((_EVIL,)),),
        support=_EVIL,
        notes=(_EVIL,),
        sources=("nowhere",),
    )
    plan = SetupPlan("rocm", (step,), (_EVIL,))
    shown = [as_text(plan, [_EVIL], verbose=True), as_markdown(plan, [_EVIL])]
    shown.append(json.dumps(setup_json.as_json(plan, {"origin": _EVIL}, True), ensure_ascii=False))
    for text in shown:
        assert "\x1b" not in text
        assert "\u202e" not in text
    outside, fence = [], ""
    for line in shown[1].splitlines():
        if not fence and line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert not fence
    assert not any(line.startswith("# H") for line in outside)
    assert not any("<b>" in line for line in outside if "`" not in line)


def test_a_comment_behind_a_command_is_not_broken() -> None:
    lines = broken(tokens_of("cat /proc/cmdline  # then run the test again"), 20, "", "  ")
    assert lines == ["cat /proc/cmdline \\", "  # then run the test again"]


def test_every_plan_says_of_which_day_its_facts_are_and_what_is_open() -> None:
    """A plan is kept, and read again when a newer release is out."""
    short = render(document(PLANS["full"]), 100)
    assert f"The facts are from {install.tables_day()}, when ROCm {install.streams()[0].rocm} was the newest." in short
    whole = " ".join(render(document(PLANS["full"], verbose=True), 100).split())
    assert install.not_settled() and all(one in whole for one in install.not_settled())
    assert "The facts are from" not in render(document(PLANS["empty"]), 100)
