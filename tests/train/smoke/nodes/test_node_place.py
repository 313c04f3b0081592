"""Where a node stands: from options and from Slurm's variables."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.train.smoke.nodes.node_place import PlaceError, hosts, place

_SLURM = {
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_ID": "0",
    "SLURM_NODEID": "1",
    "SLURM_NNODES": "4",
    "SLURM_STEP_NUM_NODES": "3",
    "SLURM_STEP_NODELIST": "gpu[07-09]",
    "SLURM_JOB_NODELIST": "gpu[06-09]",
    "SLURM_LOCALID": "0",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("gpu[01-03,7],login1", ["gpu01", "gpu02", "gpu03", "gpu7", "login1"]),
        ("a[1-2]b[3-4],c", ["a1b3", "a1b4", "a2b3", "a2b4", "c"]),
        ("x[09-11]-ib", ["x09-ib", "x10-ib", "x11-ib"]),
        ("", []),
    ],
)
def test_host_lists_in_slurms_form(text: str, names: list[str]) -> None:
    assert hosts(text) == names


@given(st.text(alphabet="a1[]-,9 "))
def test_no_host_list_is_too_much(text: str) -> None:
    assert len(hosts(text, 50)) <= 50


def test_a_huge_range_is_cut() -> None:
    assert len(hosts("n[0-999999999]", 100)) == 100


def test_many_huge_ranges_hold_no_more_than_one() -> None:
    """A file of switches may come from anybody: 6,000 such ranges fit a line, each of 65,536 names."""
    tracemalloc.start()
    try:
        assert len(hosts(f"n[{'0-9999999,' * 300}0]", 1000)) == 1000
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()


def test_an_expression_of_many_ranges_names_nobody() -> None:
    """Each range made all names anew, longer ones each time: 500 of them took minutes."""
    assert hosts("a" + "[1-9]" * 500 + ",b[1-2],c[5-2]") == ["b1", "b2"]
    assert hosts("a[1-2]b[3]c[4]") == ["a1b3c4", "a2b3c4"]


def test_all_comes_from_the_step_and_not_from_the_whole_job() -> None:
    found = place("auto", None, None, _SLURM)
    assert (found.node, found.nodes, found.host, found.slurm) == (1, 3, "gpu07", True)
    assert found.port == 29500 + 1234 % 500
    assert found.run == "1234.0"


def test_what_is_given_goes_before_slurm() -> None:
    found = place("3", 2, "10.0.0.1:4000", _SLURM)
    assert (found.node, found.host, found.port) == (2, "10.0.0.1", 4000)


@pytest.mark.parametrize(
    ("rdzv", "host", "port", "endpoint"),
    [
        ("node0:29400", "node0", 29400, "node0:29400"),
        ("node0", "node0", 29500, "node0:29500"),
        ("[fd00::1]:29400", "fd00::1", 29400, "[fd00::1]:29400"),
        ("fd00::1", "fd00::1", 29500, "[fd00::1]:29500"),
    ],
)
def test_forms_of_the_rendezvous(rdzv: str, host: str, port: int, endpoint: str) -> None:
    found = place("2", 0, rdzv, {})
    assert (found.host, found.port, found.endpoint) == (host, port, endpoint)


@pytest.mark.parametrize(
    ("nnodes", "rank", "rdzv", "variables", "words"),
    [
        ("auto", 0, "a:1", {}, "within srun only"),
        ("0", 0, "a:1", {}, "1 to 1024"),
        ("two", 0, "a:1", {}, "1 to 1024"),
        ("2", None, "a:1", {}, "--node-rank is missing"),
        ("2", 2, "a:1", {}, "0 to 1 for 2 nodes"),
        ("2", 0, None, {}, "--rdzv HOST:PORT is missing"),
        ("2", 0, "a:0", {}, "takes HOST:PORT"),
        ("2", 0, "a b:5", {}, "takes HOST:PORT"),
        ("4", None, None, _SLURM, "has 3 nodes, not 4"),
        ("auto", None, None, {**_SLURM, "SLURM_STEP_NODELIST": "", "SLURM_JOB_NODELIST": ""}, "list of nodes"),
    ],
)
def test_what_is_missing_is_named(
    nnodes: str, rank: int | None, rdzv: str | None, variables: dict[str, str], words: str
) -> None:
    with pytest.raises(PlaceError, match=words):
        place(nnodes, rank, rdzv, variables)
