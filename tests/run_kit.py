"""Jobs made by hand: flight recorder dumps, and logs of training jobs read as a text is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rocdoctor.collect.jobs.job_logs import collect_run
from rocdoctor.model.facts import JobRun
from rocdoctor.model.finding import Finding
from rocdoctor.paste import open_text
from tests.kit import judge
from tests.message_kit import pasted


def entry(sequence: int, name: str = "nccl:all_reduce", state: str = "completed", **more: Any) -> dict[str, Any]:
    """An operation as the recorder writes it; ``frames=True`` gives it a stack, ``group`` a process group."""
    group = more.pop("group", ["0", "default_pg"])
    frames = more.pop("frames", False)
    made: dict[str, Any] = {
        "collective_seq_id": sequence,
        "input_dtypes": ["Float"],
        "input_sizes": [[4, 8]],
        "is_p2p": False,
        "op_id": sequence,
        "output_dtypes": ["Float"],
        "output_sizes": [[4, 8]],
        "p2p_seq_id": 0,
        "pg_id": 0,
        "process_group": group,
        "profiling_name": name,
        "record_id": sequence,
        "retired": state == "completed",
        "state": state,
        "time_created_ns": 1_700_000_000_000_000_000 + sequence,
        "time_discovered_completed_ns": 1 if state == "completed" else 0,
        "time_discovered_started_ns": 0 if state == "scheduled" else 1,
        "timeout_ms": 600000,
    }
    if frames:
        made["frames"] = [
            {"name": "all_reduce", "filename": "/v/lib/python3.11/site-packages/torch/distributed/x.py", "line": 9},
            {"name": "step", "filename": "/home/me/train.py", "line": 31},
        ]
    return {**made, **more}


def dump(
    entries: Sequence[Mapping[str, Any]], ranks: Sequence[int] = (0, 1), **groups: Sequence[int]
) -> dict[str, Any]:
    """A dump; ``groups`` are process groups beside that of all ranks, by name."""
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(ranks))}}
    config |= {name: {"name": name, "desc": name, "ranks": str(list(members))} for name, members in groups.items()}
    return {"version": "2.4", "pg_config": config, "pg_status": {}, "entries": list(entries)}


def run_of(text: str) -> JobRun:
    """The job that a text tells of."""
    return collect_run(open_text(text, "text"))


def run_of_dumps(dumps: Mapping[int, Mapping[str, Any]]) -> JobRun:
    """The job of dumps by rank."""
    return run_of("\n".join(f"==> nccl_trace_rank_{rank} <==\n{json.dumps(one)}" for rank, one in dumps.items()))


def found_in(check: str, run: JobRun | str, **changes: Any) -> Finding | None:
    """The first finding of a check over a job, or over a text with its messages; None where there is none."""
    text = run if isinstance(run, str) else ""
    job = run_of(run) if isinstance(run, str) else run
    verdicts = judge(check, pasted(text, run=job, **changes))
    assert "crashed" not in [one.state for one in verdicts], verdicts
    return next((one.finding for one in verdicts if one.finding is not None), None)


# Recorded with torch 2.13 (torchrun, gloo): rank 1 sleeps; shortened, paths changed.
BARRIER = """\
[rank0]:[E1121 13:31:18.826942988 ProcessGroupGloo.cpp:67] [Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms
[rank2]:[E1121 13:31:18.828812262 ProcessGroupGloo.cpp:67] Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.
[rank2]: Traceback (most recent call last):
[rank2]:   File "/job/t.py", line 36, in main
[rank2]:     dist.monitored_barrier(timeout=datetime.timedelta(seconds=2))
[rank2]:   File "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 5435, in monitored_barrier
[rank2]:     return group_to_use.monitored_barrier(
[rank2]: RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.
[rank2]:  Original exception:
[rank2]: [/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:28303. This is typically caused by a remote worker crashing.
"""  # noqa: E501

# Recorded likewise: rank 1 raises in a line of the program, the other loses it.
RAISED = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/job/t.py", line 65, in <module>
[rank1]:     main()
[rank1]:   File "/job/t.py", line 26, in main
[rank1]:     raise ValueError("bad batch: labels out of range")
[rank1]: ValueError: bad batch: labels out of range
[rank0]: Traceback (most recent call last):
[rank0]:   File "/job/t.py", line 27, in main
[rank0]:     dist.all_reduce(x)
[rank0]:   File "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252, in all_reduce
[rank0]:     work.wait()
[rank0]: RuntimeError: [/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:44192. This is typically caused by a remote worker crashing.
E1121 13:38:53.136000 26644 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 26673) of binary: /v/bin/python3
"""  # noqa: E501


def table(*rows: tuple[int, int, int], root: int) -> str:
    """torchrun's table of (rank, exit code, process id), with the rank of the first observed failure."""

    def row(number: int, one: tuple[int, int, int]) -> str:
        rank, code, pid = one
        signal = {-9: " (SIGKILL)", -15: " (SIGTERM)", -11: " (SIGSEGV)"}.get(code, "")
        return (
            f"[{number}]:\n  time      : 2026-11-21_13:31:06\n  host      : localhost\n"
            f"  rank      : {rank} (local_rank: {rank})\n  exitcode  : {code} (pid: {pid}) {signal}\n"
            f"  error_file: <N/A>\n  traceback : Signal {-code} received by PID {pid}\n"
        )

    others = [one for one in rows if one[0] != root]
    main = next(one for one in rows if one[0] == root)
    return (
        f"E1121 13:31:06.993 19012 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {main[1]}) "
        f"local_rank: {main[0]} (pid: {main[2]}) of binary: /v/bin/python3\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        "=======================================================\nt.py FAILED\n"
        "-------------------------------------------------------\nFailures:\n"
        + ("".join(row(number, one) for number, one in enumerate(others, 1)) or "  <NO_OTHER_FAILURES>\n")
        + "-------------------------------------------------------\nRoot Cause (first observed failure):\n"
        + row(0, main)
        + "=======================================================\n"
    )
