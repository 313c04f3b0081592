"""For each machine of the catalogue the plan that was read and found right; ``--update-golden`` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.judging.loading import check_files, checks_folder, name_of
from rocdoctor.knowledge import install
from rocdoctor.repair.setup.plan import Step
from rocdoctor.report.setup.setup_document import document
from rocdoctor.report.setup.setup_json import as_json
from rocdoctor.report.text import render
from tests.repair.setup.world.catalogue import CASES
from tests.repair.setup.world.judge import NAMED, files_of, judged, plan_of

PLANS = Path(__file__).parent / "plans"
NAMES = [case.name for case in CASES]
CHECKS = {name_of(path) for path in check_files(checks_folder())}


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_is_the_one_that_was_read(name: str, update_golden: bool) -> None:
    path = PLANS / f"{name}.txt"
    text = render(document(plan_of(name), verbose=True), 100)
    if update_golden:
        PLANS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name}; --update-golden writes it anew"


def test_no_plan_is_kept_of_a_machine_that_is_not_there() -> None:
    assert {path.stem for path in PLANS.glob("*.txt")} == set(NAMES)


def test_each_plan_is_told_in_json_with_each_row_of_its_sources() -> None:
    for name in NAMES:
        plan = plan_of(name)
        for step, told in zip(plan.steps, as_json(plan, {}, sudo=True)["steps"], strict=True):
            ids = [one["id"] for one in told["sources"]]
            assert ids == list(dict.fromkeys(step.sources)), (name, step.id)
            assert [one["what"] for one in told["sources"] if not one["what"]] == [], (name, step.id)


@pytest.mark.parametrize("name", NAMES)
def test_each_step_can_be_verified_by_something_that_exists(name: str) -> None:
    for step in plan_of(name).steps:
        if step.state == "done" and step.verify is None:
            continue  # its evidence shows it
        assert step.verify is not None, step.id
        assert step.verify.line, step.id
        assert not step.verify.check or step.verify.check in CHECKS, step.id


@pytest.mark.parametrize("name", NAMES)
def test_each_package_of_a_command_exists_for_that_release(name: str) -> None:
    found = install.distribution(judged(files_of(NAMED[name])).machine.os)
    for step in plan_of(name).steps:
        for package in packages_of(step):
            assert found is not None, f"{step.id} installs {package} on a distribution that no table knows"
            assert install.package_exists(found, package), f"{step.id}: {package} on {found.key}"


def packages_of(step: Step) -> list[str]:
    """What the commands of a step install by name."""
    found: list[str] = []
    for action in step.actions:
        words = [word for word in action.words if not word.startswith("-")]
        if words[:2] in (["apt", "install"], ["apt-get", "install"], ["dnf", "install"], ["zypper", "install"]):
            found += [word for word in words[2:] if not word.startswith(("https://", "/"))]
        elif words[:1] == ["pacman"]:
            found += words[1:]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_lists_are_read_before_an_installation_and_curl_is_installed_before_it_fetches(name: str) -> None:
    for step in plan_of(name).steps:
        words = [action.words for action in step.actions]
        if any(one[:1] == ("apt",) for one in words):
            assert next(one for one in words if one[:1] == ("apt",)) == ("apt", "update"), step.id
            fetched = next((at for at, one in enumerate(words) if one[:1] == ("curl",)), 0)
            assert not fetched or any("curl" in one[2:] for one in words[:fetched] if one[:2] == ("apt", "install"))


@pytest.mark.parametrize("name", NAMES)
def test_each_step_says_why_and_what_it_changes(name: str) -> None:
    for step in plan_of(name).steps:
        assert step.why.strip()
        assert step.title.strip()
        if step.state == "done":
            assert step.evidence, f"{step.id} is said to be done without evidence"
        if step.state == "todo" and step.risk != "manual":
            assert step.actions, f"{step.id} is to be done, but nothing says how"
        if step.changes:
            assert step.undo or step.risk == "manual", f"{step.id} cannot be undone"
