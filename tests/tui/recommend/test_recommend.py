"""The plan screen: a form, the plan that the command would make, and the files that the command would write."""

from __future__ import annotations

import json
import shlex
import stat
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from rocdoctor.cli.main import run
from rocdoctor.collect import collect
from rocdoctor.model.facts import Machine
from rocdoctor.report.plan.recommend_json import as_json
from rocdoctor.service.errors import UsageError
from rocdoctor.train.emit.files import File
from rocdoctor.train.recommend.plan import Needed, Recommendation
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.recommend import plan_form_values
from rocdoctor.tui.recommend.choice import ChoiceField
from rocdoctor.tui.recommend.drawing import plan_text
from rocdoctor.tui.recommend.plan_files import PlanFiles
from rocdoctor.tui.recommend.plan_form import PlanForm
from rocdoctor.tui.recommend.plan_form_values import Form
from rocdoctor.tui.recommend.screen import RecommendPage
from rocdoctor.tui.widgets.ask import Ask, Confirm
from rocdoctor.tui.widgets.reader import Reader
from rocdoctor.tui.widgets.rows import Rows
from tests.kit import ROOT
from tests.tui.kit import NARROW, SIZES, WIDE, driven, fixture_host, same_picture, seen, shown, until
from tools.docs.pictures import settled

pytestmark = pytest.mark.usefixtures("plans_once")


def _machine(name: str) -> Machine:
    return collect(fixture_host(name))


def _never() -> None:
    pass


async def _open(app: RocdoctorApp, pilot: Pilot[Any]) -> RecommendPage:
    await pilot.press("6")
    await until(pilot, lambda: isinstance(app.screen, RecommendPage) and app.screen._answer is not None, 30)
    await pilot.pause()
    page = app.screen
    assert isinstance(page, RecommendPage)
    return page


def _state(page: RecommendPage) -> str:
    return str(page.query_one("#state", Static).render())


async def _files(page: RecommendPage, pilot: Pilot[Any]) -> PlanFiles:
    await pilot.press("f")
    files = page.query_one(PlanFiles)
    await until(pilot, lambda: files.emission is not None, 30)
    await pilot.pause()
    return files


@pytest.mark.parametrize(("size", "pictures"), [(NARROW, ("form", "files")), (WIDE, ("plan",))])
def test_the_plan_screen_looks_as_it_should(
    request: pytest.FixtureRequest, size: tuple[int, int], pictures: tuple[str, ...]
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        async def picture(name: str) -> None:
            if name in pictures:
                await same_picture(request, app, pilot, f"recommend-{name}")

        page = await _open(app, pilot)
        await picture("form")
        await pilot.press("enter")
        await pilot.pause()
        await picture("plan")
        await _files(page, pilot)
        await picture("files")

    driven(fixture_host("mi300x-8gpu"), look, size)


@pytest.mark.parametrize("size", [(60, 20), *SIZES])
def test_m_shows_the_estimate_behind_the_plan_as_the_command_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: tuple[int, int]
) -> None:
    fixture = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        page = await _open(app, pilot)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, Reader))
        text = app.screen._text  # type: ignore[attr-defined]
        assert "Memory of one GPU" in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        return str(text)

    text = driven(fixture_host("rx7900xtx-2gpu"), read, size)
    first, second = text.rstrip().splitlines()[-2:]
    words, place = first.strip().replace("rx7900xtx-2gpu.capture", fixture).split(" > ")
    assert (place, second.strip()) == ("plan.json", "rocdoctor estimate plan.json")
    assert run(shlex.split(words)[1:]) == 0
    (tmp_path / "plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert run(["estimate", str(tmp_path / "plan.json")]) == 0
    printed = capsys.readouterr().out
    assert " ".join(printed.split()) in " ".join(text.split())
    assert "GiB" in printed


# -- the linter


async def _read(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
    await until(pilot, lambda: isinstance(app.screen, Reader), 30)
    text = app.screen._text  # type: ignore[attr-defined]
    assert text[:12] in shown(app)
    await pilot.press("escape")
    await pilot.pause()
    return str(text)


def test_l_lints_the_files_of_the_plan_as_the_command_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")
    bad = File("train.sh", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\npython train.py\n")

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str, list[str]]:
        page = await _open(app, pilot)
        await pilot.press("l")
        clean = await _read(app, pilot)
        files = page.query_one(PlanFiles)
        beside = files.emission
        assert beside is None and page.view == "form", "they are made beside the screen"
        made = (await _files(page, pilot)).emission
        assert made is not None
        names = [one.name for one in made.files]
        monkeypatch.setattr(files, "emission", replace(made, files=(bad, File("notes.odt", "x"))))
        await pilot.press("l")
        return clean, await _read(app, pilot), names

    clean, found, names = driven(fixture_host("rx7900xtx-2gpu"), read, WIDE)
    assert clean.startswith("Nothing found in ") and len(names) > 0, "our own files pass our own linter"
    assert "notes.odt: not a file that the linter reads" in found
    monkeypatch.chdir(tmp_path)
    Path("train.sh").write_text(bad.text)
    run(["lint", "--from", fixture, "train.sh"])
    printed = capsys.readouterr().out
    assert "gfx-override" in printed
    assert " ".join(found.split()).startswith(" ".join(printed.split()))


def test_capital_l_lints_a_file_that_somebody_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "job.sh").write_text("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n")

    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, list[str]]:
        await _open(app, pilot)
        told: list[str] = []

        async def name(path: str) -> None:
            await pilot.press("L")
            await until(pilot, lambda: isinstance(app.screen, Ask))
            app.screen.query_one(Input).value = path
            await pilot.press("enter")

        await name("~/job.sh")
        text = await _read(app, pilot)
        app.notify = lambda words, **_: told.append(words)  # type: ignore[method-assign]
        for path in ("-", "~/none.sh"):
            before = len(told)
            await name(path)
            await until(pilot, lambda before=before: len(told) > before + 1)  # type: ignore[misc]
        return text, told[1::2]

    text, told = driven(fixture_host("rx7900xtx-2gpu"), read, NARROW)
    assert "job.sh:1: " in text and "gfx-override" in text and "1 finding in 1 file." in text
    assert told[0].startswith("-: standard input is the keyboard") and "none.sh" in told[1]


def test_without_a_plan_l_says_so() -> None:
    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        told: list[str] = []
        page.notify = lambda words, **_: told.append(words)  # type: ignore[method-assign]
        page._answer = None
        await pilot.press("l")
        await until(pilot, lambda: told == ["there is no plan yet whose files could be checked"])

    driven(fixture_host("rx7900xtx-2gpu"), read, NARROW)


def test_without_a_plan_m_says_so() -> None:
    async def read(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        told: list[str] = []
        page.notify = lambda words, **_: told.append(words)  # type: ignore[method-assign]
        page._answer = None
        await pilot.press("m")
        await until(pilot, lambda: told == ["there is no plan yet whose memory could be shown"])
        assert app.screen is page

    driven(fixture_host("rx7900xtx-2gpu"), read)


def test_from_the_form_to_written_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixture = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[Form, tuple[str, ...]]:
        page = await _open(app, pilot)
        await pilot.press("slash", *"qwen2.5-0.5b", "enter")
        assert page.query_one(PlanForm).model == "qwen2.5-0.5b"
        page.query_one("#batch", Input).focus()
        await pilot.press(*"32")
        assert "The form has changed" in _state(page)
        page.query_one("#script", Input).value = "tune.py"
        before = page._answer
        await pilot.press("enter")
        await until(pilot, lambda: page._answer is not before)
        assert "sequences per step, as you asked" in shown(app) or page.view == "plan"
        files = await _files(page, pilot)
        assert files.emission is not None
        assert [one.name for one in files.emission.files] == ["rocdoctor-env.sh", "rocdoctor.env", "train.sh"]
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        app.screen.query_one(Input).value = str(tmp_path / "screen")
        await pilot.press("enter")
        await until(pilot, lambda: "Written:" in str(page.query_one("#said", Static).render()))
        return page._of, files.targets

    form, targets = driven(fixture_host("rx7900xtx-2gpu"), write)
    assert form.batch == "32"
    words = shlex.split(plan_form_values.command(form, fixture, targets, str(tmp_path / "command")))
    assert words[:4] == ["rocdoctor", "emit", "env", "torchrun"]
    assert run(words[1:]) == 0
    assert "tune.py" in (tmp_path / "screen" / "train.sh").read_text()
    capsys.readouterr()
    ours, theirs = sorted((tmp_path / "screen").iterdir()), sorted((tmp_path / "command").iterdir())
    assert [path.name for path in ours] == [path.name for path in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert stat.S_IMODE(one.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_files_that_exist_are_written_over_only_after_a_yes(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("mine")

    async def write(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        await _files(page, pilot)
        for answer, text in (("n", "mine"), ("escape", "mine"), ("y", "torchrun")):
            await pilot.press("w")
            await until(pilot, lambda: isinstance(app.screen, Ask))
            app.screen.query_one(Input).value = str(tmp_path)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, Confirm))
            assert f"{tmp_path}/train.sh" in "".join(shown(app).replace("│", "").split())
            await pilot.press(answer)
            await until(pilot, lambda: app.screen is page)
            if answer == "y":
                await until(pilot, lambda: "Written:" in str(page.query_one("#said", Static).render()))
            assert text in (tmp_path / "train.sh").read_text()

    driven(fixture_host("rx7900xtx-2gpu"), write)


def test_what_came_between_the_question_and_the_writing_stays(tmp_path: Path) -> None:
    made = plan_form_values.emission(Form("smollm2-135m"), _machine("recorded-cpu-vm"), ("torchrun",), _never)
    (tmp_path / "train.sh").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        plan_form_values.store(str(tmp_path), made.files, force=False)
    assert (tmp_path / "train.sh").read_text() == "mine"
    assert plan_form_values.standing(str(tmp_path), made.files) == [tmp_path / "train.sh"]


FORMS = (
    (Form("llama-3.1-8b", "full"), "mi300x-8gpu"),
    (Form("qwen2.5-7b", "lora", "4096", "64", "memory"), "mi210-8gpu"),
    (Form("llama-3.1-70b", "pretrain", framework="megatron", gpus="8xMI300X", nodes="4"), "recorded-cpu-vm"),
    (Form("layers=12,hidden=768", "pretrain", "1024"), "recorded-cpu-vm"),
    (Form("llama-3.1-405b", "full"), "rx6600"),
)
_IDS = ["usual", "filled", "described", "sizes", "does-not-fit"]


@pytest.mark.parametrize(("form", "name"), FORMS, ids=_IDS)
def test_equal_inputs_give_the_plan_of_the_command(
    form: Form, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = str(ROOT / "fixtures" / f"{name}.capture")
    source = [] if form.gpus else ["--from", fixture]
    status = run(["recommend", *plan_form_values.arguments(form), *source, "--json"])
    said = json.loads(capsys.readouterr().out)
    answer = plan_form_values.plan(form, _machine(name), _never)
    assert (answer.plan is None) == (status == 1)
    assert json.loads(json.dumps(as_json(answer), default=str)) == said
    # The command line that the screen shows means the same options.
    words = shlex.split(plan_form_values.command(form, fixture))
    assert words == ["rocdoctor", "recommend", *plan_form_values.arguments(form), *source]


def test_what_does_not_fit_names_the_smallest_change_and_a_key_applies_it() -> None:
    async def apply(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, Form]:
        page = await _open(app, pilot)
        form = page.query_one(PlanForm)
        form.fill(Form("llama-3.1-8b", "full"))
        await pilot.press("enter")
        await until(pilot, lambda: page._answer is not None and page._answer.plan is None)
        await until(pilot, lambda: page.view == "plan" and "Key a applies" in shown(app))
        text = shown(app)
        await pilot.press("f")
        assert page.view != "files"
        await pilot.press("a")
        await until(pilot, lambda: page._answer is not None and page._answer.plan is not None)
        return text, form.form()

    text, form = driven(fixture_host("rx7900xtx-2gpu"), apply)
    assert "Nothing fits: llama-3.1-8b (full" in text
    assert "Even the smallest plan needs" in text
    assert "Key a applies the smallest change: --method lora" in text
    assert form == Form("llama-3.1-8b", "lora")


class _Held:
    """Stands for a search that goes on until it is told to end, or sees that nobody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Recommendation) -> None:
        self.go, self.started, self.ended = threading.Event(), 0, 0
        self.forms: list[Form] = []
        self._answer = answer
        monkeypatch.setattr("rocdoctor.tui.recommend.screen.plan", self)

    def __call__(self, form: Form, machine: Machine | None, seen: plan_form_values.Seen) -> Recommendation:
        self.forms.append(form)
        try:
            while not self.go.wait(0.005):
                seen()
        finally:
            self.ended += 1
        return self._answer


def test_a_search_tells_its_progress_and_ends_when_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = plan_form_values.plan(Form("smollm2-135m", "full"), _machine("recorded-cpu-vm"), _never)

    async def stop(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        held = _Held(monkeypatch, answer)
        before = page._answer
        await pilot.press("down", "enter")
        await until(pilot, lambda: "configurations compared (Escape stops)" in _state(page))
        await pilot.press("escape")
        assert "Stopped" in _state(page)
        await until(pilot, lambda: held.ended == 1)
        assert page._answer is before
        # A change of the form stops too, and nothing starts before Enter.
        await pilot.press("enter")
        await until(pilot, lambda: len(held.forms) == 2)
        await pilot.press("down")
        await until(pilot, lambda: held.ended == 2)
        page.query_one("#seq", Input).focus()
        await pilot.press(*"512")
        await until(pilot, lambda: page._form.form().seq == "512")
        assert len(held.forms) == 2
        held.go.set()
        await pilot.press("enter")
        await until(pilot, lambda: page._answer is answer)
        assert held.forms[-1].seq == "512"

    driven(fixture_host("recorded-cpu-vm"), stop)


def test_what_makes_no_sense_is_said_in_words() -> None:
    cases = (
        ("seq", "many", "sequence: 'many' is not a whole number"),
        ("nodes", "0", "--nodes must be between 1 and 100000"),
        ("gpus", "8xMI3000X", "MI3000X"),
        ("search", "lama-31-8x", "nearest: llama-3.1-8b"),
    )

    async def plan(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        form = page.query_one(PlanForm)
        first = form.form()
        for field, value, words in cases:
            form.fill(first)
            await pilot.pause()
            page.query_one(f"#{field}", Input).value = value
            await pilot.pause()
            if field == "search":
                await until(pilot, partial(_has_model, form, value))
            await page.action_plan()
            await until(pilot, partial(_says, page, words))
            assert page.view != "plan", field

    driven(fixture_host("recorded-cpu-vm"), plan)


def test_a_change_that_is_told_after_enter_does_not_stop_its_own_plan() -> None:
    async def plan(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        page.query_one("#nodes", Input).value = "0"
        await page.action_plan()
        await until(pilot, partial(_says, page, "--nodes must be between 1 and 100000"))

    driven(fixture_host("recorded-cpu-vm"), plan)


def _has_model(form: PlanForm, name: str) -> bool:
    return form.model == name


def _says(page: RecommendPage, words: str) -> bool:
    return words in _state(page)


def test_the_command_line_is_copied_and_other_targets_may_need_another_plan_which_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(RocdoctorApp, "copy_to_clipboard", lambda _, text: copied.append(text))

    async def choose(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, tuple[str, ...]]:
        page = await _open(app, pilot)
        await pilot.press("c")
        files = await _files(page, pilot)
        await pilot.press("c")
        targets = files.query_one("#targets", Rows)
        await pilot.press("space", "down", "space")  # neither env nor torchrun
        await until(pilot, lambda: files.targets == () and files.emission is not None and files.emission.problem)
        assert files.emission is not None
        assert files.emission.problem == "no target is chosen"
        targets.cursor = 4
        await pilot.press("enter")
        await until(pilot, lambda: files.emission is not None and bool(files.emission.files))
        return str(page.query_one("#said", Static).render()), files.targets

    said, targets = driven(fixture_host("mi300x-8gpu"), choose)
    assert targets == ("deepspeed",)
    assert "These files can express only a different plan. Train llama-3.1-8b" in said
    assert "DeepSpeed" in said
    model = "--model llama-3.1-8b --method full --from mi300x-8gpu.capture"
    assert copied == [f"rocdoctor recommend {model}", f"rocdoctor emit env torchrun {model} -o rocdoctor-plan"]


def test_a_file_is_wrapped_and_never_cut_off() -> None:
    async def choose(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        files = await _files(page, pilot)
        first = files.emission
        await pilot.press("down", "down", "down", "down", "space")
        await until(pilot, lambda: files.emission is not first)
        await settled(app, pilot)
        await seen(pilot)
        assert "NCCL_DEBUG=WARN" in shown(app)
        assert "\N{HORIZONTAL ELLIPSIS}" not in shown(app)

    driven(fixture_host("h100-8gpu"), choose)


def test_targets_that_exclude_each_other_are_said() -> None:
    made = plan_form_values.emission(Form(), _machine("mi300x-8gpu"), ("accelerate", "deepspeed"), _never)
    assert made.files == ()
    assert "leave deepspeed out" in made.problem


def test_escape_goes_back_step_by_step() -> None:
    async def back(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            page = await _open(app, pilot)
            await pilot.press("enter")
            assert page.query_one("#plan-box").display
            await _files(page, pilot)
            assert page.query_one(PlanFiles).display
            assert page.query_one("#form-box").display == (size[0] >= 130)
            await pilot.press("escape")
            assert page.view == "plan"
            if size[0] < 130:
                await pilot.press("escape")
                assert page.query_one("#form-box").display
            await pilot.press("escape")
            await until(pilot, lambda: app.current_mode == "overview")

    driven(fixture_host("rx7900xtx-2gpu"), back)


def test_the_form_outlasts_another_look_and_a_resize_and_begins_anew_with_other_evidence() -> None:
    async def leave(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        page = await _open(app, pilot)
        first = page.query_one(PlanForm).form()
        page.query_one("#method", ChoiceField).focus()
        await pilot.press("right", "down", *"777")
        form = page.query_one(PlanForm).form()
        assert form.seq == "777"
        assert form.method != first.method
        await pilot.resize_terminal(200, 50)
        await pilot.press("escape", "1")
        await until(pilot, lambda: app.current_mode == "overview")
        await pilot.press("r")
        await settled(app, pilot)
        await pilot.press("6")
        await until(pilot, lambda: app.screen is page)
        assert page.query_one(PlanForm).form() == form
        app.open(fixture_host("recorded-cpu-vm"))
        await until(pilot, lambda: page.query_one(PlanForm).form().seq == "" and page._answer is not None, 30)
        assert page._answer is not None
        assert page._answer.fleet.vendor == "cpu"

    driven(fixture_host("rx7900xtx-2gpu"), leave)


@pytest.mark.parametrize("name", ["mi300x-8gpu-cpx", "strix-halo", "rx580", "h100-8gpu", "arm-server", "mi300a-4apu"])
def test_the_beginning_suits_the_machine(name: str) -> None:
    form, answer = plan_form_values.beginning(_machine(name), _never)
    assert answer is not None
    assert answer.plan is not None
    assert answer.plan.result.fits == "yes"
    assert plan_form_values.plan(form, _machine(name), _never).plan is not None


@pytest.mark.parametrize(("form", "name"), FORMS, ids=_IDS)
def test_a_drawn_plan_keeps_to_the_width(form: Form, name: str) -> None:
    answer = plan_form_values.plan(form, _machine(name), _never)
    for width in (60, 78, 140):
        text = plan_text(answer, width)
        assert max(len(line) for line in text.plain.split("\n")) <= width
        assert "--seq states" not in text.plain, "there is a field for it"
        if answer.plan is not None:
            assert "#" in text.plain
            assert "each " in text.plain
            assert "Next best" in text.plain or answer.runner_up is None
        else:
            assert text.plain.startswith("Nothing fits")


@pytest.mark.parametrize(
    ("option", "field", "value"),
    [
        ("--seq", "seq", "1024"),
        ("--method", "method", "qlora"),
        ("--model", "model", "qwen2.5-3b"),
        ("--nodes", "nodes", "2"),
        ("--global-batch", "batch", "16"),
    ],
)
def test_a_change_of_the_form(option: str, field: str, value: str) -> None:
    form = plan_form_values.changed(Form(), Needed("--seq 7: whatever it says.", option, value))
    assert form is not None
    assert getattr(form, field) == value
    assert plan_form_values.changed(Form(), Needed("4 such GPUs in one node would fit.")) is None


def test_a_machine_that_has_not_answered_can_be_described() -> None:
    with pytest.raises(UsageError, match="has not answered yet"):
        plan_form_values.plan(Form(), None, _never)
    assert plan_form_values.plan(Form(gpus="8xMI300X"), None, _never).plan is not None


def test_a_choice_that_changes_is_a_change_of_the_form() -> None:
    async def choose(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str, str, int]:
        page = await _open(app, pilot)
        method = page.query_one("#method", ChoiceField)
        method.focus()
        await pilot.press("right")
        await seen(pilot)
        style = method.rich_style
        hint = str(page.query_one("#hint", Static).render())
        return _state(page), hint, "reverse" if style.reverse else "plain", method.outer_size.height

    state, hint, style, height = driven(fixture_host("mi300x-8gpu"), choose)
    assert state == "The form has changed: Enter makes the new plan."
    assert hint == "lora: small adapters on frozen weights. Left and right choose."
    assert (style, height) == ("reverse", 1)


def test_models_that_were_read_in_are_there_in_the_first_frame() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, int, int]:
        await until(pilot, lambda: plan_form_values.known_models())
        page = RecommendPage()
        page._start = lambda form, work, done: None  # type: ignore[method-assign]
        await app.push_screen(page)
        form = page.query_one(PlanForm)
        at = form.query_one("#models", Rows).cursor
        return form._hits[at][0], len(form._hits), page.query_one("#state").outer_size.height

    model, count, height = driven(fixture_host("mi300x-8gpu"), look)
    assert model == Form().model
    assert count == len(plan_form_values.models())
    assert height == 3
