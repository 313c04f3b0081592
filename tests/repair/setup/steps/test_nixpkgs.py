"""NixOS: no wheel and no virtual environment, but torch of nixpkgs."""

from __future__ import annotations

from tests.repair.setup.desk import desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, step_of

_MINE = "torch-nixpkgs"


def test_torch_comes_from_nixpkgs_for_the_vendor_of_the_gpu() -> None:
    amd = planned(desk(gpu("xtx"), os="nixos 26.05"))
    step = step_of(amd, _MINE)
    assert commands(step) == ["nix-shell -p 'python3.withPackages (ps: [ ps.torchWithRocm ])'"]
    assert not any("unfree" in note for note in step.notes) and any("hours" in note for note in step.notes)
    nvidia = step_of(planned(desk(gpu("ada"), os="nixos 26.05")), _MINE)
    assert "torchWithCuda" in commands(nvidia)[0] and any("unfree" in note for note in nvidia.notes)
    assert "ps.torch ]" in commands(step_of(planned(desk(os="nixos 26.05")), _MINE))[0]


def test_no_wheel_and_no_environment_are_proposed_beside_it() -> None:
    assert not {"torch", "python-environment"} & set(ids(planned(desk(gpu("xtx"), os="nixos 26.05"))))


def test_no_step_names_an_environment_that_no_step_makes() -> None:
    """The checks are typed in the shell of nixpkgs, whose python3 has torch."""
    for step in planned(desk(gpu("xtx"), os="nixos 26.05")).steps:
        assert not any("torch-venv" in text for text in (*commands(step), step.verify.line if step.verify else "")), (
            step.id
        )


def test_a_torch_that_serves_stays_and_other_systems_are_not_concerned() -> None:
    good = planned(desk(gpu("xtx"), os="nixos 26.05", build=torch("2.11.0+rocm7.2")))
    assert _MINE not in ids(good) and step_of(good, "torch").state == "done"
    assert _MINE not in ids(planned(desk(gpu("xtx"))))
    assert _MINE not in ids(planned(desk(gpu("xtx"), os="nixos 26.05"), "rocm"))
