"""Dumps of the flight recorder. Shapes and keys are recorded from torch 2.13 with gloo; values of NCCL constructed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.logs.flight_recorder import looks_like_dump, parse_flight_dumps, rank_of_name
from tests.run_kit import dump, entry


def text_of(*dumps: dict[str, Any], indent: int | None = None) -> str:
    return "".join(f"==> nccl_trace_rank_{n} <==\n{json.dumps(one, indent=indent)}\n" for n, one in enumerate(dumps))


def test_one_dump() -> None:
    (found,) = parse_flight_dumps(text_of(dump([entry(41, state="started", frames=True)], ranks=[0, 1, 2])))
    assert (found.rank, found.line, found.groups) == (0, 2, {"0": (0, 1, 2)})
    (one,) = found.ops
    assert (one.group, one.group_desc, one.backend, one.operation) == ("0", "default_pg", "nccl", "all_reduce")
    assert (one.sequence, one.p2p, one.state, one.retired) == (41, False, "started", False)
    assert one.input_sizes == ((4, 8),) and one.dtypes == ("Float",)
    assert one.frame == "train.py:31 in step"


def test_sends_have_their_own_count_and_ends() -> None:
    sent = entry(7, name="nccl:recv 1<-0", is_p2p=True, p2p_seq_id=3)
    (found,) = parse_flight_dumps(text_of(dump([sent])))
    (one,) = found.ops
    assert (one.operation, one.sequence, one.p2p, one.source_rank, one.target_rank) == ("recv", 3, True, 0, 1)


def test_many_in_one_text() -> None:
    dumps = [dump([entry(n)]) for n in range(3)]
    assert [one.rank for one in parse_flight_dumps(text_of(*dumps))] == [0, 1, 2]
    assert [one.rank for one in parse_flight_dumps(text_of(*dumps, indent=2))] == [0, 1, 2]
    glued = "".join(json.dumps(one) for one in dumps)
    assert [(one.rank, one.ops[0].sequence) for one in parse_flight_dumps(glued)] == [
        (None, 0),
        (None, 1),
        (None, 2),
    ]
    by_key = "\n".join(json.dumps({"file": f"/x/nccl_trace_rank_{n}", **one}) for n, one in enumerate(dumps))
    assert [one.rank for one in parse_flight_dumps(by_key)] == [0, 1, 2]


def test_a_dump_that_breaks_off_keeps_its_whole_entries() -> None:
    whole = json.dumps(dump([entry(1), entry(2), entry(3)]))
    (found,) = parse_flight_dumps(whole[: whole.rindex("collective_seq_id")])
    assert [one.sequence for one in found.ops] == [1, 2]


def test_ranks_of_names() -> None:
    assert rank_of_name("nccl_trace_rank_12") == 12
    assert rank_of_name("comm_lib_trace_rank_3.json") == 3
    assert rank_of_name("run7/fr_5.json") == 5
    assert rank_of_name("notes.txt") is None


def test_other_json_is_none() -> None:
    assert parse_flight_dumps('{"version": "2.4", "entries": []}') == ()
    assert not looks_like_dump('{"traceEvents": []}')
    assert parse_flight_dumps('{"pg_config": 3, "entries": {"profiling_name": 1}}') == ()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "profiling_name",
        "process_group",
        "collective_seq_id",
        "input_sizes",
        "input_dtypes",
        "frames",
        "state",
        "retired",
    ]
)


@given(st.dictionaries(FIELDS, VALUES))
def test_any_entry_never_raises(fields: dict[str, Any]) -> None:
    parse_flight_dumps(
        json.dumps({"pg_config": {"0": fields}, "entries": [{"profiling_name": "nccl:send 0->1", **fields}]})
    )
