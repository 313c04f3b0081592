"""Overview, Findings, Setup, Plan and Topology claim the same, on every machine that we have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.pilot import Pilot

from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.gpu_standing import failing, standings
from rocdoctor.judging.subjects import grouped
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import GpuLink
from rocdoctor.model.finding import Diagnosis, Finding, Fix
from rocdoctor.model.printable import one_line
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.planner import plan
from rocdoctor.repair.setup.words import headline as setup_headline
from rocdoctor.report.diagnosis.text import command_block
from rocdoctor.report.plan.recommend_document import document
from rocdoctor.report.plan.recommend_json import as_json
from rocdoctor.report.text import lines, render
from rocdoctor.service.evidence import open_evidence
from rocdoctor.service.planning import PlanOptions, fleet_on, recommendation, unfit_for
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.findings.finding_options import row_text
from rocdoctor.tui.findings.finding_page import page
from rocdoctor.tui.findings.findings_list import sections, state_counts
from rocdoctor.tui.findings.screen import FindingsPage
from rocdoctor.tui.look import Look
from rocdoctor.tui.overview.dashboard import gpu_lines, link_lines, next_lines, state_word
from rocdoctor.tui.overview.drawing import counts, first, found_row
from rocdoctor.tui.story import Story, next_step, story
from rocdoctor.tui.style import SEVERITY_STYLE, STATE_STYLE
from rocdoctor.tui.topology.drawing import topology
from tests.golden.replay import FIXTURES, judged, judged_fixture, our_checks
from tests.kit import amd_gpu, k, machine
from tests.tui.kit import NARROW, WIDE, driven, fixture_host, seen, shown, until


@cache
def _machines() -> tuple[tuple[str, Diagnosis, SetupPlan], ...]:
    paths = sorted(Path(FIXTURES).rglob("*.capture"))
    each = ((path.stem, judged(open_evidence(str(path)))) for path in paths)
    return tuple((name, diagnosis, plan(diagnosis, "pytorch")) for name, diagnosis in each)


def _first(diagnosis: Diagnosis) -> Finding | None:
    rows = [row for one in sections(diagnosis) for row in one.rows]
    return rows[0].finding if rows else None


def _differ(diagnosis: Diagnosis, setup: SetupPlan) -> Iterator[str]:
    told = story(diagnosis, setup, False)
    first, headings = _first(diagnosis), [one.heading for one in sections(diagnosis)]
    if told.title == "do first":
        if first is None or first.message not in told.wrong:
            yield f"Overview begins with {told.wrong!r}, Findings with {first.message if first else 'nothing'!r}"
    elif any(one.startswith("do first") for one in headings):
        yield f"Findings says {headings[0]!r}, Overview {told.title!r}"
    if next_step(setup) and told.title == "in short":
        yield f"Setup says {next_step(setup)!r}, Overview {told.todo!r}"
    if told.title == "do next" and next_step(setup) != told.todo:
        yield f"Setup says {next_step(setup)!r}, Overview {told.todo!r}"
    counted = state_counts(sections(diagnosis))
    for state in ("unknown", "pass", "not-applicable", "crashed"):
        if counted[state] != diagnosis.count(state):
            yield f"Findings counts {counted[state]} {state}, Overview {diagnosis.count(state)}"
    if counted["fail"] != len(grouped(diagnosis.verdicts)):
        yield f"Findings lists {counted['fail']}, Overview {len(grouped(diagnosis.verdicts))}"
    sick = {one.gpu.index for one in standings(diagnosis) if one.fails}
    drawn = topology(diagnosis.machine, diagnosis.verdicts, 200)
    for one in standings(diagnosis):
        lines = " ".join(line.plain for line, gpu in zip(drawn.lines, drawn.gpus, strict=True) if gpu == one.gpu.index)
        if one.fails and one.check not in lines:
            yield f"Topology does not mark gpu {one.gpu.index} with {one.check}"
        if one.fails and f"error {one.check}" not in gpu_lines(diagnosis, 400).plain:
            yield f"the line of gpu {one.gpu.index} does not say {one.check}"
    unfit = {index for one in failing(diagnosis) for index in one.gpus}
    if unfit != sick:
        yield f"findings speak of gpu {sorted(unfit)}, sick are {sorted(sick)}"
    told_of, used = _planned(diagnosis)
    if told_of != sick & used:
        yield f"a plan for gpu {sorted(used)} speaks of {sorted(told_of)}, sick are {sorted(sick)}"
    said = setup_headline(setup)
    if said.step is not None and said.step.state == "todo":
        above = [one for one in setup.steps[: setup.steps.index(said.step)] if one.state == "todo" and not one.optional]
        if bool(above) != ("after it" in said.text):
            yield f"Setup says {said.text!r}, to do above that are {[one.id for one in above]}"


def _planned(diagnosis: Diagnosis) -> tuple[set[int], set[int]]:
    """The GPUs that the command and the screen speak against; those that their plan uses. All have an address."""
    try:
        fleet = fleet_on(diagnosis.machine, 1)
    except SpecError:
        return set(), set()
    told = unfit_for(diagnosis, fleet)
    assert all(one.counted.endswith(f"This plan counts {'them' if len(one.gpus) > 1 else 'it'} in.") for one in told)
    seats = {seat.bdf for seat in fleet.seats if seat.bdf}
    used = {gpu.index for gpu in diagnosis.machine.gpus if value_or(gpu.bdf, None) in seats}
    return {index for one in told for index in one.gpus}, used


def _hasty(diagnosis: Diagnosis, setup: SetupPlan) -> Iterator[str]:
    """Verdicts in what is only preliminary."""
    said = [*story(diagnosis, setup, True).lines, story(diagnosis, setup, True).title]
    said += [one.heading for one in sections(diagnosis, True)]
    yield from (one for one in said if "nothing to fix" in one.lower() or one.lower().startswith("do "))


def test_the_screens_tell_one_story() -> None:
    machines = _machines()
    assert len(machines) > 30
    found = {name: [*_differ(diagnosis, setup)] for name, diagnosis, setup in machines}
    assert {name: said for name, said in found.items() if said} == {}


def test_nothing_preliminary_is_worded_as_a_verdict() -> None:
    found = {name: [*_hasty(diagnosis, setup)] for name, diagnosis, setup in _machines()}
    assert {name: said for name, said in found.items() if said} == {}


def _machine(name: str) -> tuple[Diagnosis, SetupPlan]:
    return next((diagnosis, setup) for one, diagnosis, setup in _machines() if one == name)


def test_what_is_wrong_comes_before_what_to_do() -> None:
    diagnosis, setup = _machine("mi300x-8gpu-tired")
    told = story(diagnosis, setup, False)
    assert told.title == "do first"
    assert told.wrong.startswith("gpu 3: Uncorrectable hardware errors")
    assert told.todo.startswith("Take this GPU out of the job")
    assert told.because == "ras-uncorrectable on gpu 3"


@pytest.mark.parametrize("name", ["phoenix-laptop", "cpu-only-laptop"])
def test_a_set_up_that_is_not_complete_is_what_to_do_next(name: str) -> None:
    told = story(*_machine(name), False)
    assert told.title == "do next" and "now: " in told.todo and told.area == "setup"


def test_a_gpu_with_an_error_is_said_to_be_unfit() -> None:
    diagnosis, _ = _machine("mi300x-8gpu-tired")
    (said,) = failing(diagnosis)
    assert said.gpus == (3,)
    assert said.short == "gpu 3 cannot run a job in its present state"
    assert said.full.startswith("gpu 3 cannot run a job in its present state (ras-uncorrectable): ")
    assert said.full.endswith("or leave it out.")
    assert failing(diagnosis, {"0000:05:00.0"}) == (), "a plan without it needs no word of it"
    override, _ = _machine("rx7900xtx-2gpu-old-guide")
    (both,) = failing(override)
    assert both.gpus == (0, 1) and both.short.startswith("gpu 0-1 cannot run a job")
    assert "leave" not in both.full, "no GPU is left then"
    bare = tuple(
        replace(one, finding=replace(one.finding, fix=None)) if one.finding is not None else one
        for one in override.verdicts
    )
    (both,) = failing(replace(override, verdicts=bare))
    assert both.full.endswith(" First fix them.")


def test_a_plan_begins_with_the_gpus_that_no_job_should_run_on() -> None:
    options = PlanOptions(source=str(FIXTURES / "faulty" / "mi300x-8gpu-tired.capture"), quiet=True)
    answer, _ = recommendation(options, "qwen2.5-0.5b")
    assert answer.plan is not None and answer.plan.fleet.per_node == 8
    assert render(document(answer), 100).startswith("! gpu 3 cannot run a job in its present state (ras-uncorrectable)")
    assert as_json(answer)["notes"][0].startswith("gpu 3 cannot run a job")


def test_the_dashboard_says_how_each_gpu_stands() -> None:
    diagnosis, setup = _machine("mi300x-8gpu-tired")
    lines = gpu_lines(diagnosis, 120).plain.splitlines()
    assert len(lines) == 9
    assert "x4/16" in lines[4] and "error ras-uncorrectable" in lines[4]
    assert "no finding" in lines[1] and "x16" in lines[1]
    links = link_lines(diagnosis, 60).plain
    assert "no link: 4-5" in links and "4   1 1 1 1 . x 1 1" in links
    said = next_lines(Look(diagnosis=diagnosis, setup=setup, asked=10.0), 100, "14:02:11").plain
    assert "Step 1 of" in said and "read     14:02:11, every 15 s" in said and "smoke    not run" in said
    assert "read " not in next_lines(Look(diagnosis=diagnosis, setup=setup, asked=10.0), 100, "").plain


def test_what_is_left_of_set_up_is_said_as_set_up_says_it() -> None:
    diagnosis, setup = _machine("mi300x-8gpu-tired")
    done = tuple(replace(one, state="done") for one in setup.steps)
    hopeless = (replace(done[0], state="impossible"), *done[1:])
    for steps, words in ((done, "Nothing is left"), (hopeless, "No source describes a way"), ((), "No step is known")):
        look = Look(diagnosis=diagnosis, setup=replace(setup, steps=steps))
        said = " ".join(next_lines(look, 400, "").plain.split())
        assert said.startswith(f"set-up {words}"), said


def test_links_are_marked_only_where_a_check_misses_one() -> None:
    def drawn(hives: int, lost: tuple[int, int] = (-1, -1)) -> Text:
        gpus = [amd_gpu(one, hive_id=str(1 + one * hives // 4)) for one in range(4)]
        pairs = [one for one in combinations(range(4), 2) if gpus[one[0]].hive_id == gpus[one[1]].hive_id]
        links = tuple(GpuLink(a, b, "xgmi", k(15), k(1)) for a, b in pairs if (a, b) != lost)
        return link_lines(diagnose(machine(*gpus, links=links, links_complete=True), our_checks()), 80)

    def marked(text: Text) -> set[str]:
        return {text.plain[one.start : one.end].strip() for one in text.spans if one.style in SEVERITY_STYLE.values()}

    assert marked(drawn(1)) == set()
    assert "no link: 0-2" in drawn(2).plain and marked(drawn(2)) == set(), "two hives are a design"
    assert marked(drawn(1, (1, 2))) == {"x", "no link: 1-2"}
    assert marked(drawn(2, (2, 3))) == {"x", "no link: 2-3"}, "pairs of two hives are none of it"


def test_no_finding_is_green_only_where_a_check_of_that_gpu_has_passed() -> None:
    good = _machine("mi300x-8gpu")[0]
    (one, *_) = standings(good)
    assert state_word(one) == ("no finding", STATE_STYLE["pass"])
    assert state_word(one, preliminary=True) == ("no finding so far", STATE_STYLE["unknown"])
    open_ones = tuple(replace(one, state="unknown") if one.state == "pass" else one for one in good.verdicts)
    (one, *_) = standings(replace(good, verdicts=open_ones))
    assert state_word(one) == ("not judged", STATE_STYLE["unknown"])
    assert "no finding so far" in gpu_lines(good, 200, preliminary=True).plain


def test_what_no_answer_tells_is_a_dash_and_never_a_number() -> None:
    diagnosis, _ = _machine("r7-240-display")
    text = gpu_lines(diagnosis, 100).plain
    assert "-: not in these answers" in text and " 0 " not in text.splitlines()[1][4:]


def test_counts_are_of_verdicts() -> None:
    diagnosis, _ = _machine("mi300x-8gpu-tired")
    assert f"{diagnosis.count('unknown')} unknown" in counts(diagnosis, 120).plain


def test_enter_and_a_click_lead_to_the_finding() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        came = []

        async def there() -> None:
            await until(pilot, lambda: isinstance(app.screen, FindingsPage) and app.screen.row is not None)
            assert isinstance(app.screen, FindingsPage) and app.screen.row is not None
            came.append(app.screen.row.check)
            await pilot.press("1")
            await seen(pilot)

        await pilot.press("down", "enter")
        await there()
        await pilot.click("#found", offset=(3, 2))
        await there()
        await pilot.click("#first", offset=(3, 1))
        await there()
        return came

    came = driven(fixture_host("faulty/mi300x-8gpu-tired"), drive, NARROW)
    assert came == ["pcie-link-narrow", "xgmi-links-missing", "ras-uncorrectable"]


def test_a_click_beside_the_findings_leads_to_what_tells_more() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        came = []
        for panel, line in (("gpus", 1), ("links", 2), ("next", 0), ("next", 1), ("gpus", 6)):
            await pilot.click(f"#{panel}", offset=(4, line + 1))  # below the border
            await until(pilot, lambda: app.current_mode != "overview")
            came.append(app.current_mode)
            if app.current_mode != "findings":
                await pilot.press("1")
                await seen(pilot)
        page = app.screen
        assert isinstance(page, FindingsPage)
        await until(pilot, lambda: page.row is not None and page.row.check == "xgmi-links-missing")
        return came

    came = driven(fixture_host("faulty/mi300x-8gpu-tired"), drive, WIDE)
    assert came == ["thermals", "topology", "setup", "smoke", "findings"]


def test_a_plan_on_a_sick_gpu_says_so_before_everything_else() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        await pilot.press("6")
        await until(pilot, lambda: "cannot run a job" in shown(app) and "Train " in shown(app))
        return shown(app)

    assert "! gpu 3 cannot run a job in its present state" in driven(
        fixture_host("faulty/mi300x-8gpu-tired"), drive, WIDE
    )


def test_a_kernel_parameter_is_not_shown_as_a_command_to_type() -> None:
    told = Story("do first", "", "Set the limit", "ttm.pages_limit=31457280")
    assert told.typed == "kernel parameter: ttm.pages_limit=31457280"
    for command in ("sudo dmesg", "HSA_OVERRIDE_GFX_VERSION=11.0.0 python train.py", "export A=1"):
        assert Story("do first", "", "", command).typed == command
    said = "kernel parameter: ttm.pages_limit=31457280"
    assert said in first(told, 80).plain
    assert [line.strip() for line in lines(command_block(told.command, "  "), 80)] == [said]
    row = next(one for one in sections(judged_fixture("faulty/mi300x-8gpu-tired"), False)[0].rows if one.finding)
    assert row.finding is not None
    finding = replace(row.finding, fix=Fix("Set the limit", ShellCommand("ttm.pages_limit=31457280")))
    member = replace(row.members[0], finding=finding)
    assert said in page(replace(row, members=(member,)), judged_fixture("faulty/mi300x-8gpu-tired"), None, 80).plain


def test_a_sentence_that_is_cut_says_so_beside_its_name() -> None:
    rows = [
        row for one in sections(judged_fixture("faulty/mi300x-8gpu-tired"), False) for row in one.rows if row.finding
    ]
    for row in rows:
        assert row.finding is not None
        for width in (80, 100, 300):
            line = found_row(row, width).plain
            whole = row.finding.message in line
            assert whole or "…" in line or len(line) > width, (width, line)


def test_where_there_is_room_a_sentence_is_whole() -> None:
    judged = judged_fixture("faulty/mi300x-8gpu-tired")
    for each in (one for section in sections(judged, False) for one in section.rows if one.finding):
        assert each.finding is not None
        for width in (60, 97, 300):
            two = found_row(each, width, 2).plain.split("\n")
            assert len(two) <= 2 and all(len(line) <= width for line in two), width
            said = " ".join(" ".join(two).split())
            assert one_line(each.finding.message) in said or "…" in two[-1], width
            assert said.endswith(each.check) or len(two) == 2, (width, "its name takes the line that is left")
            listed = row_text(each, width).plain.split("\n")
            assert one_line(each.finding.message) in " ".join(" ".join(listed[1:]).split()), width
            assert all(len(line) <= width for line in listed[1:]), width
