"""Measures what the design budgets: medians of whole runs, the interpreter's own start included.

``python -m tools.bench [start|screens|waits|read|masking|tui] [--runs N]`` prints a table: the seconds that passed,
those of the processor (other programs on the machine spoil only the first), and the memory. ``start`` has the commands
and the screens, ``screens`` these alone, ``waits`` what a person waits for on the screens of 8 and 32 recorded GPUs,
``read`` pasted texts of 10 MB by kind, ``masking`` its share of bundles and hostile texts of 10 MB, ``tui`` how long
handlers hold up the screens of a machine of 32 GPUs. Without a word all but ``screens`` and ``waits`` are measured:
these stand among the others, or take minutes. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.bench import texts

_TOOL = [sys.executable, "-m", "rocdoctor"]
_STUCK = "#!/bin/sh\nexec sleep 600\n"
_TEXT_BYTES = 10_000_000
_IDLE_S = 5.0

# Constructed lines; {a} is a digit, {b} a number, {t} a time stamp, {h} 32 hexadecimal digits.
_LOG = (
    "2026-01-02 03:04:{a}5,{b} - INFO - step {b} loss 2.{b} lr 3.0e-4 grad_norm 0.{b} tokens/s {b} mem 23.1GiB",
    "[rank{a}]: iteration {b}/500000 | consumed samples: {b} | elapsed time per iteration (ms): {b}.1",
)
_COMMANDS = (
    "$ rocminfo",
    "user@host:~$ rocm-smi --showtopo",
    "root@node{a}:/workspace# nvidia-smi",
    "$ docker run -it --device=/dev/kfd --device=/dev/dri --shm-size {a}g rocm/pytorch:latest",
    "$ NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=eth{a} torchrun --nproc_per_node {a} train.py",
)
_OUTPUTS = (
    "export HSA_OVERRIDE_GFX_VERSION=10.3.{a}",
    "GPU {a}: NVIDIA GeForce RTX 4090 (UUID: GPU-{h})",
    "[{t}] amdgpu 0000:0{a}:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:{b})",
    "[rank{a}]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate {b}.00 MiB. GPU {a} has a total capacity",
    "RuntimeError: HIP error: invalid device function",
    "host:{b}:{b} [{a}] NCCL INFO Channel 0{a}/0 : {a}[1000] -> 1[2000] via P2P/IPC",
    "Driver version: 535.{a}29.03   CUDA Version: 12.{a}",
    "Segmentation fault (core dumped)",
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3.1{a}/site-packages/torch/cuda/__init__.py", line {b}, in _lazy_init',
    "ImportError: libamdhip64.so.{a}: cannot open shared object file: No such file or directory",
)
_SENTENCES = (
    "I have a Radeon RX 7900 XTX and a RX 6700 XT in this machine, with ROCm 6.{a}.1 and kernel 6.{a}.0-generic.",
    "It works on my colleague's machine with a RTX 3090. I tried HSA_ENABLE_SDMA={a} but it did not help.",
    "PyTorch version: 2.{a}.0+rocm6.1 on Ubuntu 22.04 with python 3.1{a}",
    "gfx90{a} and gfx1100 are used by the MI210 here, and setting NCCL_P2P_DISABLE={a} changes nothing.",
    "### Environment {b}",
)


def _log(random_: random.Random) -> list[str]:
    return random_.choices(_LOG, (50, 1), k=100)


def _transcript(random_: random.Random) -> list[str]:
    return random_.choices((*_COMMANDS, *_OUTPUTS, *_SENTENCES), k=100)


def _thread(random_: random.Random) -> list[str]:
    """Sentences, then commands with outputs in a code block."""
    block = [random_.choice(_COMMANDS), *random_.choices(_OUTPUTS, k=6)]
    return [*random_.choices((*_SENTENCES, *_OUTPUTS), k=6), "```", *block, "```", ""]


@cache
def _told() -> tuple[str, ...]:
    """The texts that the tests read."""
    files = sorted((Path(__file__).parents[2] / "tests/texts").rglob("*.txt"))
    return tuple(path.read_text(encoding="utf-8").replace("{", "{{").replace("}", "}}") for path in files)


def _reports(random_: random.Random) -> list[str]:
    """A report of many, with other numbers."""

    def other(number: re.Match[str]) -> str:
        return "".join(random_.choices("0123456789", k=len(number.group()))) if random_.random() < 0.5 else number[0]

    return re.sub(r"\d{3,}", other, random_.choice(_told())).split("\n")


_TEXTS = {
    "a training log": (_log, "1.2 s"),
    "commands, cards, settings, errors": (_transcript, "2 s"),
    "the same as a thread with code blocks": (_thread, "2 s"),
    "reports of many kinds, with other numbers": (_reports, "2 s"),
}


def text_of(kind: str, size: int = _TEXT_BYTES) -> str:
    """A constructed text of one of the kinds, the same at each call."""
    random_ = random.Random(kind)
    pieces: list[str] = []
    length = 0
    while length < size:
        for line in _TEXTS[kind][0](random_):
            number = random_.getrandbits(128)
            filled = line.format(a=number % 10, b=number % 9973, t=f"{number % 10**10 / 1e6:12.6f}", h=f"{number:032x}")
            pieces.append(filled)
            length += len(filled) + 1
    return "\n".join(pieces)


class Figures(NamedTuple):
    """Medians of the seconds passed and of those of the processor, and the largest resident set in MiB."""

    wall_s: float
    cpu_s: float
    memory_mib: float


def measure(command: list[str], runs: int, environment: dict[str, str] | None = None) -> Figures:
    """The figures of some runs of a command after one to warm up, output thrown away.

    Byte code is cached as on a user's machine, whatever this shell says of that.
    """
    environment = dict(os.environ if environment is None else environment)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds, busy, peaks = [], [], []
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
    for _ in range(runs):
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        seconds.append(time.perf_counter() - began)
        busy.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1024)
    return Figures(statistics.median(seconds), statistics.median(busy), max(peaks))


def _row(what: str, budget: str, found: Figures) -> None:
    print(f"{what:<52} {budget:>16}  {found.wall_s:6.2f} s {found.cpu_s:6.2f} s  {found.memory_mib:5.0f} MiB")


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", nargs="?", choices=("start", "screens", "waits", "read", "masking", "tui"))
    options.add_argument("--runs", type=int, default=5)
    chosen = options.parse_args()
    if chosen.what not in ("masking", "tui"):
        print(f"{'medians of ' + str(chosen.runs) + ' runs':<52} {'budget':>16}    passed  busy")
    if chosen.what in (None, "start"):
        _start(chosen.runs)
    if chosen.what == "screens":
        _screens(chosen.runs)
    if chosen.what == "waits":
        _waits(chosen.runs)
    if chosen.what in (None, "read"):
        _read(chosen.runs)
    if chosen.what in (None, "masking"):
        _masking(chosen.runs)
    if chosen.what in (None, "tui"):
        _tui()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"(this benchmark itself: {own:.0f} MiB)")


def _read(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        for kind, (_, budget) in _TEXTS.items():
            path.write_text(text_of(kind))
            _row(f"read 10 MB: {kind}", budget, measure([*_TOOL, "read", str(path)], runs))
        for kind in texts.KINDS:
            path.write_text(texts.text_of(kind))
            _row(f"read 10 MB: {kind}", "2 s", measure([*_TOOL, "read", str(path)], runs))


# Prints the seconds of the processor that a whole bundle takes, and those of them that masking takes.
_MASKED_BUNDLE = """
import sys, time
from rocdoctor.cli.main import run
from rocdoctor.host import recorder
spent = 0.0
plain = recorder.mask_answer
def timed(answer, masker):
    global spent
    began = time.process_time()
    try:
        return plain(answer, masker)
    finally:
        spent += time.process_time() - began
recorder.mask_answer = timed
run(["bundle", "--quiet", "--from", sys.argv[1], "-o", sys.argv[2]])
print(time.process_time(), spent)
"""
_HOSTILE = ("key=", "://a:", "token: ", "a@b.", "Aa0/", "\n")
_MASKED_TEXT = """
import sys, time
from rocdoctor.host.masking.masker import Masker
text = sys.argv[1] * (int(sys.argv[2]) // len(sys.argv[1]))
Masker().mask_text("warm up")
began = time.process_time()
Masker().mask_text(text)
print((time.process_time() - began) / (len(text) / 1e6))
"""


def _numbers(program: str, *arguments: str) -> list[float]:
    argv = [sys.executable, "-c", program, *arguments]
    said = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return [float(word) for word in said.split()]


def _masking(runs: int) -> None:
    print(f"{'masking, seconds of the processor':<52} {'budget':>16}  bundle masking   share")
    with tempfile.TemporaryDirectory() as folder:
        for capture in sorted(Path(__file__).parents[2].glob("fixtures/*8gpu*.capture")):
            rows = [_numbers(_MASKED_BUNDLE, str(capture), f"{folder}/{capture.stem}-{run}") for run in range(runs + 1)]
            total, spent = (statistics.median(column) for column in zip(*rows[1:], strict=True))
            print(f"bundle of {capture.stem:<42} {'20 %':>16}  {total:5.2f} s {spent:5.2f} s  {spent / total:6.1%}")
    for piece in _HOSTILE:
        (rate,) = _numbers(_MASKED_TEXT, piece, str(_TEXT_BYTES))
        print(f"10 MB of {piece!r:<43} {'0.3 s/MB':>16}  {rate:5.2f} s/MB")


def _start(runs: int) -> None:
    _row("rocdoctor --help", "0.15 s", measure([*_TOOL, "--help"], runs))
    _row("rocdoctor explain gpu-without-driver", "0.15 s", measure([*_TOOL, "explain", "gpu-without-driver"], runs))
    _row("rocdoctor list", "0.15 s", measure([*_TOOL, "list"], runs))
    _row("rocdoctor check, this machine", "0.7 s, 60 MiB", measure([*_TOOL, "check"], runs))
    big = sorted(Path(__file__).parents[2].glob("fixtures/*8gpu*.capture"))
    for capture in big[:3]:
        _row(f"replay of {capture.stem}", "0.3 s", measure([*_TOOL, "check", "--from", str(capture)], runs))
    _screens(runs)
    with tempfile.TemporaryDirectory() as folder:
        stuck = Path(folder) / "dmesg"
        stuck.write_text(_STUCK)
        stuck.chmod(0o755)
        # As root only folders of root are searched for programs: the folder is ours, so it is found.
        environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
        _row(
            "check with one stuck tool, --timeout 2",
            "deadline + 0.7 s",
            measure([*_TOOL, "check", "--timeout", "2"], 1, environment),
        )


def _screens(runs: int) -> None:
    from tools.bench import screens as bench_screens

    _row("first frame of the screens", "0.4 s", Figures(*bench_screens.first_frame(runs)))
    share = bench_screens.idle_share(_IDLE_S)
    print(f"{f'screens at rest, {_IDLE_S:g} s':<52} {'2 % of a core':>16}  {share:8.1%}")


def _waits(runs: int) -> None:
    from rocdoctor.host.evidence.capture import write
    from tools.bench import screens as bench_screens
    from tools.bench.handlers import FIXTURE, many_gpus

    with tempfile.TemporaryDirectory() as folder:
        many = Path(folder) / "32.capture"
        capture = many_gpus().capture
        many.write_text(write(capture.answers.values(), capture.headers), encoding="utf-8")
        for size in ((80, 24), (200, 60)):
            for one in bench_screens.waits(runs, {"8 GPUs": FIXTURE, "32 GPUs": many}, size):
                what = f"{size[0]}x{size[1]}, {one.what}"
                print(f"{what:<52} {one.budget:>16}  {one.wall_s:6.2f} s {one.cpu_s:6.2f} s")


def _tui() -> None:
    from tools.bench import handlers as bench_handlers

    bench_handlers.report()


if __name__ == "__main__":
    main()
