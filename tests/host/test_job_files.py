"""Dumps and logs that the ranks of a job left: folders, several --add, pickles, and texts that hold dumps."""

from __future__ import annotations

import json
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.collect.run import collect_run
from rocdoctor.host.open import InputError, add_answers, open_evidence
from rocdoctor.host.text import open_text
from tests.run_kit import RAISED, dump, entry

ONE = dump([entry(1), entry(2, state="started")])
OTHER = dump([entry(1)])


def files(folder: Path) -> list[Path]:
    made = [folder / "nccl_trace_rank_0", folder / "nccl_trace_rank_1"]
    for path, of in zip(made, (ONE, OTHER), strict=True):
        path.write_text(json.dumps(of))
    return made


def test_a_folder_of_dumps_is_one_text(tmp_path: Path) -> None:
    files(tmp_path)
    host = open_evidence(str(tmp_path))
    assert host.kind == "text"
    assert [(one.rank, one.file) for one in collect_run(host).records] == [
        (0, "nccl_trace_rank_0"), (1, "nccl_trace_rank_1"),
    ]  # fmt: skip


def test_logs_and_error_files_of_torchrun(tmp_path: Path) -> None:
    for rank, text in ((0, "fine\n"), (1, RAISED)):
        (tmp_path / "attempt_0" / str(rank)).mkdir(parents=True)
        (tmp_path / "attempt_0" / str(rank) / "stderr.log").write_text(text)
    run = collect_run(open_evidence(str(tmp_path)))
    assert [one.rank for one in run.errors] == [1, 0]


def test_the_files_of_a_machine_are_no_job(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    files(tmp_path)
    assert open_evidence(str(tmp_path)).kind == "folder"


def test_links_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "nccl_trace_rank_0").symlink_to(files(outside)[0])
    (inside / "deeper").symlink_to(outside)
    with pytest.raises(InputError, match="in: "):
        open_evidence(str(inside))


def test_each_rank_by_an_add_of_its_own(tmp_path: Path) -> None:
    first, second = files(tmp_path)
    records = collect_run(add_answers(open_evidence(str(first)), [str(second)])).records
    assert [one.rank for one in records] == [0, 1]
    records = collect_run(add_answers(open_text("all is well", "empty"), [str(first), str(second)])).records
    assert [one.rank for one in records] == [0, 1]


def test_a_pickle_is_answered_with_a_command_that_works(tmp_path: Path) -> None:
    for rank, of in enumerate((ONE, OTHER)):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(of, protocol=2))
    with pytest.raises(InputError, match="never loaded") as raised:
        open_evidence(str(tmp_path / "nccl_trace_rank_0"))
    words = str(raised.value)
    words = words[words.index("python3 -c") : words.index(" > fr.json")]
    program, glob = shlex.split(words)[2:]
    assert glob == "nccl_trace_rank_*"
    command = [sys.executable, "-c", program, *sorted(str(path) for path in tmp_path.glob(glob))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [one.rank for one in collect_run(open_text(done.stdout, "fr.json")).records] == [0, 1]
    with pytest.raises(InputError, match="never loaded"):
        open_evidence(str(tmp_path))
    with pytest.raises(InputError, match="never loaded"):
        add_answers(open_text("all is well", "empty"), [str(tmp_path / "nccl_trace_rank_1")])


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("this was run",)


def test_the_command_runs_nothing_of_a_hostile_pickle(tmp_path: Path) -> None:
    path = tmp_path / "trace_rank_0"
    path.write_bytes(pickle.dumps({"entries": _Runs()}, protocol=2))
    with pytest.raises(InputError) as raised:
        open_evidence(str(path))
    program = shlex.split(str(raised.value).split("at once: ")[1].split(" > fr.json")[0])[2]
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "this was run" not in done.stdout


def test_lines_of_a_text_stay_where_they_are_around_a_dump() -> None:
    text = f"the job hangs\n==> nccl_trace_rank_0 <==\n{json.dumps(ONE, indent=1)}\n==> nccl_trace_rank_1 <==\n"
    text += f"{json.dumps(OTHER)}\n{RAISED}"
    host = open_text(text, "text")
    run = collect_run(host)
    assert [one.rank for one in run.records] == [0, 1]
    assert run.records[0].line == 3
    assert text.split("\n")[run.errors[0].line - 1].startswith("[rank1]: ValueError")
    assert "profiling_name" not in host.ask("text").text and "the job hangs" in host.ask("text").text


def test_a_quoted_log_is_not_the_job() -> None:
    quoted = "My run is fine. Somebody wrote:\n\n" + "".join(f"> {line}\n" for line in RAISED.splitlines())
    assert collect_run(open_text(quoted + "\nBut here all is well.\n" * 40, "text")).errors == ()
