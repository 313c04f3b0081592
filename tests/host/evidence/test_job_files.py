"""Dumps and logs that the ranks of a job left: folders, several --add, pickles, and texts that hold dumps."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.collect.jobs.job_logs import collect_run
from rocdoctor.paste import open_text
from rocdoctor.service.errors import InputError
from rocdoctor.service.evidence import add_answers, open_evidence
from tests.kit import ROOT
from tests.run_kit import RAISED, dump, entry
from tests.shell_box import BASH, needs_bash

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
    assert [one.rank for one in collect_run(host).records] == [0, 1]


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
    words = words[words.index("python3 -I -c") : words.index(" | (cd /")]
    program, glob = shlex.split(words)[3:]
    assert glob == "nccl_trace_rank_*"
    command = [sys.executable, "-I", "-c", program, *sorted(str(path) for path in tmp_path.glob(glob))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [one.rank for one in collect_run(open_text(done.stdout, "fr.json")).records] == [0, 1]
    with pytest.raises(InputError, match="never loaded"):
        open_evidence(str(tmp_path))
    with pytest.raises(InputError, match="never loaded"):
        add_answers(open_text("all is well", "empty"), [str(tmp_path / "nccl_trace_rank_1")])


_HOSTILE_MODULES = (
    "json",
    "pickle",
    "sys",
    "os",
    "site",
    "usercustomize",
    "sitecustomize",
    "encodings",
    "codecs",
    "struct",
    "re",
    "_compat_pickle",
    "copyreg",
)


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("this was run",)


def test_the_command_runs_nothing_of_a_hostile_pickle(tmp_path: Path) -> None:
    path = tmp_path / "trace_rank_0"
    path.write_bytes(pickle.dumps({"entries": _Runs()}, protocol=2))
    with pytest.raises(InputError) as raised:
        open_evidence(str(path))
    program = shlex.split(str(raised.value).split("at once: ")[1].split(" | (cd /")[0])[3]
    done = subprocess.run([sys.executable, "-I", "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "this was run" not in done.stdout


@needs_bash
@pytest.mark.parametrize("searched", [{}, {"PYTHONPATH": ":"}, {"PYTHONPATH": "."}], ids=["", "empty", "relative"])
def test_the_command_runs_and_overwrites_nothing_in_the_folder_where_it_is_typed(
    tmp_path: Path, searched: dict[str, str]
) -> None:
    """It is typed where the dumps lie, and whoever sent them named all the other files there."""
    folder, programs, mark = tmp_path / "dumps", tmp_path / "bin", tmp_path / "was run"
    folder.mkdir()
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    # As pip installs it: Python looks in PYTHONPATH after the folder of the program.
    ours = f"import sys; sys.path.append({str(ROOT)!r}); from rocdoctor.__main__ import main; main()"
    (programs / "rocdoctor").write_text(f"#!{sys.executable}\n{ours}\n")
    (programs / "rocdoctor").chmod(0o755)
    for rank, of in enumerate((ONE, OTHER)):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(of, protocol=2))
    for name in _HOSTILE_MODULES:
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})\n")
    for name in ("python3", "rocdoctor"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {shlex.quote(str(mark))}\n")
        (folder / name).chmod(0o755)
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for name in ("fr.json", "out.json", "rocdoctor.txt"):
        (folder / name).symlink_to(mine)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(InputError) as raised:
        open_evidence(str(folder))
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        [BASH or "bash", "-c", str(raised.value).split("at once: ")[1]],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": path, "HOME": str(tmp_path), **searched},
        check=False,
    )
    assert "rank" in done.stdout, done.stderr
    assert not mark.exists()
    assert mine.read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == before


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
