"""Libraries beside torch: what clashes is a task, what could be installed is a note."""

from __future__ import annotations

from rocdoctor.repair.setup.plan import Step
from tests.repair.setup.desk import VENV, desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, step_of

_PIP = f"{VENV} -m pip"
_OWN = "https://download.pytorch.org/whl/rocm7.2"


def _companions(step_id: str, requires: dict[str, str] | None = None, **packages: str) -> Step:
    there = {"pip": "25.2", "torch": "2.11.0+rocm7.2"} | {name.replace("_", "-"): one for name, one in packages.items()}
    build = torch("2.11.0+rocm7.2", packages=there, requires_torch=requires or {})
    return step_of(planned(desk(gpu("xtx"), build=build)), step_id)


def test_what_fits_is_done_and_what_exists_is_a_note() -> None:
    found = _companions("companions", torchvision="0.26.0+rocm7.2", triton_rocm="3.6.0")
    assert found.state == "done" and "torchvision 0.26.0+rocm7.2, triton-rocm 3.6.0" in found.why
    assert any(note.startswith("bitsandbytes on gfx1100: there are builds") for note in found.notes)
    assert any(note.startswith("flash-attn on gfx1100: it may fail") for note in found.notes)
    assert not found.actions


def test_of_two_tritons_the_one_of_torch_is_left() -> None:
    found = _companions("triton", triton="3.9.0", triton_rocm="3.6.0")
    assert found.state == "todo" and found.verify is not None and found.verify.check == "torch-duplicates"
    assert commands(found) == [
        f"{_PIP} uninstall -y triton triton-rocm",
        f"{_PIP} install torch==2.11.0+rocm7.2 --index-url {_OWN}",
    ]
    assert [one.command for one in found.undo] == [f"{_PIP} install --no-deps triton==3.9.0"]


def test_a_torchvision_of_another_build_comes_again_and_torch_stays() -> None:
    found = _companions("companions", torchvision="0.24.1+cu128", torchaudio="2.11.0+rocm7.2")
    assert found.state == "todo"
    assert commands(found) == [
        f"{_PIP} uninstall -y torchvision",
        f"{_PIP} install torch==2.11.0+rocm7.2 torchvision --index-url {_OWN}",
    ]
    assert [one.command for one in found.undo] == [
        f"{_PIP} uninstall -y torchvision",
        f"{_PIP} install --no-deps torchvision==0.24.1+cu128 --index-url https://download.pytorch.org/whl/cu128",
    ]


def test_what_only_a_new_build_repairs_is_done_by_hand() -> None:
    found = _companions("companions", {"xformers": "torch (==2.7.0)"}, xformers="0.0.30")
    assert found.state == "todo" and found.risk == "manual" and not found.actions


def test_numpy_2_beside_an_old_torch() -> None:
    build = torch("2.1.2+rocm5.6", packages={"pip": "25.2", "torch": "2.1.2+rocm5.6", "numpy": "2.3.0"})
    found = step_of(planned(desk(gpu("xtx"), build=build)), "numpy")
    assert commands(found) == [f"{_PIP} install 'numpy<2'"]
    assert [one.command for one in found.undo] == [f"{_PIP} install numpy==2.3.0"]
    assert found.optional


def test_a_torch_that_goes_takes_its_companions_along() -> None:
    found = planned(desk(gpu("xtx"), build=torch("2.9.1+cpu")))
    assert not {"companions", "triton", "numpy"} & set(ids(found))


def test_nvidia_machines_get_no_notes_of_rocm() -> None:
    build = torch("2.9.1+cu128", arch_list=("sm_80", "sm_90"), device_count=1)
    found = step_of(planned(desk(gpu("ada"), build=build)), "companions")
    assert found.state == "done" and not found.notes


def test_with_torch_alone_nothing_can_clash() -> None:
    found = _companions("companions")
    assert found.state == "done" and found.evidence
