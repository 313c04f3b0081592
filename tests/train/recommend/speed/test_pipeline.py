from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.train.recommend.speed.pipeline import orders, schedule, schedule_name


@pytest.mark.parametrize(("stages", "micro"), [(2, 2), (4, 8), (8, 8), (8, 64), (16, 512)])
def test_1f1b_and_gpipe_idle_as_the_textbook_says(stages: int, micro: int) -> None:
    assert schedule("1f1b", stages, 1, micro).idle == pytest.approx((stages - 1) / micro)
    assert schedule("gpipe", stages, 1, micro).idle == pytest.approx((stages - 1) / micro)


@pytest.mark.parametrize(("stages", "chunks", "micro"), [(4, 2, 8), (8, 2, 8), (8, 8, 64), (8, 8, 512)])
def test_interleaving_divides_the_idle_time_by_the_chunks(stages: int, chunks: int, micro: int) -> None:
    assert schedule("interleaved", stages, chunks, micro).idle == pytest.approx(
        (stages - 1) / (micro * chunks), rel=0.02
    )


def test_stored_activations_follow_the_order_of_work() -> None:
    assert schedule("1f1b", 8, 1, 64).stored == 8
    assert schedule("gpipe", 8, 1, 64).stored == 64
    # p + (p-1)/p micro-batches for p chunks: 2(p-1) + (v-1)p + 1 chunks.
    assert schedule("interleaved", 8, 2, 64).stored == 23
    assert schedule("1f1b", 8, 1, 3).stored == 3


def test_zero_bubble_is_between_none_and_1f1b() -> None:
    plain = schedule("1f1b", 8, 1, 16).idle
    assert 0 < schedule("zbv", 8, 2, 16).idle < schedule("zb1p", 8, 1, 16).idle < plain
    assert schedule("v-min", 8, 2, 16).stored < schedule("v-half", 8, 2, 16).stored < schedule("zbv", 8, 2, 16).stored


def test_one_stage_never_waits() -> None:
    assert schedule("1f1b", 1, 1, 4).idle == 0.0


@pytest.mark.parametrize(
    ("text", "chunks", "name"),
    [
        ("", 1, "1f1b"),
        ("", 2, "interleaved"),
        ("1F1B", 1, "1f1b"),
        ("1f1b-interleaved", 2, "interleaved"),
        ("Interleaved1F1B", 2, "interleaved"),
        ("ZBVZeroBubble", 2, "zbv"),
        ("v-half", 2, "v-half"),
        ("GPipe", 1, "gpipe"),
        ("InterleavedZeroBubble", 2, "interleaved"),
    ],
)
def test_names_of_schedules(text: str, chunks: int, name: str) -> None:
    assert schedule_name(text, chunks) == name


def test_an_unknown_schedule_is_none() -> None:
    assert schedule_name("sideways", 1) is None


@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 40))
def test_every_rank_does_every_piece_of_work_once(stages: int, chunks: int, micro: int) -> None:
    for name in ("gpipe", "interleaved" if chunks > 1 else "1f1b"):
        wanted = {(kind, c, i) for kind in "FB" for c in range(chunks) for i in range(micro)}
        for work in orders(name, stages, chunks, micro):
            assert len(work) == len(wanted) and set(work) == wanted


@given(
    st.sampled_from(["1f1b", "gpipe", "interleaved", "zb1p", "zbv", "v-half", "v-min"]),
    st.integers(1, 2000),
    st.integers(1, 16),
    st.integers(1, 5000),
)
def test_schedules_never_raise_and_stay_finite(name: str, stages: int, chunks: int, micro: int) -> None:
    found = schedule(name, stages, chunks if name not in {"1f1b", "zb1p"} else 1, micro)
    assert 0 <= found.idle < 1e6
    assert found.stored > 0
