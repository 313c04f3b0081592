"""What training libraries have for a GPU: kernels, types, 8-bit optimizers; unknown where no row decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.knowledge.load import load_table
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.plan import Fleet, Software
from rocdoctor.train.recommend.software import (
    attention,
    eight_bit_optimizer,
    four_bit,
    fp8,
    precision,
)

QUESTIONS = (
    "attention",
    "precision",
    "eight_bit_optimizer",
    "four_bit",
    "fp8",
)


def fleet(gpus: str, torch: str | None = None, hip: str | None = None) -> Fleet:
    return replace(described(gpus), software=Software(torch=torch, hip=hip))


def test_every_row_has_known_conditions_a_reason_and_a_source() -> None:
    table = load_table("training_libraries")
    for question in QUESTIONS:
        for row in table[question]:
            assert set(row) - {"vendor", "gfx", "capability", "below", "torch", "experimental"} == {"value", "why", "s"}
            assert isinstance(row["value"], str)  # "no" without quotes is a truth value in YAML
            assert row["why"].format(gfx="gfx942", capability="9.0", torch="2.9")


@pytest.mark.parametrize(
    ("gpus", "kernel", "kind"),
    [
        ("8xMI300X", "flash", "bf16"),
        ("4xMI250X", "flash", "bf16"),
        ("8xMI350X", "flash", "bf16"),
        ("MI100", "math", "bf16"),
        ("MI60", "math", "fp16"),
        ("RX 7900 XTX", "math", "bf16"),
        ("RX 7600", "math", "bf16"),
        ("RX 6600", "math", "fp16"),
        ("RX 5700 XT", "math", "fp16"),
        ("RX 9070 XT", "math", "bf16"),
        ("strix halo:64", "math", "bf16"),
        ("8xH100", "flash", "bf16"),
        ("8xA100", "flash", "bf16"),
        ("RTX 4090", "flash", "bf16"),
        ("8xV100", "math", "fp16"),
        ("T4:16GiB", "math", "fp16"),
        ("P100:16GiB", "math", "fp32"),
    ],
)
def test_kernel_and_type_by_generation(gpus: str, kernel: str, kind: str) -> None:
    found = attention(fleet(gpus)), precision(fleet(gpus))
    assert (found[0].value, found[1].value) == (kernel, kind)
    assert all(one.reason and one.source for one in found)


def test_an_old_torch_has_no_kernel_yet() -> None:
    assert attention(fleet("8xMI300X", torch="2.3.1+rocm5.7")).value == "math"
    assert attention(fleet("8xMI300X", torch="2.4.0+rocm6.1")).value == "flash"
    assert "2.3.1+rocm5.7" in attention(fleet("8xMI300X", torch="2.3.1+rocm5.7")).reason


def test_experimental_kernels_are_planned_with_only_where_the_user_lets_torch_use_them() -> None:
    one = fleet("RX 7900 XTX")
    assert attention(one).value == "math"
    told = attention(replace(one, experimental_kernels=True))
    assert told.value == "flash"
    assert "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1" in told.reason


def test_fp16_says_that_it_needs_a_scaler() -> None:
    assert "gradient scaler" in precision(fleet("8xV100")).reason


@pytest.mark.parametrize(
    ("gpus", "hip", "state"),
    [
        ("8xMI300X", "7.2.53211-e1a6bc5663", "yes"),
        ("8xMI350X", "6.4.43484", "no"),
        ("8xMI300X", "5.7.31921", "unknown"),
        ("8xMI300X", "10.0.1", "unknown"),
        ("RX 6600", "7.2.53211", "no"),
        ("RX 6600", "7.14.0", "yes"),
        ("MI60", "6.4.43484", "no"),
        ("RX 7900 XTX", "6.4.43484", "yes"),
    ],
)
def test_bitsandbytes_goes_by_target_and_rocm(gpus: str, hip: str, state: str) -> None:
    found = eight_bit_optimizer(fleet(gpus, hip=hip))
    assert found.state == state == four_bit(fleet(gpus, hip=hip)).state
    assert found.source


@pytest.mark.parametrize(
    ("gpus", "version", "state"),
    [
        ("8xMI300X", "0.47.0", "unknown"),
        ("8xMI300X", "0.48.1", "yes"),
        ("8xMI300X", "0.50.1", "yes"),
        # RDNA 4 came later than the first wheels for ROCm.
        ("RX 9070 XT", "0.48.1", "unknown"),
        ("RX 9070 XT", "0.50.0", "yes"),
        ("8xMI300X", "built here", "yes"),
        # What no wheel has stays missing.
        ("MI60", "0.47.0", "no"),
    ],
)
def test_an_older_bitsandbytes_is_named_where_it_may_lack_the_kernels(gpus: str, version: str, state: str) -> None:
    where = replace(described(gpus), software=Software(hip="7.2.53211", packages={"bitsandbytes": version}))
    found = four_bit(where)
    assert found.state == state == eight_bit_optimizer(where).state
    assert (version in found.reason) is (state == "unknown")


def test_without_a_torch_the_release_that_would_work_is_named() -> None:
    assert "ROCm 7.14" in eight_bit_optimizer(fleet("RX 6600")).reason
    assert "ROCm 6.4 to 7.14" in eight_bit_optimizer(fleet("8xMI300X")).reason


def test_eight_bit_types_exist_in_some_generations() -> None:
    found = {
        gpus: fp8(fleet(gpus)).value for gpus in ("8xMI300X", "4xMI250X", "RX 7900 XTX", "8xH100", "8xA100", "RTX 4090")
    }
    assert found == {
        "8xMI300X": "yes",
        "4xMI250X": "no",
        "RX 7900 XTX": "no",
        "8xH100": "yes",
        "8xA100": "no",
        "RTX 4090": "yes",
    }


def test_a_gpu_that_no_row_knows_is_unknown_and_planned_for_with_care() -> None:
    new = replace(fleet("8xMI300X"), gfx=None)
    assert (attention(new).value, precision(new).value) == ("math", "bf16")
    assert eight_bit_optimizer(new).state == fp8(new).value == "unknown"


def test_processors_have_answers_of_their_own() -> None:
    cpu = replace(fleet("8xMI300X", torch="2.13.0+cpu"), vendor="cpu", gfx=None)
    assert (attention(cpu).value, precision(cpu).value, eight_bit_optimizer(cpu).state) == ("flash", "fp32", "no")
    assert attention(replace(cpu, software=Software(torch="2.1.2"))).value == "math"
