"""Faults as real libraries have them: by size, layout and kind of sum, in one operation, on one rank or on all.

They stay on while a rank computes what it compares with: a reference with the same kernels would share them.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from rocdoctor.train.smoke.judge.references import odd_references
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from rocdoctor.train.smoke.worker import draws
from tests.train.smoke import kit
from tests.train.smoke.planted.faults import Active, wrap

torch = pytest.importorskip("torch")
ONE, ALL = (1,), (0, 1)
# fault, where, mode, ranks that must be named, layer
QUICK: list[tuple[str, int | str, str, tuple[int, ...], str]] = [
    ("not-summed-when-large", 1, "all-reduce", ONE, "collectives"),
    ("embedding-neighbour", 1, "ddp", ONE, "device"),
    ("embedding-neighbour", "all", "compute", ALL, "framework"),
    ("other-buckets", "all", "ddp-longer", ALL, "framework"),
    ("adamw-beta", 1, "optimizers", ONE, "framework"),
    ("odd-length", 1, "compute", ONE, "device"),
    ("root-off", 1, "compute", ONE, "device"),
    ("last-two-swapped", 1, "expert-parallel", ONE, "framework"),
    ("other-world", 1, "post-local-sgd", ONE, "framework"),
]
REST: list[tuple[str, int | str, str, tuple[int, ...], str]] = [
    ("gather-swapped-when-large", 1, "all-gather", ONE, "collectives"),
    ("list-swapped-when-large", 1, "all-gather", ONE, "collectives"),
    ("last-lost-when-large", 1, "all-reduce", ONE, "collectives"),
    ("last-lost-when-large", 1, "large-messages", ONE, "collectives"),
    ("broadcast-lost-when-large", 1, "one-to-all", ONE, "collectives"),
    ("gather-shifted", 1, "all-gather", ONE, "collectives"),
    ("scatter-shifted", 1, "reduce-scatter", ONE, "collectives"),
    ("exchange-shifted", 1, "all-to-all", ONE, "collectives"),
    ("sum-for-product", "all", "all-reduce", ALL, "collectives"),
    ("sum-for-avg", "all", "all-reduce", ALL, "collectives"),
    ("short-mean", "all", "all-reduce", ALL, "collectives"),
    ("or-for-xor", "all", "all-reduce", ALL, "collectives"),
    ("layout-lost", 1, "all-reduce", ONE, "collectives"),
    ("offset-lost", 1, "all-reduce", ONE, "collectives"),
    ("root-lost", 0, "objects", (0,), "collectives"),
    ("buffers-stay", "all", "ddp-longer", ONE, "framework"),
    ("third-step-stale", 1, "fsdp2-longer", ONE, "device"),
    ("clip-alone", "all", "fsdp2-longer", ALL, "framework"),
    ("gradient-twice", "all", "ddp", ALL, "framework"),
    ("adamw-no-decay", 1, "optimizers", ONE, "framework"),
    ("adamw-bias", 1, "zero-1", ONE, "framework"),
    ("adamw-beta", "all", "zero-1", ALL, "framework"),
    ("adamw-beta", "all", "fsdp2-longer", ALL, "framework"),
    ("adamw-no-decay", "all", "zero-1", ALL, "framework"),
    ("adamw-no-decay", 1, "ddp-longer", ONE, "framework"),
    ("adamw-fused-twice", 1, "optimizers", ONE, "device"),
    ("adam-foreach-off", 1, "optimizers", ONE, "device"),
    ("sgd-second-off", 1, "ddp", ONE, "device"),
    ("sgd-second-half", 1, "ddp", ONE, "framework"),
    ("sgd-second-half", 1, "fsdp2", ONE, "framework"),
    ("embedding-duplicates", 1, "fsdp2", ONE, "device"),
    ("linear-last-tile", 1, "ddp", ONE, "device"),
    ("linear-last-tile", 1, "pipeline-1f1b", ONE, "device"),
    ("linear-128", "all", "ddp", ALL, "framework"),
    ("linear-rounded", 1, "ddp", ONE, "device"),
    ("mask-off-by-one", 1, "fsdp2", ONE, "device"),
    ("attention-no-autocast", 1, "compute", ONE, "device"),
    ("last-token-lost", 1, "ddp", ONE, "device"),
    ("norm-epsilon", 1, "ddp", ONE, "device"),
    ("softmax-by-threads", 1, "compute", ONE, "device"),
    ("dropout-nothing", 1, "dropout", ONE, "device"),
    ("dropout-not-scaled", 1, "dropout", ONE, "device"),
    ("one-seed", "all", "dropout", ALL, "framework"),
]

# Of releases, each with its report beside the fault: ``planted/faults_releases.py``.
RELEASES: list[tuple[str, int | str, str, tuple[int, ...], str]] = [
    ("mean-alone-short", 1, "subgroups", ONE, "collectives"),
    ("tail-of-rank-0", 0, "reduce-scatter", (0,), "collectives"),
    ("at-one-size", 1, "all-reduce", ONE, "collectives"),
    ("scalar-largest", 0, "all-reduce", (0,), "collectives"),
    ("high-bits", 1, "all-reduce", ONE, "collectives"),
    ("group-root", 0, "subgroups", (0,), "collectives"),
    ("both-transposed", 1, "compute", ONE, "device"),
    ("odd-inner", 1, "compute", ONE, "device"),
    ("strided-weights", 1, "compute", ONE, "device"),
    ("wide-padding", 1, "compute", ONE, "device"),
    ("grouped", 1, "compute", ONE, "device"),
    ("head-256", 1, "compute", ONE, "device"),
    ("mask-ignored", 1, "compute", ONE, "device"),
    ("shared-heads", 1, "compute", ONE, "device"),
    ("not-causal-backward", 1, "compute", ONE, "device"),
    ("long-softmax", 1, "compute", ONE, "device"),
    ("long-entropy", 1, "compute", ONE, "device"),
    ("long-norm", 1, "compute", ONE, "device"),
    ("left-out-tokens", "all", "compute", ALL, "framework"),
    ("other-mask-again", 1, "dropout", ONE, "framework"),
    ("use-counts-once", "all", "ddp-longer", ALL, "framework"),
    ("last-part-alone", "all", "ddp-no-sync", ALL, "framework"),
    ("sharded-accumulation-lost", "all", "fsdp2-longer", ALL, "framework"),
    ("replicas-in-norm", "all", "fsdp2-hsdp", ALL, "framework"),
    ("norm-without-last", "all", "optimizers", ALL, "framework"),
    ("norms-apart", "all", "sequence-parallel", ALL, "collectives"),
    ("last-rows-lost", "all", "fsdp2-longer", ALL, "collectives"),
    ("first-group-alone", "all", "checkpoint", ALL, "framework"),
    ("steps-begin-anew", "all", "checkpoint", ALL, "framework"),
    ("moments-swapped", "all", "checkpoint", ALL, "framework"),
    ("first-piece-alone", 1, "optimizers", ONE, "device"),
    ("whole-buffers-stay", "all", "ddp-longer", ONE, "framework"),
    ("pipeline-scales-again", 1, "pipeline-gpipe", ONE, "framework"),
    ("order-of-columns", 1, "sequence-parallel", ONE, "collectives"),
]


def _wrong(table: list[tuple[str, int | str, str, tuple[int, ...], str]]) -> list[str]:
    return kit.wrong_of([(fault, rank, mode, 2, "fail", named, layer, "") for fault, rank, mode, named, layer in table])


def test_a_fault_of_each_kind_is_caught_and_no_healthy_rank_is_accused() -> None:
    assert not _wrong(QUICK)


@pytest.mark.heavy
def test_all_others_are_caught_too() -> None:
    assert not _wrong(REST + RELEASES)


def test_a_rank_that_expects_something_else_is_named_before_anything_is_judged() -> None:
    result = kit.planted("processor-off", 1, "fsdp2", 3)
    assert (result.state, result.named, result.layer) == ("fail", (1,), "device"), result.message
    assert "the reference" in result.message


def _told(rank: int, value: float, wrong: str = "") -> RankRecord:
    fault: dict[str, Any] = {"stage": wrong, "step": 0, "turn": 0, "name": "x", "error": 1.0, "words": "differs"}
    faults = {"faults": [fault]} if wrong else {}
    state = "fail" if wrong else "pass"
    return RankRecord(rank, result={"state": state, "reference": {"sgd": [4.0, value]}, **faults})


def test_of_three_references_the_majority_is_right_and_of_two_what_a_rank_computes_itself_decides() -> None:
    def odd(*ranks: RankRecord) -> list[int]:
        return [one.rank for one in odd_references(ranks)]

    assert odd(_told(0, 1.0), _told(1, 1.0 + 1e-12), _told(2, 1.0)) == []
    assert odd(_told(0, 1.0), _told(1, 1.0 + 1e-6), _told(2, 1.0)) == [1]
    assert odd(_told(0, 1.0), _told(1, float("nan"))) == [0, 1]
    assert odd(_told(0, 1.0), _told(1, 1.1, wrong="local")) == [1]
    for stage in ("before", "value", "grad"):  # from the other, who may be the one that is wrong
        assert odd(_told(0, 1.0), _told(1, 1.1, wrong=stage)) == [0, 1]
    both = judge(ModeRecord("ddp", 1.0, (_told(0, 1.0), _told(1, 1.1))))
    assert (both.state, both.named, both.layer) == ("fail", (), "device")
    assert "it is not clear which" in both.message


def test_a_rank_that_draws_other_numbers_is_named_before_its_reference_is_judged() -> None:
    two, other = _told(0, 1.0), _told(1, 1.1)
    assert other.result is not None
    other.result["draws_otherwise"] = True
    found = judge(ModeRecord("ddp", 1.0, (two, other)))
    assert (found.state, found.named, found.layer) == ("fail", (1,), "framework"), found.message
    assert "different random numbers from a seed" in found.message


def test_what_a_rank_makes_of_right_gradients_is_no_exchange() -> None:
    cases: list[tuple[str | kit.Fault, int | str, str, int, str, tuple[int, ...], str | None, str]] = [
        ("gradients-cleared", 1, mode, 2, "fail", (1,), "framework", "no value was moved")
        for mode in ("tensor-parallel", "ddp-grad-scaler", "ddp-autocast", "pipeline-gpipe")
    ]
    cases.append(("not-clipped", 1, "fsdp2-longer", 2, "fail", (1,), "framework", "clipped"))
    assert not kit.wrong_of(cases)


def other_seed(active: Active) -> None:
    """Seeds are one higher in one rank, as a library does that adds the rank to every seed."""
    wrap(torch, "manual_seed", lambda original, seed: original(seed + 1 if active() else seed))


def test_a_rank_with_other_seeds_is_named_of_two() -> None:
    rows = [(other_seed, 1, mode, 2, "fail", (1,), "framework", "") for mode in ("dropout", "zero-1")]
    assert not kit.wrong_of(rows)


def test_where_all_ranks_draw_other_numbers_alike_the_generator_is_another_one() -> None:
    assert kit.planted(other_seed, "all", "dropout").state == "pass"


def test_the_standard_generator_gives_what_a_rank_expects_of_it() -> None:
    # std::mt19937 of the C++ standard, worked out here: [rand.predef] says that its 10000th number is 4123659995.
    state = [5489]
    for place in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + place) & 0xFFFFFFFF)
    generator = random.Random()
    generator.setstate((3, (*state, 624), None))
    numbers = [generator.getrandbits(32) for _ in range(10000)]
    assert numbers[-1] == 4123659995
    assert numbers[0] % draws.BELOW == draws.FIRST == draws.first(torch)
