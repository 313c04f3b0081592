"""The page of predicted against published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from tools.plan_accuracy import compared, half_of, left_out, main, page

_MODEL = {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008, "vocab": 32000}
_ROW: dict[str, Any] = {
    "model": _MODEL,
    "gpu": {"name": "MI300X", "mem_gib": 192},
    "gpus": 8,
    "seq": 4096,
    "micro_batch": 1,
    "parallel": {"fsdp": 8},
    "recompute": "full",
    "source": "somebody/something README.md",
}


def _row(**fields: Any) -> dict[str, Any]:
    return {**_ROW, **fields}


def test_errors_are_predicted_over_published() -> None:
    told = solve(_ROW)
    assert told.speed is not None
    memory, speed = told.memory.reserved / GIB, told.speed.tokens_per_s_per_gpu
    (one,) = compared([_row(mem_per_gpu_gib=memory / 1.08, tokens_per_s_per_gpu=2 * speed)])
    assert one.memory == pytest.approx(0.08)
    assert one.speed == pytest.approx(-0.5)
    assert (one.gpu, one.framework, one.fits, one.ran) == ("cdna3", "fsdp2", "yes", True)
    (none,) = compared([_ROW])
    assert (none.memory, none.speed) == (None, None)


def test_what_is_suspect_or_lacks_sizes_is_left_out() -> None:
    assert not list(compared([_row(suspect="two figures"), _row(model={"name": "x"}), _row(seq=None)]))
    assert not list(compared([_row(parallel={"tp": 3, "fsdp": 8})]))  # nothing that can be estimated


def test_a_source_is_in_one_half_whatever_part_of_it_is_meant() -> None:
    names = [f"somebody/project{n} README.md" for n in range(40)]
    assert {half_of(one) for one in names} == {"A", "B"}
    for one in names:
        assert half_of(one) == half_of(f"{one} key 1_2") == half_of(f"{one} (table 3)")


def test_the_page_counts_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = solve(_ROW).memory.reserved / GIB
    rows = [
        _row(mem_per_gpu_gib=memory / 1.04),
        _row(mem_per_gpu_gib=memory / 1.30, framework="deepspeed", parallel={"zero": 3}),
        _row(fits=False),  # said to fit, and it ran out of memory
        _row(micro_batch=400, recompute="none"),  # it ran, and is said not to fit
    ]
    text = page(rows)
    flat = " ".join(text.split())
    assert "given 4 configurations" in flat
    assert "Of 1 that ran out of memory, 1 are said to fit;" in flat
    line = next(one for one in text.splitlines() if one.startswith("| fsdp2 |"))
    assert [one.strip() for one in line.split("|")[2:6]] == ["3", "1 of 1", "1 of 1", "4.0 %"]
    assert line.split("|")[-2].strip() == "1"
    assert "    +0% to   +5%  # 1" in text
    path = tmp_path / "rows.yaml"
    path.write_text("rows: []\n", encoding="utf-8")
    assert main([str(path)]) == 2
    assert main([]) == 2
    path.write_text("rows: [{model: {name: x}}]\n", encoding="utf-8")
    assert main([str(path)]) == 0
    assert "is given 0 configurations" in capsys.readouterr().out


def test_a_project_that_is_left_out_tells_nothing_of_its_own() -> None:
    def figure(v: float, *sources: str, rows: int = 3) -> dict[str, Any]:
        return {"v": v, "s": [*sources], "rows": rows}

    table: dict[str, Any] = {
        "sources": {
            "one": {"what": "tables of some/one (README)", "kind": "measured"},
            "two": {"what": "tables of some/two", "kind": "measured"},
            "traced": {"what": "traced", "kind": "derived"},
        },
        "generations": {
            "old": {"matrix": figure(0.1, "two"), "attention": figure(0.9, "one", "two")},
            "new": {"matrix": figure(0.5, "one"), "attention": figure(0.7, "one")},
            "newer": {"attention": figure(0.2, "one")},
            "guessed": {"matrix": figure(0.3, "two", rows=0)},
        },
        "speed": {"width": figure(150, "one"), "fabric": {"network": figure(0.9, "two")}},
        "memory": {"reserved_over_live": {"eager": figure(1.1, "two"), "compiled": figure(1.5, "one", "traced")}},
    }
    changed, replaced, stays = left_out(table, "some/one")
    assert changed["generations"]["new"] == {
        "matrix": {**figure(0.5, "one"), "v": 0.1},
        "attention": {**figure(0.7, "one"), "v": 0.9},
    }
    assert changed["generations"]["old"] == table["generations"]["old"]
    assert changed["memory"]["reserved_over_live"]["compiled"]["v"] == 1.1
    assert changed["speed"] == table["speed"]
    assert (replaced, stays) == (4, 1)
    assert table["generations"]["new"]["matrix"]["v"] == 0.5
    assert left_out(table, "some/three")[1:] == (0, 0)


def test_the_page_says_what_was_held_out() -> None:
    memory = solve({**_ROW, "framework": "deepspeed", "parallel": {"zero": 3}}).memory.reserved / GIB
    row = _row(
        mem_per_gpu_gib=memory,
        framework="deepspeed",
        parallel={"zero": 3},
        source="stas00/ml-engineering insights/README.md",
    )
    text = page([row])
    lines = {one.split("|")[1].strip(): one.split("|")[5].strip() for one in text.splitlines() if one.startswith("| ")}
    assert lines["deepspeed"] == "0.0 %"  # as it was published, by the factor that such runs set
    assert float(lines["stas00/ml-engineering"].split()[0]) > 0.5  # by the factor of others
    assert "Neither was held out" in " ".join(text.split())
