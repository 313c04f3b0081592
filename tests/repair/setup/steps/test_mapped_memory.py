"""How much of main memory an integrated GPU may map: what is proposed, where, and when nothing is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.knowledge import install
from rocdoctor.model.facts import Gpu, Memory
from rocdoctor.repair.setup.plan import SetupPlan
from tests.kit import amd_gpu, k
from tests.repair.setup.desk import desk, facts, gpu, planned
from tests.repair.setup.kit import commands, ids, plan_in, plan_of, step_of

GIB = 2**30


def _halo(**more: Any) -> Gpu:
    told = {"name": "AMD Radeon 8060S", "pci_id": "1002:1586", "gfx": "gfx1151", "integrated": True}
    return amd_gpu(0, **(told | more))


def _planned(one: Gpu, os: str = "ubuntu 24.04", gib: float = 125.65, pages: int = 16469033, **more: Any) -> SetupPlan:
    memory = replace(Memory(), **facts({"total_bytes": int(gib * GIB), "ttm_pages_limit": pages}))
    return planned(desk(one, os=os, memory=memory, **more))


def test_the_figures_are_those_of_the_example_of_amd() -> None:
    """125.65 GB with a limit of 16469033 pages (62.82 GB); 100 GB are 26214400 pages."""
    found = install.apu_limit("gfx1151", int(125.65 * GIB), 16469033)
    assert found is not None and found.named and found.gib == 100 and found.pages == 26214400
    assert found.tool[1] == "amd-ttm --set 100"


def test_strix_halo_gets_a_kernel_parameter_with_undo_and_the_tool_of_amd() -> None:
    step = step_of(_planned(_halo()), "apu-memory")
    assert (step.state, step.optional, step.effective) == ("todo", True, "reboot")
    assert any("ttm.pages_limit=26214400" in line for action in step.actions for line in action.lines)
    assert step.undo and step.verify is not None and step.verify.shows == "26214400"
    assert any("amd-ttm --set 100" in note for note in step.notes)
    assert not any("RDNA 3.5" in note for note in step.notes)


def test_red_hats_family_takes_grubby() -> None:
    step = step_of(_planned(_halo(), os="fedora 43"), "apu-memory")
    assert commands(step) == ["grubby --update-kernel=ALL --args=ttm.pages_limit=26214400"]


def test_phoenix_is_told_that_amds_page_is_about_others() -> None:
    step = step_of(_planned(_halo(gfx="gfx1103", vram_bytes=4 * GIB), gib=60, pages=7864320), "apu-memory")
    assert any("RDNA 3.5" in note for note in step.notes)
    assert any("sets 4 GiB aside" in note for note in step.notes)


def test_where_nobody_knows_the_boot_loader_it_is_done_by_hand() -> None:
    step = step_of(_planned(_halo(), os="arch"), "apu-memory")
    assert step.risk == "manual" and not step.actions and "ttm.pages_limit=26214400" in step.notes[0]


def test_a_limit_that_is_high_already_is_done() -> None:
    step = step_of(_planned(_halo(), pages=26214400), "apu-memory")
    assert step.state == "done" and not step.actions


@pytest.mark.parametrize(
    "cards",
    [[gpu("xtx")], [_halo(), gpu("xtx", 1)], [_halo(gfx="gfx942")], [_halo(gfx="gfx1036")]],
    ids=["a card", "a card beside it", "MI300A", "a display GPU"],
)
def test_others_get_no_such_step(cards: list[Gpu]) -> None:
    memory = replace(Memory(), **facts({"total_bytes": 128 * GIB, "ttm_pages_limit": 16469033}))
    assert "apu-memory" not in ids(planned(desk(*cards, memory=memory)))


def test_what_is_not_known_gives_no_step() -> None:
    assert "apu-memory" not in ids(planned(desk(_halo(), memory=replace(Memory(), total_bytes=k(128 * GIB)))))
    assert "apu-memory" not in ids(plan_of("mi300a-4apu"))


def test_what_the_next_start_takes_is_waited_for() -> None:
    line = 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash ttm.pages_limit=13369344"\n'
    step = step_of(plan_in("strix-halo-ubuntu2404", texts={"/etc/default/grub": line}), "apu-memory")
    assert (step.state, step.actions) == ("waiting", ())


def test_the_kernel_comes_before_what_is_set_for_it() -> None:
    found = plan_in("phoenix-laptop-ubuntu2404")
    assert step_of(found, "kernel").optional and step_of(found, "apu-memory").optional
    assert ids(found).index("kernel") < ids(found).index("apu-memory")
