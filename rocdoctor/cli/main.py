"""The command line: arguments in, exit code out. Each command lives in ``rocdoctor.cli.commands``."""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from rocdoctor import __version__
from rocdoctor.host import output
from rocdoctor.service.errors import UsageError, suggestion

EXIT_FINDINGS, EXIT_USAGE, EXIT_BROKEN = 1, 2, 3

COMMANDS = {
    "check": "judge this machine, or evidence of another one",
    "facts": "print what the machine is, as JSON or text",
    "read": "diagnose pasted text: a bug report, a log (- for standard input)",
    "lint": "judge the settings in scripts, profiles and job files, and the advice they follow",
    "setup": "what to do, in order, until this machine trains: steps, commands, and what is done already",
    "fix": "the commands that repair what check finds; --apply runs those that are safe",
    "smoke": "prove that distributed training computes right, mode by mode",
    "recommend": "a training configuration for this machine, with reasons",
    "estimate": "memory and speed of one training configuration",
    "emit": "write that configuration as files for launchers",
    "bundle": "record the evidence in one text file that is safe to post",
    "diff": "what differs between machines, or between two bundles of one",
    "explain": "the manual page of a check",
    "list": "all checks in one line each",
    "tui": "the screens (also without a command on a terminal)",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(message)


def _common(command: str) -> _Parser:
    common = _Parser(add_help=False)
    add = common.add_argument
    add("--from", dest="source", metavar="FILE|DIR|-", help="evidence instead of this machine: bundle, folder, archive")
    add("--add", action="append", default=[], metavar="FILE", help="one more piece of evidence (a kernel log)")
    add("--python", metavar="PATH", help="the interpreter whose torch is examined")
    add(
        "--trust-interpreter",
        action="store_true",
        help="as root: run that interpreter with the rights of root although others can change it",
    )
    add("--json", action="store_true", help="short for --format json")
    add(
        "--format",
        choices=("text", "json", "markdown", "junit", *(["sarif"] if command == "lint" else [])),
        help="how results are printed (text)",
    )
    told = "deadline of one question in seconds (5, and half a second for each GPU beyond 4)"
    add("--timeout", type=_seconds, metavar="S", help=told)
    add("--include-identity", action="store_true", help="do not mask host names, users and addresses")
    add("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")
    add("--quiet", action="store_true", help="findings alone")
    add("--verbose", action="store_true", help="passed and unknown checks too")
    return common


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; building it imports nothing heavy."""
    top = _Parser(
        prog="rocdoctor",
        description="Diagnose this machine for GPU training: what it is, what is wrong, what to do first.",
        epilog="Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 wrong usage, 3 rocdoctor broke.",
    )
    top.add_argument("--version", action="version", version=f"rocdoctor {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, words in COMMANDS.items():
        parents: list[_Parser] = [] if name in ("explain", "list") else [_common(name)]
        one = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".", parents=parents)
        _arguments(name, one)
    return top


def _arguments(name: str, one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    if name in ("check", "read", "lint"):
        threshold = "never" if name == "lint" else "error"
        add(
            "--fail-on",
            choices=("error", "warning", "info", "never"),
            default=threshold,
            help="exit 1 at this severity",
        )
        add("--only", action="append", default=[], metavar="NAME", help="only these checks")
        add("--skip", action="append", default=[], metavar="NAME", help="not these checks")
    if name in ("check", "read"):
        add("--checks", action="append", default=[], metavar="DIR", help="more checks from this folder")
    if name in ("check", "facts", "bundle"):
        add(
            "--pid", type=_pid, metavar="PID", help="judge this running job: its environment, limits, devices and state"
        )
    if name in ("check", "facts", "bundle"):
        add("--wake", action="store_true", help="ask the vendor's tools also where a GPU sleeps (it is left asleep)")
    if name == "check":
        add("names", nargs="*", metavar="NAME", help="checks to run (all)")
        add("--import-torch", action="store_true", help="import torch also where no GPU is seen")
        add("--profile", metavar="FILE", help="what has changed since this profile was made (emit profile)")
    if name == "facts":
        add("--import-torch", action="store_true", help="import torch also where no GPU is seen")
    if name == "read":
        add("file", metavar="FILE|-", help="the text")
    if name == "lint":
        add("files", nargs="+", metavar="FILE|DIR|-", help="scripts, Python, .env files, Dockerfiles, YAML, job files")
        add("--no-machine", action="store_true", help="judge the text alone, not against this machine")
    if name == "diff":
        add("inputs", nargs="+", metavar="FILE|DIR|-", help="two or more bundles, folders, archives or pasted texts")
    if name == "explain":
        add("name", metavar="NAME", help="a check, or advice-<id>")
    if name == "smoke":
        add("modes", nargs="*", metavar="MODE", help="modes to run (the quick set)")
        add("--world", type=int, metavar="N", help="number of ranks (one a GPU; 2 without GPUs)")
        add("--backend", choices=("auto", "nccl", "gloo"), default="auto")
        add("--device", choices=("auto", "cpu"), default="auto")
        sets = one.add_mutually_exclusive_group()
        sets.add_argument("--quick", action="store_true", help="the quick set of modes (this is the default)")
        sets.add_argument("--full", action="store_true", help="all modes, also those that take minutes, and --figures")
        add("--figures", action="store_true", help="measure how fast this machine is (by itself: no modes)")
        add("--soak", type=float, metavar="MINUTES", help="sustained load: what heat does to rate and clock")
        add("--trace", metavar="FILE", help="write a torch.profiler trace of three training steps (with --figures)")
        add("--deadline", type=float, metavar="SECONDS", help="deadline of one mode (30 on the CPU, 120 on GPUs)")
        add("--list", action="store_true", help="print the modes and end")
        more = one.add_argument_group("over several nodes: the same command on each of them, or one srun").add_argument
        more("--nnodes", metavar="N|auto", help="number of nodes; auto: what Slurm says")
        more("--node-rank", type=int, metavar="R", help="this node's number, 0 to N-1 (within srun: its own)")
        more("--rdzv", metavar="HOST:PORT", help="an address of node 0 and a free port there (within srun: by itself)")
        more(
            "--key",
            metavar="KEY",
            help="what node 0 printed (ROCDOCTOR_SMOKE_KEY hides it from other users)",
        )
        more("--key-file", metavar="FILE", help="a file of mode 0600 that holds the key (within srun: not needed)")
        more("--nproc-per-node", type=int, metavar="P", help="ranks a node (one a GPU; 1 without GPUs)")
        more("--wait", type=_seconds, metavar="S", help="how long to wait for the other nodes (60 s, within srun 20 s)")
    if name == "estimate":
        add("spec", metavar="SPEC.yaml", help="the configuration")
        add("--trace", action="store_true", help="trace one step's memory with the torch of --python (no GPU needed)")
    if name == "emit":
        _emitting(one)
    if name in ("recommend", "emit"):
        _planning(one)
    if name == "setup":
        goals = ("pytorch", "rocm", "container", "cluster-node")
        add("--goal", choices=goals, default="pytorch", help="what the machine is for (pytorch)")
        add("--script", metavar="FILE", help="write the steps as a shell script too (mode 0700, for review)")
        add("--force", action="store_true", help="write over a script that exists")
    if name == "fix":
        _fixing(one)
    if name == "bundle":
        add("-o", "--output", metavar="FILE", help="where to write (rocdoctor-<date>-<time>.txt)")
        add("--with-smoke", action="store_true", help="run the quick smoke tests too and record their results")
        add("--with-figures", action="store_true", help="measure how fast this machine is too and record that")
        add("--gzip", action="store_true", help="pack the file (done by itself above 5 MB)")
        add("--show", action="store_true", help="print what would be written and what was masked; write nothing")


def _planning(one: argparse.ArgumentParser) -> None:
    """What is to be trained, and on what."""
    add = one.add_argument_group("what is to be trained").add_argument
    add("--model", metavar="NAME|config.json|k=v,...", help="a known model, its config.json, or its sizes")
    add("--method", choices=("pretrain", "full", "lora", "qlora"), help="how it is trained (pretrain)")
    add("--seq", type=int, metavar="N", help="tokens of a sequence (4096; fine-tuning 2048)")
    add("--global-batch", type=int, metavar="N", help="sequences of one step over all GPUs (left to the plan)")
    add("--goal", choices=("speed", "memory"), default="speed", help="what to aim at (speed)")
    add("--framework", metavar="NAME", help="ddp, fsdp, deepspeed, torchtitan or megatron (the plainest that does it)")
    add("--lora-rank", type=int, metavar="R", help="rank of the adapters (16)")
    more = one.add_argument_group("on what (this machine)").add_argument
    more("--gpus", metavar="8xMI300X", help="a described node in place of this machine")
    more("--nodes", type=int, metavar="N", help="that many such nodes (1)")
    more("--ram", type=float, metavar="GIB", help="main memory of a described node")
    more("--measure", action="store_true", help="measure this machine's rates first (about a minute)")


def _fixing(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("names", nargs="*", metavar="NAME", help="fixes of the findings of these checks (of all)")
    add("--apply", action="store_true", help="run the safe ones that a program can run, each after a question")
    add("--yes", action="store_true", help="apply without questions")
    add("--undo", metavar="FOLDER", help="undo what an earlier --apply did (it printed the folder)")


def _emitting(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    targets = "env torchrun accelerate trainer deepspeed torchtitan megatron slurm kubernetes compose profile"
    add("targets", nargs="+", metavar="TARGET", help=targets.replace(" ", ", "))
    add("-o", "--output", metavar="DIR", help="where to write the files (one file goes to standard output)")
    add("--force", action="store_true", help="write over files that exist")
    add("--script", metavar="FILE", default="train.py", help="the training program that is started (train.py)")
    add("--image", metavar="NAME", help="the container image (kubernetes, compose)")
    add("--job", metavar="NAME", default="train", help="the job's name (slurm, kubernetes, compose)")
    add("--partition", metavar="NAME", help="the partition (slurm)")
    add("--time", metavar="HH:MM:SS", help="the time limit (slurm)")


def run(arguments: Sequence[str], stopped: Callable[[], int | None] = lambda: None) -> int:
    """Run one command line and return its exit code; never shows a traceback unless ROCDOCTOR_DEBUG is set.

    ``stopped`` tells the signal that asked for an end, if one did: what breaks after that broke because of it.
    """
    _prepare_streams()
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _broke(error)
        _drop_output()
        output.note(f"cannot write: {error.strerror}")
        return EXIT_USAGE
    except Exception as error:
        number = stopped()
        return _broke(error) if number is None else 128 + number


def _run(arguments: list[str]) -> int:
    from rocdoctor.cli.terminal import screens_or_report

    try:
        arguments, why = screens_or_report(arguments)
        if why:
            output.note(f"{why}: the report as text instead of the screens")
        if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
            raise UsageError(f"no command '{arguments[0]}'{suggestion(arguments[0], COMMANDS)}; see rocdoctor --help")
        options = parser().parse_args(arguments)
        if options.command is None:
            parser().print_help()
            return EXIT_USAGE
        command: Callable[[argparse.Namespace], int] = import_module(f"rocdoctor.cli.commands.{options.command}").run
        return command(options)
    except UsageError as error:
        output.note(str(error))
        return EXIT_USAGE


def _prepare_streams() -> None:
    """Output that any stream takes: a character that its encoding lacks is written as an escape sequence."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Let the interpreter's own flush at its end go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _broke(error: Exception) -> int:
    if os.environ.get("ROCDOCTOR_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        output.note("out of memory")
    else:
        what = f"{type(error).__name__}: {error}"
        output.note(f"{what[:300]} (ROCDOCTOR_DEBUG=1 shows where; please report it)", "rocdoctor broke:")
    return EXIT_BROKEN


def _seconds(text: str) -> float:
    """A deadline from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.05 <= value <= 3600:  # also false for "nan"
        raise argparse.ArgumentTypeError(f"'{text}' is no time between 0.05 and 3600 seconds")
    return value


def _pid(text: str) -> int:
    """The number of a process from the command line."""
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:12]) < 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' is no process number")
    return int(text)
