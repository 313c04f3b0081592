"""The order of a plan, what waits for what, and rules that hold for every plan of every fixture."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from rocdoctor.judging.loading import check_files, name_of
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import OperatingSystem
from rocdoctor.repair.setup.plan import GOALS, LAYERS, Goal, SetupPlan, Step
from rocdoctor.repair.setup.planner import _in_order, _with_restart, _with_states
from rocdoctor.repair.setup.step_parts import open_in
from rocdoctor.repair.setup.words import headline
from tests.golden.replay import NAMES
from tests.kit import ROOT, k
from tests.machines.files import Files
from tests.repair.setup.kit import ids, plan_in, plan_of, states, step_of

CHECKS = {name_of(path) for path in check_files(ROOT / "checks")}


def step(step_id: str, layer: str = "driver", state: str = "todo", **more: object) -> Step:
    return Step(step_id, step_id.capitalize(), state, "why", layer=layer, **more)  # type: ignore[arg-type]


def arranged(*found: Step) -> dict[str, str]:
    return {one.id: one.state for one in _with_states(_with_restart(_in_order(list(found))))}


def test_a_step_follows_at_once_where_nothing_must_take_effect_first() -> None:
    assert arranged(step("a"), step("b", "access", needs=("a",))) == {"a": "todo", "b": "todo"}


@pytest.mark.parametrize(
    "first",
    [
        step("a", effective="reboot"),
        step("a", effective="new-login"),
        step("a", state="waiting"),
        step("a", state="unknown"),
        step("a", risk="manual"),
    ],
    ids=["restart", "login", "waiting", "unknown", "by hand"],
)
def test_a_step_waits_for_what_takes_effect_later(first: Step) -> None:
    assert arranged(first, step("b", "prove", needs=("a",)))["b"] == "waiting"
    assert arranged(first, step("b", "prove", needs=("driver",)))["b"] == "waiting"  # a layer stands for its steps
    assert arranged(first, step("b", "prove"))["b"] == "todo"


def test_waiting_goes_on_along_the_chain_and_says_for_what() -> None:
    found = [step("a", effective="reboot"), step("b", "access", needs=("a",)), step("c", "prove", needs=("b",))]
    arranged_steps = {one.id: one for one in _with_states(found)}
    assert [arranged_steps[name].state for name in "abc"] == ["todo", "waiting", "waiting"]
    assert [arranged_steps[name].waits_for for name in "abc"] == ["", "a", "b"]


def test_nothing_waits_for_what_is_done_or_only_advice() -> None:
    found = arranged(
        step("a", state="done"), step("b", effective="reboot", optional=True), step("c", "prove", needs=("driver",))
    )
    assert found["c"] == "todo"


def test_what_needs_something_impossible_is_impossible() -> None:
    assert arranged(step("a", state="impossible"), step("b", "prove", needs=("a",)))["b"] == "impossible"


def test_a_proof_counts_once_nothing_before_it_is_left() -> None:
    for state in ("todo", "waiting", "unknown"):
        found = list(_with_states([step("a", state=state), step("b", "prove", state="done")]))
        assert (found[1].state, found[1].waits_for) == ("waiting", "a")
    for before in (step("a", state="done"), step("a", state="impossible"), step("a", optional=True)):
        assert list(_with_states([before, step("b", "prove", state="done")]))[1].state == "done"


def test_a_step_comes_behind_those_of_its_layer_that_it_needs() -> None:
    found = _in_order([step("b", needs=("c",)), step("c"), step("d")])
    assert [one.id for one in found] == ["c", "b", "d"]
    circle = _in_order([step("a", needs=("b",)), step("b", needs=("a",))])
    assert [one.id for one in circle] == ["a", "b"]


def test_one_restart_serves_all_and_waits_until_they_are_done() -> None:
    before = [step("a", "kernel", effective="reboot"), step("b", effective="reboot"), step("c", "access")]
    found = _with_restart(before)
    assert [one.id for one in found] == ["a", "b", "restart", "c"]
    assert found[2].state == "waiting"
    assert "a, b" in found[2].why
    later = _with_restart([step("b", state="waiting", effective="reboot"), step("c", "access")])
    assert [(one.id, one.state) for one in later][1] == ("restart", "todo")


def test_groups_are_joined_before_a_restart_which_is_the_new_login_that_they_need() -> None:
    joins, waits = step("groups", "access", effective="new-login"), step("c", "access", state="waiting")
    found = _with_restart([step("a", effective="reboot"), waits, joins, step("d", "limits", effective="new-login")])
    assert [one.id for one in found] == ["a", "groups", "restart", "c", "d"]
    assert [one.id for one in _with_restart([step("a"), joins])] == ["a", "groups"], "no restart, a login of its own"


def test_groups_come_next_where_only_the_restart_is_left() -> None:
    booted, joins = step("a", state="waiting", effective="reboot"), step("groups", "access", effective="new-login")
    found = SetupPlan("pytorch", tuple(_with_restart([booted, joins])), first="a")
    assert found.next == joins
    assert headline(found).more == (
        "The restart that follows is the new login that it needs: run rocdoctor setup again now.",
    )
    member = SetupPlan("pytorch", tuple(_with_restart([booted, replace(joins, state="done")])), first="a")
    assert member.next is not None
    assert member.next.id == "restart"


@pytest.mark.parametrize(
    "quiet",
    [step("a", effective="reboot", optional=True), step("a", state="done", effective="reboot"), step("a")],
    ids=["advice", "done", "at once"],
)
def test_no_restart_without_a_reason(quiet: Step) -> None:
    assert [one.id for one in _with_restart([quiet])] == ["a"]


def test_next_is_what_can_be_done_and_advice_comes_last() -> None:
    advice, late = step("a", optional=True), step("b", state="waiting")
    assert SetupPlan("pytorch", (advice, late, step("c", state="unknown"), step("d"))).next == step("d")
    assert SetupPlan("pytorch", (advice, late, step("c", state="unknown"))).next == step("c", state="unknown")
    assert SetupPlan("pytorch", (late, advice)).next == advice
    assert SetupPlan("pytorch", (late,)).next is None


def test_what_the_checks_name_first_is_next_with_what_it_needs_before_it() -> None:
    venv, torch = step("venv", "python"), step("torch", "torch", needs=("venv",))
    advice = step("found-x", "clean", optional=True)
    assert SetupPlan("pytorch", (venv, torch, advice), first="found-x").next == advice
    assert SetupPlan("pytorch", (advice, venv, torch), first="torch").next == venv
    for state in ("done", "impossible"):
        assert SetupPlan("pytorch", (venv, replace(advice, state=state)), first="found-x").next == venv
    handed = step("a", state="waiting", handed_to="the host")
    assert SetupPlan("pytorch", (venv, handed), first="a").next == handed
    booted, restart = step("a", state="waiting", effective="reboot"), step("restart")
    assert SetupPlan("pytorch", (booted, restart), first="a").next == restart


def test_finished_when_nothing_is_left_that_anybody_could_do() -> None:
    done = (step("a", state="done"), step("b", state="impossible"), step("c", optional=True))
    assert SetupPlan("pytorch", done).finished
    for state in ("todo", "waiting", "unknown"):
        assert not SetupPlan("pytorch", (*done, step("d", state=state))).finished


# -- rules for every plan


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("name", NAMES)
def test_rules_of_plans(name: str, goal: Goal) -> None:
    found = plan_of(name, goal=goal)
    assert len(ids(found)) == len(set(ids(found)))
    advice = [one.optional and one.state != "done" for one in found.steps]
    assert advice == sorted(advice), "what the goal does not need comes last"
    for among in (False, True):
        layers = [LAYERS.index(one.layer) for one, last in zip(found.steps, advice, strict=True) if last is among]
        assert layers == sorted(layers)
    for one in found.steps:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", one.id)
        assert one.why and one.why[0] != " " and "  " not in one.why
        assert not re.search(r"\{[a-z_]+\}", one.why + " ".join(one.notes)), one.id
        assert one.verify is None or one.verify.command or one.verify.check in CHECKS, one.id
        assert one.verify is not None or one.state in ("done", "unknown", "impossible", "waiting"), one.id
        if one.state == "todo":
            assert one.actions or one.notes, f"{one.id} is to be done and does not say how"
            assert not open_in((*one.actions, *one.undo)), one.id
        if one.state == "done":
            assert not one.actions, f"{one.id} is done and has commands"
            assert one.evidence, f"{one.id} is done and does not show it"


@pytest.mark.parametrize("name", NAMES)
def test_the_same_evidence_gives_the_same_plan(name: str) -> None:
    assert plan_of(name) == plan_of(name)


def test_a_cpu_machine_gets_no_step_for_gpus() -> None:
    found = plan_of("cpu-only-laptop")
    assert not {"driver-amd", "kernel", "gpu-firmware", "device-access", "rocm", "shm"} & set(ids(found))
    assert any("CPU" in note for note in found.notes)


def test_every_step_of_a_finished_machine_is_done() -> None:
    found = plan_of("mi300x-8gpu")
    assert found.finished
    assert {name: state for name, state in states(found).items() if state != "done"} == {"smoke": "todo"}


def test_where_somebody_else_looks_after_the_kernel_there_are_no_commands_for_it() -> None:
    def without_driver(machine: object) -> None:
        machine.unbind("0000:03:00.0", "card0", 1)  # type: ignore[attr-defined]
        machine.set("read /proc/modules", "")  # type: ignore[attr-defined]
        machine.set("list /sys/module/*/parameters", "")  # type: ignore[attr-defined]
        machine.set("list /sys/module/*/initstate", "")  # type: ignore[attr-defined]

    found = plan_of("rx7900xtx-podman", without_driver)
    driver = step_of(found, "driver-amd")
    assert (driver.state, driver.actions, driver.effective) == ("waiting", (), "now")
    assert "restart" not in ids(found)
    assert any("host" in note for note in found.notes)


# -- hostile evidence


HOSTILE = ["$(reboot)", "--help", "a b", "x;reboot", "`id`", "<dropped>", "../../etc", "x'y", 'x"y']


def _user(files: Files, name: str) -> None:
    for variable in ("USER", "LOGNAME"):
        files.env[variable] = name


def _kernel(files: Files, name: str) -> None:
    files.put("/proc/sys/kernel/osrelease", name)


def _parameter(files: Files, name: str) -> None:
    files.put("/proc/cmdline", f"ro amdgpu.ppfeaturemask=0x1{name} modprobe.blacklist=amdgpu,{name}")


def _blacklist(files: Files, name: str) -> None:
    files.put(f"/etc/modprobe.d/a {name.replace('/', '')}.conf", "blacklist amdgpu\n")


def _group(files: Files, name: str) -> None:
    text = files.texts[("etc", "group")].decode()
    files.put("/etc/group", re.sub(r"(?m)^render:", f"{name}:", text))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    ("case", "put"),
    [
        ("xtx-ubuntu2404-fresh", _user),
        ("xtx-ubuntu2204-fresh", _kernel),
        ("xtx-rhel9-fresh", _kernel),
        ("xtx-ubuntu2404-fresh", _parameter),
        ("rx9070xt-fedora42", _parameter),
        ("xtx-ubuntu2204-fresh", _blacklist),
        ("xtx-ubuntu2404-fresh", _group),
    ],
    ids=[
        "user",
        "kernel on Ubuntu",
        "kernel on Red Hat",
        "command line on Ubuntu",
        "command line on Fedora",
        "file name",
        "group",
    ],
)
def test_no_word_of_the_evidence_gets_into_a_command_that_could_do_more(
    case: str, put: Callable[[Files, str], None], name: str
) -> None:
    found = plan_in(case, files=lambda files: put(files, name))
    for one in found.steps:
        for action in (*one.actions, *one.undo):
            texts = (*action.words, action.file, *action.lines)
            assert not any(name in text for text in texts), (one.id, texts)


@pytest.mark.parametrize("word", ["a=$(id)", "a=`id`", 'a="b', "a=b;c", "-a", "a=b\nc", "a=\\"])
def test_a_parameter_that_a_shell_would_read_is_left_to_a_person(word: str) -> None:
    found = install.distribution(OperatingSystem(id=k("debian"), version_id=k("13")))
    assert isinstance(install.kernel_parameter(found, word, remove=True), Unknown)
    assert isinstance(install.kernel_parameter(found, word), Unknown)


def test_a_release_with_a_path_in_it_is_not_put_into_an_address() -> None:
    found = install.distribution(OperatingSystem(id=k("rhel"), version_id=k("9.6/../../x")))
    assert found is None or "elver" not in found.values
