"""The table of names that came or went: rows are whole, and the accessor finds them by name, module and pattern."""

from __future__ import annotations

import re

from rocdoctor.knowledge.load import load_table, numbers
from rocdoctor.knowledge.software.python_api import api_move, api_packages


def test_rows_are_whole() -> None:
    table = load_table("python_api")
    for package in table["packages"]:
        for row in package["moves"]:
            where = f"{package['package']}: {row['names']}"
            assert row["names"] and row["s"] in table["sources"], where
            sides = [side for side in ("added", "removed", "newer", "older") if side in row]
            assert len(sides) == 1, where
            assert set(row) <= {"names", "in", "s", "use", "users", *sides}, where
            for release in (row.get("added"), row.get("removed"), *row.get("users", {}).values()):
                assert release is None or re.fullmatch(r"\d+(\.\d+){1,2}", release), where


def test_a_name_of_a_module_is_found() -> None:
    move = api_move("huggingface_hub", "cached_download")
    assert move is not None and move.gone and move.release == "0.26" and move.users == {"diffusers": "0.29"}
    move = api_move("accelerate.utils", "is_npu_available")
    assert move is not None and not move.gone and move.release == "0.21"


def test_where_a_name_stands_counts() -> None:
    gone, new = (
        api_move("transformers.deepspeed", "HfDeepSpeedConfig"),
        api_move("transformers.integrations", "HfDeepSpeedConfig"),
    )
    assert gone is not None and gone.gone and new is not None and not new.gone
    assert api_move("transformers.trainer", "AdamW") is None


def test_modules_are_names_too() -> None:
    for module in ("torchvision.transforms.functional_tensor", "torch._six", "lightning.pytorch.utilities.cloud_io"):
        move = api_move(module)
        assert move is not None and move.gone, module
    move = api_move("torchvision.transforms", "functional_tensor")
    assert move is not None and move.gone


def test_a_model_that_no_row_names_is_newer() -> None:
    move = api_move("transformers", "Glm9ForConditionalGeneration")
    assert move is not None and not move.gone and not move.release


def test_what_is_not_known() -> None:
    assert api_move("transformers", "no_such_name") is None
    assert api_move("some_package", "cached_download") is None


def test_names_for_pip() -> None:
    assert api_packages()["pytorch_lightning"] == "pytorch-lightning"
    assert numbers("4.43") < numbers("4.50")
