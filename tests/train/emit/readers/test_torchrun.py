from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.torchrun import files
from rocdoctor.train.recommend.environment import settings
from rocdoctor.train.recommend.plan import Fleet
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers.venvs import reader, run

pytestmark = pytest.mark.reader

# Each rank adds its number to those of the others and writes down what it is.
PROGRAM = """
import json, os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
said = {"rank": dist.get_rank(), "world": dist.get_world_size(), "sum": total.item(), "words": sys.argv[1:],
        "node": int(os.environ["GROUP_RANK"]), "local": int(os.environ["LOCAL_RANK"]),
        "threads": os.environ["OMP_NUM_THREADS"]}
with open(os.path.join(os.environ["SAID"], f"{said['rank']}.json"), "w") as file:
    json.dump(said, file)
dist.barrier()
# Some builds abort at their exit after all work is done.
sys.stdout.flush()
os._exit(int(os.environ.get("ENDS_WITH", "0")))
"""
# A node with 4 cores, so that each of its two ranks gets a number of threads that is not torchrun's own.
SMALL = replace(fleet("RTX 4090", 2, vendor="cpu"), cpu_cores=4, cpu_threads=4)
ORDER = Order("my train.py", ("--name", "it's $HOME"))


def said(folder: Path) -> list[Any]:
    """What the ranks wrote down, in order."""
    return sorted((json.loads(path.read_text()) for path in folder.glob("*.json")), key=lambda one: one["rank"])


def _written(where: Fleet, folder: Path, port: int | None = None) -> Path:
    made = plan(where, "llama-3.2-1b", seq=512)
    (file,) = files(replace(made, environment=settings(made)), ORDER)
    (folder / ORDER.script).write_text(PROGRAM)
    script = folder / file.name
    script.write_text(file.text if port is None else file.text.replace(":29500", f":{port}"))
    return script


def _variables(folder: Path) -> dict[str, str]:
    return {"PATH": f"{reader('torch').parent}:{os.environ['PATH']}", "SAID": str(folder), "GLOO_SOCKET_IFNAME": "lo"}


def test_two_ranks_really_run(tmp_path: Path) -> None:
    done = run(["bash", _written(SMALL, tmp_path)], cwd=tmp_path, environment=_variables(tmp_path))
    assert done.returncode == 0, done.stderr
    ranks = said(tmp_path)
    assert [(one["rank"], one["world"], one["sum"]) for one in ranks] == [(0, 2, 3.0), (1, 2, 3.0)]
    assert all(one["words"] == ["--name", "it's $HOME"] and one["threads"] == "2" for one in ranks)


def test_a_rank_that_fails_fails_the_script(tmp_path: Path) -> None:
    variables = {**_variables(tmp_path), "ENDS_WITH": "3"}
    done = run(["bash", _written(SMALL, tmp_path)], cwd=tmp_path, environment=variables)
    assert done.returncode != 0
    assert "exitcode  : 3" in done.stderr


def test_two_nodes_meet_and_keep_their_numbers(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    script = _written(replace(SMALL, nodes=2, seats=SMALL.seats[:1]), tmp_path, port)
    ended: dict[int, Any] = {}

    def node(number: int) -> None:
        place = {"MASTER_ADDR": "127.0.0.1", "NODE_RANK": str(number)}
        ended[number] = run(
            ["env", *(f"{name}={value}" for name, value in place.items()), "bash", script],
            cwd=tmp_path,
            environment=_variables(tmp_path),
        )

    both = [Thread(target=node, args=(number,)) for number in (1, 0)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [ended[number].returncode for number in (0, 1)] == [0, 0], ended
    assert [(one["rank"], one["node"], one["sum"]) for one in said(tmp_path)] == [(0, 0, 3.0), (1, 1, 3.0)]


def test_a_word_that_torchrun_does_not_know_is_refused(tmp_path: Path) -> None:
    script = _written(SMALL, tmp_path)
    for right, wrong in (("--nproc-per-node 2", "--nproc-per-nod3 2"), ("--nproc-per-node 2", "--nproc-per-node two")):
        text = script.read_text()
        assert right in text
        script.write_text(text.replace(right, wrong))
        done = run(["bash", script], cwd=tmp_path, environment=_variables(tmp_path))
        assert done.returncode != 0
        script.write_text(text)
    assert said(tmp_path) == []
