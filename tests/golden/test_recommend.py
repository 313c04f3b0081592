"""Plans for whole machines: every fixture by four workloads, and the usual Radeon set-ups, with their reasons.

A stored plan is a page that a person read before it was stored; a change of any value shows as a difference here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.report.plan.recommend_document import document
from rocdoctor.report.text import render
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.fleet.machine_fleet import machine_fleet
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.plan import Fleet, Method
from tests.golden.replay import NAMES, judged_fixture
from tests.plans_once import recommend

_FOLDER = Path(__file__).parent / "recommend"
_WORKLOADS: tuple[tuple[str, Method, int | None], ...] = (
    ("llama-3.2-1b", "full", None),
    ("llama-3.1-8b", "lora", None),
    ("llama-3.1-8b", "pretrain", 64),
    ("mixtral-8x7b", "qlora", None),
)
_RADEON = {
    "one 20 GB": ("RX 7900 XT", 1),
    "one 24 GB": ("RX 7900 XTX", 1),
    "two 20 GB": ("2xRX 7900 XT", 1),
    "two 24 GB": ("2xRX 7900 XTX", 1),
}
_SIZES = ("llama-3.2-3b", "qwen2.5-7b", "llama-2-13b")
_METHODS: tuple[Method, ...] = ("full", "lora", "qlora")


def _plans(fleet: Fleet, workloads: tuple[tuple[str, Method, int | None], ...]) -> str:
    pages = []
    for model, method, batch in workloads:
        title = f"==== {model} {method}" + (f" global batch {batch}" if batch else "")
        try:
            answer = recommend(fleet, read_workload(model, method, None, batch))
        except SpecError as problem:
            pages.append(f"{title}\ncannot be planned: {problem}\n")
            continue
        pages.append(f"{title}\n{render(document(answer), 100)}")
    return "\n".join(pages)


def _compare(name: str, text: str, update: bool) -> None:
    path = _FOLDER / f"{name}.txt"
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == text, f"{path.name}; --update-golden writes it anew"


@pytest.mark.parametrize("name", NAMES)
def test_the_plans_of_a_machine_are_the_stored_ones(name: str, update_golden: bool) -> None:
    try:
        fleet = machine_fleet(judged_fixture(name).machine)
    except SpecError as problem:
        _compare(name, f"no fleet: {problem}\n", update_golden)
        return
    _compare(name, _plans(fleet, _WORKLOADS), update_golden)


@pytest.mark.parametrize("name", _RADEON)
def test_the_plans_of_the_usual_radeon_set_ups_are_the_stored_ones(name: str, update_golden: bool) -> None:
    gpus, nodes = _RADEON[name]
    workloads: tuple[tuple[str, Method, int | None], ...] = tuple(
        (model, method, None) for model in _SIZES for method in _METHODS
    )
    _compare(f"radeon {name}", _plans(described(gpus, nodes), workloads), update_golden)


def test_stored_plans_have_machines() -> None:
    assert {path.stem for path in _FOLDER.glob("*.txt")} == {*NAMES, *(f"radeon {name}" for name in _RADEON)}
