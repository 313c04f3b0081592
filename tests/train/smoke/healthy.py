"""``python -m tests.train.smoke.healthy [RUNS] [NAME...]``: healthy runs over settings; each fault is a false alarm.

A setting is a way to start the same command: variables, a wrapping command, or a file that Python runs at its start.
Each run takes the next part of the modes, so that the settings together see all of them. ``python -m
tests.train.smoke.healthy 200`` is the whole series. Printed are each run that is not as it should be, and at the end:
settings, those that this machine cannot make, runs, false alarms, processes, files and shared memory left behind. Other
smoke tests must not run beside it: what they have in /dev/shm would be counted.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocdoctor.train.smoke.worker.mode import all_modes
from tests.train.smoke.launch_kit import running_with

_LIMIT_S = 400.0
_EACH = 9  # modes of a run
_SLOW = ("compute",)
_NOTHING = subprocess.DEVNULL
_OURS = ("rocdoctor-smoke",)
_LEFT = {"left": "processes", "files": "files", "shared memory": "segments of shared memory"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """How the command is started: ``around`` it, with ``variables``, and ``code`` that Python runs at its start.

    In all of them FOLDER is a new folder of the run.
    """

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    around: tuple[str, ...] = ()
    code: str = ""
    without: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    world: int = 2


def _shell(words: str) -> tuple[str, ...]:
    return ("bash", "-c", f'{words}; exec "$@"', "bash")


def _mounted(words: str) -> tuple[str, ...]:
    return ("unshare", "-m", "bash", "-c", f'{words} && exec "$@"', "bash")


def _variables() -> list[Setting]:
    """One variable each."""
    rows = """
    OMP_NUM_THREADS=1 OMP_NUM_THREADS=2 OMP_NUM_THREADS=64 MKL_NUM_THREADS=3 OMP_PROC_BIND=close OMP_PLACES=cores
    OMP_WAIT_POLICY=active OMP_SCHEDULE=dynamic OMP_DYNAMIC=true OMP_STACKSIZE=64k OMP_MAX_ACTIVE_LEVELS=4
    KMP_AFFINITY=compact GOMP_CPU_AFFINITY=0 MKL_DYNAMIC=FALSE MKL_CBWR=COMPATIBLE MKL_VERBOSE=1 ONEDNN_VERBOSE=1
    ONEDNN_MAX_CPU_ISA=SSE41 ATEN_CPU_CAPABILITY=default TORCH_SHOW_CPP_STACKTRACES=1 TORCH_CPP_LOG_LEVEL=INFO
    TORCH_LOGS=+all TORCH_LOGS=+distributed,+dynamo TORCH_DISTRIBUTED_DEBUG=INFO TORCH_DISTRIBUTED_DEBUG=DETAIL
    TORCH_COMPILE_DISABLE=1 TORCHDYNAMO_DISABLE=1 TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 TORCHINDUCTOR_COMPILE_THREADS=1
    TORCHINDUCTOR_CACHE_DIR=FOLDER/none TORCH_TRACE=FOLDER/trace TORCH_FR_BUFFER_SIZE=20 TORCH_NCCL_TRACE_BUFFER_SIZE=20
    TORCH_NCCL_BLOCKING_WAIT=1 NCCL_ASYNC_ERROR_HANDLING=0 NCCL_DEBUG=TRACE NCCL_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo
    TP_SOCKET_IFNAME=lo TORCH_GLOO_LAZY_INIT=1 GLOO_DEVICE_TRANSPORT=TCP USE_LIBUV=0 TORCH_DEVICE_BACKEND_AUTOLOAD=0
    PYTHONHASHSEED=0 PYTHONHASHSEED=random PYTHONDONTWRITEBYTECODE=1 PYTHONOPTIMIZE=1 PYTHONOPTIMIZE=2
    PYTHONUNBUFFERED=1 PYTHONDEVMODE=1 PYTHONMALLOC=debug PYTHONMALLOC=malloc PYTHONFAULTHANDLER=1
    PYTHONTRACEMALLOC=5 PYTHONUTF8=1
    PYTHONIOENCODING=latin-1 PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONWARNINGS=error PYTHONVERBOSE=1
    PYTHONPROFILEIMPORTTIME=1 PYTHONASYNCIODEBUG=1 PYTHONPYCACHEPREFIX=FOLDER/cache PYTHONINTMAXSTRDIGITS=640
    MALLOC_ARENA_MAX=1 MALLOC_PERTURB_=85 MALLOC_CHECK_=3 MALLOC_TRIM_THRESHOLD_=0 MALLOC_MMAP_THRESHOLD_=4096
    MALLOC_TOP_PAD_=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 GLIBC_TUNABLES=glibc.malloc.hugetlb=1 LD_BIND_NOW=1
    LD_DEBUG=statistics THP_MEM_ALLOC_ENABLE=1 LC_ALL=C LC_ALL=POSIX LANG=de_DE.UTF-8 LC_ALL=tr_TR LC_NUMERIC=de_DE
    TZ=Pacific/Kiritimati TZ=nonsense TERM=dumb COLUMNS=20 CUDA_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES=-1
    CUDA_VISIBLE_DEVICES=7 HIP_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=0,1 HSA_OVERRIDE_GFX_VERSION=10.3.0
    PYTORCH_ALLOC_CONF=expandable_segments:True PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32
    PYTORCH_HIP_ALLOC_CONF=backend:native CUBLAS_WORKSPACE_CONFIG=:4096:8 NVIDIA_TF32_OVERRIDE=0
    TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 TORCH_FORCE_WEIGHTS_ONLY_LOAD=1
    RANK=3 WORLD_SIZE=8 LOCAL_RANK=5 MASTER_ADDR=203.0.113.9 MASTER_PORT=1 SLURM_PROCID=1 OMPI_COMM_WORLD_RANK=1
    TORCHELASTIC_RUN_ID=none HOME=/nonexistent HOME= XDG_CACHE_HOME=/proc USER= LOGNAME= PATH=/usr/bin:/bin SHELL=
    http_proxy=http://203.0.113.9:1 ALL_PROXY=socks5://203.0.113.9:1 no_proxy=* CI=true DEBUG=1 ACCELERATE_USE_CPU=true
    DS_ACCELERATOR=cpu TOKENIZERS_PARALLELISM=true WANDB_MODE=disabled KINETO_LOG_LEVEL=0 TORCH_WARN_ONCE=0
    """
    return [Setting(row, {row.partition("=")[0]: row.partition("=")[2]}) for row in rows.split()]


_CODE = {
    "default dtype float64": "import torch\ntorch.set_default_dtype(torch.float64)",
    "default dtype bfloat16": "import torch\ntorch.set_default_dtype(torch.bfloat16)",
    "default device meta": "import torch\ntorch.set_default_device('meta')",
    "deterministic": "import torch\ntorch.use_deterministic_algorithms(True)",
    "deterministic, memory filled": "import torch\ntorch.use_deterministic_algorithms(True)\n"
    "torch.utils.deterministic.fill_uninitialized_memory = True",
    "matmul precision medium": "import torch\ntorch.set_float32_matmul_precision('medium')",
    "flush denormal": "import torch\ntorch.set_flush_denormal(True)",
    "anomaly mode": "import torch\ntorch.autograd.set_detect_anomaly(True)",
    "no grad": "import torch\ntorch.set_grad_enabled(False)",
    "no mkldnn": "import torch\ntorch.backends.mkldnn.enabled = False",
    "no flash attention": "import torch\ntorch.backends.cuda.enable_flash_sdp(False)",
    "math attention alone": "import torch\ntorch.backends.cuda.enable_flash_sdp(False)\n"
    "torch.backends.cuda.enable_mem_efficient_sdp(False)",
    "threads of torch 8": "import torch\ntorch.set_num_threads(8)",
    "interop threads 1": "import torch\ntorch.set_num_interop_threads(1)",
    "spawn": "import multiprocessing\nmultiprocessing.set_start_method('spawn')",
    "forkserver": "import multiprocessing\nmultiprocessing.set_start_method('forkserver')",
    "file_system sharing": "import torch.multiprocessing as m\nm.set_sharing_strategy('file_system')",
    "seeded": "import random, torch\nrandom.seed(1)\ntorch.manual_seed(7)",
    "garbage collector off": "import gc\ngc.disable()",
    "garbage collector eager": "import gc\ngc.set_threshold(50, 2, 2)",
    "recursion limit 300": "import sys\nsys.setrecursionlimit(300)",
    "switch interval": "import sys\nsys.setswitchinterval(1e-6)",
    "a thread that works": "import threading\n"
    "threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(int, 1)], daemon=True).start()",
    "excepthook": "import sys\nsys.excepthook = lambda *_: None",
    "logging at debug": "import logging\nlogging.basicConfig(level=0)",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')",
    "tensors print short": "import torch\ntorch.set_printoptions(precision=1, sci_mode=True)",
    "future overwrite": "import torch\ntorch.__future__.set_overwrite_module_params_on_conversion(True)",
    "swap parameters": "import torch\ntorch.__future__.set_swap_module_params_on_conversion(True)",
    "compiled autograd": "import torch._dynamo\ntorch._dynamo.config.compiled_autograd = True",
    "socket time limit": "import socket\nsocket.setdefaulttimeout(0.2)",
}

_LIMITS = {
    "cpu of one": ("taskset", "-c", "0"),
    "nice 19": ("nice", "-n", "19"),
    "idle class": ("chrt", "--idle", "0"),
    "batch class": ("chrt", "--batch", "0"),
    "io idle": ("ionice", "-c", "3"),
    "umask 077": _shell("umask 077"),
    "umask 000": _shell("umask 000"),
    "umask 777": _shell("umask 777"),
    "stdin closed": _shell("exec 0<&-"),
    "stdin from a pipe": ("bash", "-c", 'yes | "$@"', "bash"),
    "stderr closed": _shell("exec 2>&-"),
    "stdin and stderr closed": _shell("exec 0<&- 2>&-"),
    "nohup": ("nohup",),
    "setsid": ("setsid", "-w"),
    "SIGCHLD ignored": _shell("trap '' CHLD"),
    "SIGPIPE and SIGTERM ignored": _shell("trap '' PIPE TERM"),
    "SIGHUP, SIGUSR1 and SIGUSR2 ignored": _shell("trap '' HUP USR1 USR2"),
    "files 64": ("prlimit", "--nofile=64"),
    "files 4096": ("prlimit", "--nofile=4096"),
    "no core": ("prlimit", "--core=0"),
    "core unlimited": ("prlimit", "--core=unlimited"),
    "stack 256 KiB": ("prlimit", "--stack=262144"),
    "stack unlimited": ("prlimit", "--stack=unlimited"),
    "memlock 0": ("prlimit", "--memlock=0"),
    "address space 8 GB": ("prlimit", "--as=8000000000"),
    "processes 80": ("prlimit", "--nproc=80"),
    "file size 64 MB": ("prlimit", "--fsize=67108864"),
    "no message queues, no locks": ("prlimit", "--msgqueue=0", "--locks=0"),
    "pid namespace": ("unshare", "-pf", "--mount-proc", "--kill-child"),
    "ipc namespace": ("unshare", "-i"),
    "uts namespace, other name": ("unshare", "-u", "bash", "-c", 'hostname no-such-host && exec "$@"', "bash"),
    "net namespace with lo alone": ("unshare", "-n", "bash", "-c", 'ip link set lo up && exec "$@"', "bash"),
    "user namespace": ("unshare", "-U", "-r"),
    "cgroup namespace": ("unshare", "-C"),
    "shm of 1 MB": _mounted("mount -t tmpfs -o size=1m tmpfs /dev/shm"),
    "shm of 64 MB": _mounted("mount -t tmpfs -o size=64m tmpfs /dev/shm"),
    "shm noexec": _mounted("mount -t tmpfs -o size=1g,noexec,nosuid,nodev tmpfs /dev/shm"),
    "tmp noexec": _mounted("mkdir FOLDER/t && mount -t tmpfs -o noexec tmpfs FOLDER/t && export TMPDIR=FOLDER/t"),
    "hidepid": _mounted("mount -t proc -o hidepid=2 proc /proc"),
    "read-only sys": _mounted("mount -o remount,bind,ro /sys"),
    "read-only HOME": _mounted("mkdir FOLDER/h && mount -t tmpfs -o ro tmpfs FOLDER/h && export HOME=FOLDER/h"),
    "no sys": _mounted("mount -t tmpfs tmpfs /sys"),
    "no hosts file": _mounted("mount --bind /dev/null /etc/hosts"),
    "no resolv.conf": _mounted("mount --bind /dev/null /etc/resolv.conf"),
    "TMPDIR with spaces": _shell("mkdir 'FOLDER/a b  c'; export TMPDIR='FOLDER/a b  c'"),
    "TMPDIR long": _shell(f"export TMPDIR=FOLDER/{'d' * 100}/{'e' * 60}; mkdir -p $TMPDIR"),
    "TMPDIR with umlauts": _shell("mkdir FOLDER/zwölf; export TMPDIR=FOLDER/zwölf LC_ALL=C"),
    "TMPDIR a link": _shell("mkdir FOLDER/real; ln -s FOLDER/real FOLDER/link; export TMPDIR=FOLDER/link"),
    "TMPDIR in shm": _shell("export TMPDIR=/dev/shm"),
    "TMPDIR that is not there": _shell("export TMPDIR=FOLDER/none"),
    "working folder that is gone": _shell("mkdir FOLDER/gone; cd FOLDER/gone; rmdir FOLDER/gone"),
    "working folder with torch.py": _shell(
        "mkdir FOLDER/w; cd FOLDER/w; for n in torch random json socket select; do echo 1/0 > $n.py; done"
    ),
    "nothing in the environment": ("env", "-i", "PATH=/usr/bin:/bin"),
    "no capabilities": ("setpriv", "--bounding-set=-all", "--inh-caps=-all"),
    "no new privileges": ("setpriv", "--no-new-privs"),
    "other group": ("setpriv", "--regid", "65534", "--clear-groups"),
    "a year ahead": ("faketime", "-f", "+365d"),
    "clock twice as fast": ("faketime", "-f", "+0 x2"),
    "memory cgroup 1500 MB": _shell(
        "d=/sys/fs/cgroup/memory/$(basename FOLDER); mkdir $d && echo 1500m > $d/memory.limit_in_bytes; "
        "echo $$ > $d/cgroup.procs"
    ),
    "cpu cgroup half": _shell(
        "d=/sys/fs/cgroup/cpu/$(basename FOLDER); mkdir $d && echo 50000 > $d/cpu.cfs_quota_us; "
        "echo $$ > $d/cgroup.procs"
    ),
    "pids cgroup 60": _shell(
        "d=/sys/fs/cgroup/pids/$(basename FOLDER); mkdir $d && echo 60 > $d/pids.max; echo $$ > $d/cgroup.procs"
    ),
    "under load": _shell(
        "for i in 1 2 3 4; do prlimit --cpu=120 sh -c 'while :; do :; done' & done >/dev/null; "
        "trap 'kill $(jobs -p)' EXIT; \"$@\"; exit $?"
    ),
    "under strace-like stops": _shell(
        "(p=$$; sleep 4; for i in 1 2 3 4 5 6; do kill -STOP $p; sleep 0.3; kill -CONT $p; sleep 0.4; done) "
        "2>/dev/null </dev/null >/dev/null & true"
    ),
}


def settings() -> list[Setting]:
    """All of them; the order mixes the kinds."""
    libraries = Path("/usr/lib").glob("*/lib*malloc*.so.?")
    kinds = [
        _variables(),
        [Setting(name, code=code) for name, code in _CODE.items()],
        [Setting(name, around=around) for name, around in _LIMITS.items()],
        [Setting(f"preload {one.name}", {"LD_PRELOAD": str(one)}) for one in libraries],
        [Setting(f"{world} ranks", world=world) for world in (1, 3, 4, 5)],
    ]
    return [one for row in itertools.zip_longest(*kinds) for one in row if one is not None]


def command(setting: Setting, modes: list[str], folder: Path) -> tuple[list[str], dict[str, str]]:
    """The words and variables of one run."""
    # Not "python -m rocdoctor", which takes modules from the working folder.
    words = [str(Path(sys.executable).with_name("rocdoctor")), "smoke", *modes, "--json", "--device", "cpu"]
    words += ["--world", str(setting.world), "--python", sys.executable, "--trust-interpreter"]
    variables = dict(os.environ)
    variables.update({name: value.replace("FOLDER", str(folder)) for name, value in setting.variables.items()})
    if setting.code:
        (folder / "code").mkdir()
        # In the interpreter under test alone, as a user's sitecustomize or a .pth file of a package acts.
        (folder / "code" / "sitecustomize.py").write_text(
            "import sys\nif 'worker' in str(sys.orig_argv):\n"
            + "".join(f"    {line}\n" for line in setting.code.splitlines())
        )
        variables["PYTHONPATH"] = str(folder / "code")
    return [one.replace("FOLDER", str(folder)) for one in setting.around] + words, variables


def _shared_memory() -> set[str]:
    """Segments of processes that are gone: torch names them after the one that made them."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    pids = {name: "".join(itertools.takewhile(str.isdigit, name.removeprefix("torch_"))) for name in names}
    return {name for name, pid in pids.items() if not (pid and os.path.exists(f"/proc/{pid}"))}


def _is_left(path: Path, folder: Path) -> bool:
    """Something of a run in its temporary folder, or with our name wherever a setting has put that."""
    return path.parent == folder / "tmp" or path.name.startswith(_OURS)


def can_be_made(setting: Setting) -> bool:
    """Whether this machine has what is around the command: a limit, a group of the kernel's, a program."""
    folder = Path(tempfile.mkdtemp(prefix="rd-healthy-"))
    words = [one.replace("FOLDER", str(folder)) for one in setting.around] + ["sleep", "0.3"]
    try:
        # Without pipes, which what is started beside the command would hold open.
        made = subprocess.Popen(words, stdin=_NOTHING, stdout=_NOTHING, stderr=_NOTHING)
        return made.wait(60) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        _clear(folder)


def _clear(folder: Path) -> None:
    for kind in ("memory", "cpu", "pids"):
        group = Path("/sys/fs/cgroup", kind, folder.name)
        if group.is_dir():
            group.rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def one_run(setting: Setting, modes: list[str]) -> Row:
    """What came of it: a row of the record."""
    folder = Path(tempfile.mkdtemp(prefix="rd-healthy-"))
    mark = secrets.token_hex(8)
    words, variables = command(setting, modes, folder)
    (folder / "tmp").mkdir()
    variables = {"TMPDIR": str(folder / "tmp"), **variables}
    shared = _shared_memory()
    began = time.monotonic()
    try:
        done = subprocess.run(
            words,
            env={**variables, "ROCDOCTOR_HEALTHY": mark},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, out, err = -1, str(late.stdout), f"no end within {_LIMIT_S:g} s"
    try:
        found = json.loads(out[out.index("{") :]) if "{" in out else {}
    except ValueError:
        found = {}
    seen = {one["mode"]: one for one in found.get("modes", [])}
    bad = {name: one["message"] for name, one in seen.items() if one["state"] not in ("pass", "not-applicable")}
    left = running_with(f"ROCDOCTOR_HEALTHY={mark}")
    files = [str(one.relative_to(folder)) for one in folder.rglob("*") if _is_left(one, folder)]
    segments = sorted(_shared_memory() - shared)
    _clear(folder)
    return {
        "setting": setting.name,
        "modes": modes,
        "code": code,
        "passed": sum(one["state"] == "pass" for one in seen.values()),
        "bad": bad,
        "left": left,
        "files": files[:20],
        "shared memory": segments[:20],
        "seconds": round(time.monotonic() - began, 1),
        "error": "" if seen and not code else (err + out)[-600:],
    }


def main() -> int:
    """Run them, print each row that is not as it should be, and the counts; exit status 1 when there was one."""
    words = sys.argv[1:]
    runs = int(words.pop(0)) if words and words[0].isdigit() else 0
    chosen = [one for one in settings() if not words or one.name in words]
    quick = [one.name for one in all_modes() if not one.full and one.name not in _SLOW]
    turn, made = itertools.cycle(quick), set()
    rows: list[Row] = []
    lacking: list[str] = []
    possible: dict[str, bool] = {}
    for setting in itertools.cycle(chosen):
        if len(rows) >= (runs or len(chosen) - len(lacking)) or len(lacking) == len(chosen):
            break
        if setting.name not in possible:
            possible[setting.name] = not setting.around or can_be_made(setting)
            lacking += [] if possible[setting.name] else [setting.name]
        if not possible[setting.name]:
            continue
        row = one_run(setting, sorted({next(turn) for _ in range(_EACH)}))
        rows.append(row)
        made.add(setting.name)
        if is_wrong(row) or any(row[kind] for kind in _LEFT):
            print(json.dumps(row), flush=True)
        else:
            print(f"{row['setting']}: {row['passed']} passed, {row['seconds']} s", file=sys.stderr, flush=True)
    print("\n".join(told(rows, len(made), lacking)))
    return 1 if any(is_wrong(row) or any(row[kind] for kind in _LEFT) for row in rows) else 0


def is_wrong(row: Row) -> bool:
    """A mode did not pass, or the command did not end as it should."""
    return bool(row["bad"] or row["code"] or not row["passed"])


def told(rows: Sequence[Row], settings: int, lacking: Sequence[str]) -> list[str]:
    """The counts in words."""
    several = [one["seconds"] for one in rows]
    return [
        f"{len(rows)} runs over {settings} settings; not possible here: {', '.join(lacking) or 'none'}",
        f"modes passed: {sum(row['passed'] for row in rows)}; a run took {statistics.median(several or [0]):.0f} s "
        f"(median), {max(several, default=0):.0f} s at most",
        f"false alarms: {sum(is_wrong(row) for row in rows)}",
        "left behind: " + ", ".join(f"{sum(len(row[kind]) for row in rows)} {name}" for kind, name in _LEFT.items()),
    ]


if __name__ == "__main__":
    sys.exit(main())
