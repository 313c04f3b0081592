"""Which options of the programs that start or install things take a value, and what a command line holds by them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex

# What each program is called in the facts. Programs of one family have the same options.
PROGRAMS: Mapping[str, str] = {
    **{
        name: name for name in ("docker", "podman", "nerdctl", "apptainer", "enroot", "lxc", "srun", "sbatch", "salloc")
    },
    **{name: name for name in ("torchrun", "accelerate", "deepspeed", "mpirun", "ray", "vllm", "uv", "conda")},
    "nvidia-docker": "docker",
    "singularity": "apptainer",
    "pip": "pip",
    "pip3": "pip",
    "mamba": "conda",
    "micromamba": "conda",
    "apt": "apt",
    "apt-get": "apt",
    "dnf": "dnf",
    "yum": "dnf",
    "mpiexec": "mpirun",
    "orterun": "mpirun",
    "python": "python",
    "python3": "python",
}
_VERBS: Mapping[str, frozenset[str]] = {
    "docker": frozenset({"run", "create"}),
    "podman": frozenset({"run", "create"}),
    "nerdctl": frozenset({"run", "create"}),
    "apptainer": frozenset({"exec", "run", "shell", "start", "instance.start"}),
    "enroot": frozenset({"start"}),
    "lxc": frozenset({"config", "launch"}),
    "pip": frozenset({"install"}),
    "uv": frozenset({"add", "install", "sync"}),
    "conda": frozenset({"install", "create"}),
    "apt": frozenset({"install"}),
    "dnf": frozenset({"install"}),
    "accelerate": frozenset({"launch"}),
    "ray": frozenset({"start"}),
    "vllm": frozenset({"serve"}),
}
_MODULES = {
    "torch.distributed.run": ("torchrun", ""),
    "torch.distributed.launch": ("torchrun", ""),
    "accelerate.commands.launch": ("accelerate", "launch"),
    "vllm.entrypoints.openai.api_server": ("vllm", "serve"),
    "sglang.launch_server": ("sglang", ""),
    "pip": ("pip", ""),
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTAINER_VALUES = _names(
    "add-host annotation a attach blkio-weight c cap-add cap-drop cgroup-parent cgroupns cidfile cpu- "
    "shares cpus cpuset-cpus cpuset-mems device device-cgroup-rule dns domainname e entrypoint env env- "
    "file expose gpus group-add h health-cmd hooks-dir hostname ip ipc l label link log-driver log-opt m "
    "memory memory-swap mount name net network network-alias oom-score-adj p pid pids-limit platform "
    "publish pull restart runtime security-opt shm-size stop-timeout storage-opt sysctl tmpfs u ulimit "
    "user userns uts v volume volumes-from w workdir"
)
_SLURM_VALUES = _names(
    "A C D G J M N a account c chdir constraint container-image container-mounts container-name cpu-bind "
    "cpus-per-gpu cpus-per-task d dependency e error exclude export gpu-bind gpus gpus-per-node gpus-per- "
    "task gres i input job-name m mem mem-per-cpu mem-per-gpu mpi n nodelist nodes ntasks ntasks-per-gpu "
    "ntasks-per-node o output p partition q qos reservation t time w x"
)
# Options with a value; of programs that are not here any option takes the word after it, but for their flags below.
_VALUES: Mapping[str, frozenset[str]] = {
    "docker": _CONTAINER_VALUES,
    "podman": _CONTAINER_VALUES,
    "nerdctl": _CONTAINER_VALUES,
    "apptainer": _names("B H S W app bind env env-file home mount overlay pwd scratch workdir"),
    "enroot": _names("e env m mount c conf"),
    "pip": _names(
        "abi c constraint e editable extra-index-url f find-links i implementation index-url platform prefix "
        "proxy progress-bar python-version r requirement root t target timeout trusted-host"
    ),
    "uv": _names(
        "c constraint default-index e editable extra-index-url f find-links group i index index-strategy "
        "index-url p prerelease python r requirement target torch-backend"
    ),
    "conda": _names("c channel f file n name p prefix"),
    "apt": frozenset(("t", "o")),
    "dnf": frozenset(("enablerepo", "disablerepo")),
    "srun": _SLURM_VALUES,
    "sbatch": _SLURM_VALUES,
    "salloc": _SLURM_VALUES,
}
_FLAGS: Mapping[str, frozenset[str]] = {
    "torchrun": frozenset(("standalone", "no-python", "m", "module", "run-path", "use-env")),
    "accelerate": _names(
        "multi-gpu cpu use-fsdp use-deepspeed use-megatron-lm tpu debug m module no-python same-network quiet q"
    ),
    "deepspeed": frozenset(("no-ssh", "no-python", "module", "no-local-rank", "force-multi")),
    "mpirun": _names(
        "allow-run-as-root oversubscribe overwrite tag-output v report-bindings display-map nooversubscribe"
    ),
    "ray": frozenset(("head", "block", "disable-usage-stats")),
    "vllm": frozenset(("trust-remote-code", "enforce-eager", "enable-prefix-caching")),
    "sglang": frozenset(("trust-remote-code", "disable-cuda-graph")),
}
_TWO = frozenset(("mca", "genv", "env", "gmca"))
_SINGLE_DASH_WORDS = frozenset(("mpirun", "vllm"))
_ASSIGNED = regex(r"([A-Za-z_]\w{0,80})=(.{0,400})\Z", re.S)
_GLUED = regex(r"-([A-Za-z])([\d:]{1,12})\Z")
_LEFT_OUT = regex(r"(?:\.{3,}|…|<[\w .|-]{0,40}>|\[[\w .]{1,40}\])\Z")
_BEFORE = frozenset(("sudo", "time", "nohup", "exec", "RUN", "CMD", "command", "+", "$", "-E", "-H"))
_MOST_OPTIONS, _MOST_WORDS, _LONGEST = 48, 24, 160


@dataclass(slots=True)
class Parsed:
    """The parts of one command line; ``rest``: the words of the command that it starts in turn."""

    program: str
    verb: str
    options: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    environment: dict[str, str | None] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    complete: bool = True


def parsed(words: Sequence[str]) -> Parsed | None:
    """What a command holds; None where it is none of those that are read here."""
    environment: dict[str, str | None] = {}
    at = 0
    while at < len(words) and (words[at] in _BEFORE or words[at] == "env" or _ASSIGNED.match(words[at])):
        if pair := _ASSIGNED.match(words[at]):
            environment[pair[1]] = pair[2][:_LONGEST]
        at += 1
    if at >= len(words):
        return None
    program = PROGRAMS.get(words[at].rsplit("/", 1)[-1], "")
    at += 1
    verb = ""
    if program == "python":
        if words[at : at + 1] != ["-m"] or at + 1 >= len(words) or words[at + 1] not in _MODULES:
            return None
        program, verb = _MODULES[words[at + 1]]
        at += 2
    if not program:
        return None
    if program in _VERBS and not verb:
        while at < len(words) and words[at] in ("container", "pip", "instance", "-y", "--yes", "device", "env"):
            at += 1
        if at >= len(words) or words[at] not in _VERBS[program]:
            return None
        verb, at = words[at], at + 1
    found = Parsed(program, verb, environment=environment)
    _read(found, list(words[at:]))
    return found


def _read(found: Parsed, words: list[str]) -> None:
    """Options and plain words; the plain word that a program starts ends the options."""
    values, flags = _VALUES.get(found.program), _FLAGS.get(found.program, frozenset())
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if _LEFT_OUT.match(word):
            found.complete = False
            continue
        if word == "--" or word in ("\\", ""):
            continue
        if not word.startswith("-") or word == "-":
            found.words.append(word[:_LONGEST])
            if found.program in _STARTERS:
                found.rest = words[at:] if found.program in _WITH_IMAGE else words[at - 1 :]
                return
            if len(found.words) >= _MOST_WORDS:
                return
            continue
        if glued := _GLUED.match(word):
            _put(found, glued[1], glued[2])
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-") if len(name) > 1 else name
        if equals:
            _put(found, name, value)
            continue
        following = words[at] if at < len(words) else ""
        if name in _TWO and found.program == "mpirun":
            if name in ("genv", "env") and at + 1 < len(words):
                found.environment[words[at]] = words[at + 1][:_LONGEST]
            at += 2
            continue
        takes = name in values if values is not None else name not in flags and not following.startswith("-")
        if takes and following:
            _put(found, name, following)
            at += 1
        else:
            for one in (
                name if word[1] != "-" and 1 < len(name) <= 4 and found.program not in _SINGLE_DASH_WORDS else [name]
            ):
                _put(found, one, "")


_WITH_IMAGE = frozenset(("docker", "podman", "nerdctl", "apptainer", "enroot"))
_STARTERS = _WITH_IMAGE | frozenset(("srun", "mpirun", "torchrun", "accelerate", "deepspeed"))
_ENVIRONMENT = {"mpirun": ("x",)} | dict.fromkeys(_WITH_IMAGE, ("e", "env"))
_LONG = {"mpirun": {"n": "np", "c": "np"}, "vllm": {"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size"}}
_SLURM_LONG = {"N": "nodes", "n": "ntasks", "G": "gpus", "p": "partition"}


def _put(found: Parsed, name: str, value: str) -> None:
    name = _LONG.get(found.program, {}).get(name, name)
    if found.program in ("srun", "sbatch", "salloc"):
        name = _SLURM_LONG.get(name, name)
    if name in _ENVIRONMENT.get(found.program, ()) and value:
        key, equals, told = value.partition("=")
        found.environment[key[:80]] = told[:_LONGEST] if equals else None
        return
    if len(found.options) < _MOST_OPTIONS or name in found.options:
        kept = found.options.setdefault(name[:60], [])
        if len(kept) < 16:
            kept.append(value[:_LONGEST])
