"""Results as JSON and back, the question that asks for them, and their way through a bundle."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.own.smoke_results import ModeResult, RankResult, SmokeRun, from_text, to_json, to_text
from rocdoctor.train.smoke.run.rank_sets import PlanError, plan
from rocdoctor.train.smoke.run.request import Request, request_of

RUNS = (
    SmokeRun(
        2,
        "nccl",
        "cuda",
        "2.13.0+rocm7.2",
        4.7,
        (
            ModeResult(
                "ddp",
                "fail",
                0.06,
                "rank 1: wrong",
                {"grad": 7.6e-6},
                {"grad": 1e-6},
                "link",
                1,
                (RankResult(0, "pass", "", "0000:03:00.0"), RankResult(1, "fail", "wrong", "0000:43:00.0", True)),
                {"note": 1},
            ),
            ModeResult("zero-1", "not-applicable", 0.0, "needs more"),
        ),
        ("GPUs",),
        ("two ranks share",),
        1 << 30,
    ),
    SmokeRun(1, "gloo", "cpu", None, 0.1, ()),
)


def test_json_holds_the_contract_and_reads_back_the_same() -> None:
    data = to_json(RUNS)
    assert data["schema"] == "rocdoctor.smoke/1"
    assert {"world", "backend", "device", "torch", "wall_s", "modes", "figures"} <= set(data)
    assert data["modes"][0]["ranks"][1] == {"rank": 1, "state": "fail", "gpu": "0000:43:00.0", "message": "wrong"}
    assert data["modes"][0]["named"] == [1]
    assert from_text(to_text(RUNS)) == RUNS


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["modes", "ranks", "mode", "state", "layer", "named", "rank", "more", "max_error", "figures"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_no_json_raises(value: object) -> None:
    data = {"schema": "rocdoctor.smoke/1", **(value if isinstance(value, dict) else {"modes": value})}
    for run in from_text(json.dumps(data)):
        to_text([run])


@pytest.mark.parametrize(
    "request_", [Request(), Request(True, ("ddp", "zero-1"), 4, "gloo", "cpu", 12.5), Request(world=8)]
)
def test_a_question_and_its_request_are_the_same(request_: Request) -> None:
    assert request_of(request_.question()) == request_


@pytest.mark.parametrize("question", ["smoke", "smoke fast", "run x", "smoke quick world=x", "smoke quick size=3"])
def test_what_is_no_question_is_refused(question: str) -> None:
    with pytest.raises(ValueError):
        request_of(question)


ROCM = {"hip": "7.2", "nccl": True, "gloo": True}
GPUS = [{"index": number} for number in range(8)]


def test_plans_by_machine() -> None:
    def shape(*args: object) -> list[tuple[int, str, str]]:
        return [(one.world, one.backend, one.device) for one in plan(*args)]  # type: ignore[arg-type]

    assert shape({"gloo": True}, [], None, "auto", "auto") == [(2, "gloo", "cpu")]
    assert shape(ROCM, GPUS, None, "auto", "auto") == [(8, "nccl", "cuda")]
    assert shape(ROCM, GPUS, 4, "auto", "auto") == [(4, "nccl", "cuda")]
    assert shape(ROCM, GPUS[:1], None, "auto", "auto") == [(1, "nccl", "cuda"), (2, "gloo", "cuda")]
    assert shape(ROCM, GPUS[:1], 1, "auto", "auto") == [(1, "nccl", "cuda")]
    assert shape(ROCM, GPUS, 8, "gloo", "auto") == [(8, "gloo", "cuda")]
    assert shape(ROCM, GPUS, 2, "auto", "cpu") == [(2, "gloo", "cpu")]


def test_more_ranks_than_gpus_move_to_gloo_and_say_so() -> None:
    (setting,) = plan(ROCM, GPUS[:2], 4, "auto", "auto")
    assert (setting.world, setting.backend, setting.device) == (4, "gloo", "cuda")
    assert "RCCL allows only one rank per GPU" in setting.notes[0]


@pytest.mark.parametrize(
    ("hello", "gpus", "world", "device", "words"),
    [
        (ROCM, GPUS[:2], 4, "auto", "needs a GPU for each rank: 4 requested, but torch sees 2"),
        (ROCM, [], None, "auto", "torch sees none"),
        ({"gloo": True}, [], None, "auto", "built without NCCL"),
        (ROCM, GPUS, None, "cpu", "cannot be used with --device cpu"),
    ],
)
def test_an_explicit_nccl_that_cannot_be_is_refused(
    hello: dict[str, object], gpus: list[dict[str, object]], world: int | None, device: str, words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        plan(hello, gpus, world, "nccl", device)
