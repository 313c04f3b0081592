"""Plans on real CPU ranks: what they measure, and what is said when a rank takes more, has too little, or stays away.

Sizes are held against the bytes of the states, which anybody can count, not against the estimate alone.
"""

from __future__ import annotations

import pytest

from rocdoctor.report.plan.trial_document import headline
from rocdoctor.train.smoke.plan.outcome import Outcome
from tests.train.smoke.plan.plan_kit import spec, tried

MIB = 2.0**20
# Embedding, head, and two layers of attention (128 x (128 + 64 + 64 + 128)), feed-forward (3 x 128 x 256), norms.
PARAMETERS = 2 * 16384 * 128 + 2 * (128 * 384 + 3 * 128 * 256 + 2 * 128) + 128
FSDP2 = {"framework": "fsdp2", "parallel": {"fsdp": 2}}


def _measured(found: Outcome) -> tuple[float, ...]:
    assert found.compared is not None, found.lost
    assert found.run.modes[0].state == "pass"
    return found.compared.runs[0].live


@pytest.mark.parametrize(
    ("changes", "least_bytes"),
    [
        ({}, 20.0 * PARAMETERS),  # weights, gradients, two moments, and the buckets
        # half of the moments
        pytest.param({"parallel": {"dp": 2, "zero": 1}}, 16.0 * PARAMETERS, marks=pytest.mark.heavy),
        # weights, gradients and moments, halved
        pytest.param(FSDP2, 8.0 * PARAMETERS, marks=pytest.mark.heavy),
        ({**FSDP2, "recompute": "full", "grad_accum": 2}, 8.0 * PARAMETERS),
        pytest.param(
            {"framework": "fsdp2", "parallel": {"tp": 2, "fsdp": 1}}, 8.0 * PARAMETERS, marks=pytest.mark.heavy
        ),
        ({"method": "lora", "fused_ce": "liger"}, 2.0 * PARAMETERS),  # frozen 16-bit weights, and adapters that learn
        ({"gpus": 1, "parallel": {"dp": 1}, "optimizer": "sgd"}, 8.0 * PARAMETERS),
    ],
    ids=["ddp", "zero-1", "fsdp2", "fsdp2-recompute-accumulate", "tensor", "lora-fused", "one-sgd"],
)
def test_every_rank_holds_its_states_and_little_else(changes: dict[str, object], least_bytes: float) -> None:
    found = tried(spec(**changes))
    live = _measured(found)
    assert len(live) == found.work.gpus
    # Beyond the states: activations, logits (fp32, three times), what is gathered; less than 6 x 16 MiB of all.
    assert all(0.9 * least_bytes < one < least_bytes + 100 * MIB for one in live), [one / MIB for one in live]
    assert found.compared is not None
    assert not found.compared.odd
    assert 0.35 < found.compared.memory_ratio < 1.8  # of a process: peaks move when the machine is busy
    assert found.compared.runs[0].step_s > 0


def test_a_rank_that_takes_more_than_the_others_is_named() -> None:
    found = tried(spec(), "hoard", 1)
    assert found.compared is not None
    (rank, more), *others = found.compared.odd
    assert (rank, others) == (1, [])
    # 160 MiB were kept. The peaks of healthy ranks differ by some 33 MiB on a busy machine, as gradients travel.
    assert 110 * MIB < more < 210 * MIB
    assert headline(found).startswith("Rank 1 itself allocated ")
    assert not found.compared.kept


def test_an_estimate_that_is_off_is_said_with_by_how_much() -> None:
    before, found = tried(spec()), tried(spec(), "hoard", "all")
    assert before.compared is not None and found.compared is not None
    assert found.compared.live - before.compared.live == pytest.approx(160 * MIB, abs=50 * MIB)
    assert found.compared.off == ("memory",)
    assert f"memory is {found.compared.memory_ratio:.2f} times the estimate" in headline(found)
    assert found.compared.kept


def test_out_of_memory_names_rank_part_and_what_was_predicted() -> None:
    found = tried(spec(), "short", 1)
    assert found.state == "out-of-memory", found.lost
    assert found.short is not None
    assert found.short.rank == 1
    said = headline(found)
    assert "Out of memory: rank 1 in '" in said
    assert "the plan predicted at most" in said


def test_a_rank_that_stays_away_is_named_after_the_deadline() -> None:
    found = tried(spec(), "sleep", 0, limit_s=8.0)
    assert found.state == "crashed"
    assert found.lost is not None
    assert found.lost.named == (0,)
    assert "rank 0 gave no answer at 'backward of the loss'" in headline(found)


def test_what_torch_alone_cannot_do_is_not_tried() -> None:
    found = tried(spec(framework="megatron", parallel={"tp": 2}))
    assert found.state == "not-applicable"
    assert "Megatron-LM keeps memory of its own" in headline(found)
