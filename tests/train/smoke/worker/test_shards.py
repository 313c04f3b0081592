"""The local part of a whole tensor agrees with what torch itself hands out, for even, uneven and empty shares."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from rocdoctor.train.smoke.worker import shards  # noqa: E402


class Mesh:
    """The two questions that a device mesh is asked."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def size(self, number: int) -> int:
        return self.sizes[number]

    def get_coordinate(self) -> None:
        return None


def _placement(words: str) -> Any:
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.placement_types import Partial, _StridedShard

    kind, *numbers = words.split()
    if kind == "R":
        return Replicate()
    if kind == "P":
        return Partial()
    if kind == "S":
        return Shard(int(numbers[0]))
    return _StridedShard(int(numbers[0]), split_factor=int(numbers[1]))


def _parts(full: Any, sizes: tuple[int, ...], *words: str) -> dict[tuple[int, ...], Any]:
    placements = [_placement(one) for one in words]
    return {
        place: shards.local_part(full, Mesh(*sizes), placements, place).tolist()
        for place in product(*(range(size) for size in sizes))
    }


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("parts", range(1, 6))
def test_chunks_are_those_of_torch(size: int, parts: int) -> None:
    full = torch.arange(float(size))
    theirs = [one.tolist() for one in full.chunk(parts)]
    ours = [shards.chunk(full, parts, index).tolist() for index in range(parts)]
    assert ours == theirs + [[]] * (parts - len(theirs))


def test_one_dimension() -> None:
    full = torch.arange(6).reshape(3, 2)
    assert _parts(full, (2,), "R") == {(0,): full.tolist(), (1,): full.tolist()}
    assert _parts(full, (2,), "S 0") == {(0,): [[0, 1], [2, 3]], (1,): [[4, 5]]}
    assert _parts(full, (2,), "S -1") == {(0,): [[0], [2], [4]], (1,): [[1], [3], [5]]}


def test_two_mesh_dimensions_cut_from_left_to_right() -> None:
    assert _parts(torch.arange(8), (2, 2), "S 0", "S 0") == {
        (0, 0): [0, 1],
        (0, 1): [2, 3],
        (1, 0): [4, 5],
        (1, 1): [6, 7],
    }


def test_a_strided_shard_cuts_what_tensor_parallel_left() -> None:
    assert _parts(torch.arange(8), (2, 2), "strided 0 2", "S 0") == {
        (0, 0): [0, 1],
        (0, 1): [4, 5],
        (1, 0): [2, 3],
        (1, 1): [6, 7],
    }
    # 7 rows: tensor parallel holds 4 and 3, each halved by FSDP
    assert _parts(torch.arange(7), (2, 2), "strided 0 2", "S 0") == {
        (0, 0): [0, 1],
        (0, 1): [4, 5],
        (1, 0): [2, 3],
        (1, 1): [6],
    }
    assert _parts(torch.arange(8), (1, 2, 2), "R", "strided 0 2", "S 0")[0, 1, 0] == [2, 3]


def test_shards_of_other_dimensions_do_not_mind_each_other() -> None:
    assert _parts(torch.arange(4).reshape(2, 2), (2, 2), "S 0", "S 1") == {
        (0, 0): [[0]],
        (0, 1): [[1]],
        (1, 0): [[2]],
        (1, 1): [[3]],
    }


@pytest.mark.parametrize(
    ("sizes", "words", "reason"),
    [
        ((2,), ("P",), "without communication"),
        ((2, 2), ("strided 0 3", "S 0"), "does not fit"),
        ((2,), ("strided 0 2",), "does not fit"),
    ],
)
def test_what_has_no_local_part_is_refused(sizes: tuple[int, ...], words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _parts(torch.arange(8), sizes, *words)


def test_a_rank_outside_the_mesh_has_no_part() -> None:
    with pytest.raises(ValueError, match="not part of the mesh"):
        shards.local_part(torch.arange(2), Mesh(2), [_placement("R")])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [((2, 2), ("S 0", "S 0")), ((2, 2), ("strided 0 2", "S 0")), ((2, 3), ("strided 1 3", "S 1")), ((4,), ("S 0",))],
)
def test_agrees_with_the_offsets_of_torch(sizes: tuple[int, ...], words: tuple[str, ...]) -> None:
    """The library's own arithmetic (private, so it may be gone), for sizes that divide."""
    utils = pytest.importorskip("torch.distributed.tensor._utils")
    function = getattr(utils, "_compute_local_shape_and_global_offset", None)
    if function is None:
        pytest.skip("torch has another name for it")
    full = torch.arange(144).reshape(12, 12)
    placements = [_placement(one) for one in words]
    for place in product(*(range(size) for size in sizes)):
        shape, offset = function(full.shape, sizes, lambda number, place=place: place[number], placements)
        ours = shards.local_part(full, Mesh(*sizes), placements, place)
        assert tuple(ours.shape) == tuple(shape)
        assert int(ours.flatten()[0]) == offset[0] * 12 + offset[1]
