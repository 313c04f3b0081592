"""What is still unknown, and the one command that would tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rocdoctor.model.evidence import Unknown, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, NextStep, Topic, Verdict
from rocdoctor.model.question import Question
from rocdoctor.model.shell_command import shell_of_table

_OF_LOG = "it shows driver failures, resets and memory errors"


def next_steps(machine: Machine, verdicts: Iterable[Verdict] = ()) -> tuple[NextStep, ...]:
    """At most a handful of commands, the most telling first; how many of the ``verdicts`` wait for the kernel log."""
    steps: list[NextStep] = []
    log = machine.kernel.log
    gpus = any(gpu.vendor in ("amd", "nvidia") for gpu in machine.gpus)
    if isinstance(log, Unknown) and log.reason == "denied":
        waiting = sum(_waits_for_log(machine, one) for one in verdicts)
        why = f"The kernel log needs root; {_OF_LOG}{f' ({_number(waiting)} for it)' if waiting else ''}"
        steps.append(NextStep("sudo dmesg | rocdoctor check --add -", why, "kernel-log"))
    torch = machine.torch
    # Where a tool has told what the files of a sleeping GPU do not, it was woken already.
    asleep = [
        gpu
        for gpu in machine.gpus
        if value_or(gpu.runtime_status, "") == "suspended"
        and isinstance(gpu.power.now_w, Unknown)
        and gpu.power.now_w.reason == "suspended"
    ]
    if asleep:
        why = f"Wakes {asleep[0].label}, which was left asleep, and asks for its sensors and versions"
        steps.append(NextStep("rocdoctor check --wake", why, "sleep"))
    if gpus and isinstance(torch.version, Unknown) and torch.version.reason == "absent":
        why = "No Python interpreter was found: name the one that runs your training"
        steps.append(NextStep("rocdoctor check --python /path/to/venv/bin/python", why, "interpreter"))
    return tuple(steps)


def with_missing(diagnosis: Diagnosis, kind: str) -> Diagnosis:
    """Of evidence that was recorded (by the ``kind`` of its host): with what is to be asked on that machine.

    Each step says how many unknown verdicts wait for it.
    That a verdict waits for an answer does not say that this answer settles it: it may lack another one as well.
    """
    if kind not in ("bundle", "folder"):  # what pasted text lacks is told by missing_outputs
        return diagnosis
    machine, log = diagnosis.machine, diagnosis.machine.kernel.log
    unasked = [one for one in diagnosis.verdicts if one.gap is not None and one.gap.reason == "not-asked"]
    waiting = sum(_waits_for_log(machine, one) for one in unasked)
    rest, unknown = len(unasked) - waiting, diagnosis.count("unknown")
    steps: list[tuple[int, NextStep]] = []
    if waiting and isinstance(log, Unknown) and log.reason == "not-asked":
        why = (
            f"Run it on that machine and add the file with --add kernel-log.txt: {_number(waiting)} for the kernel log"
        )
        steps.append((waiting, NextStep("sudo dmesg | tee kernel-log.txt", why, "kernel-log")))
    if unknown > diagnosis.count("pass") and 2 * rest > unknown:
        why = f"Run it on that machine: it records everything that rocdoctor asks, and {_number(rest)} for that"
        steps.append((rest, NextStep("rocdoctor bundle", why)))
    ordered = [step for _, step in sorted(steps, key=lambda one: -one[0])]
    return replace(diagnosis, next=(*diagnosis.next, *ordered))


def _waits_for_log(machine: Machine, verdict: Verdict) -> bool:
    return verdict.gap is not None and topic_of(machine, verdict.gap) == "kernel-log"


def _number(count: int) -> str:
    return "1 unknown verdict waits" if count == 1 else f"{count} unknown verdicts wait"


def topic_of(machine: Machine, gap: Unknown) -> Topic | None:
    """What a fact that is not known belongs to, where one command answers all of it."""
    log = machine.kernel.log
    if gap.reason == "suspended":
        return "sleep"
    if gap.source is None:
        return None
    if log.source is not None and gap.source.question == log.source.question:
        return "kernel-log"
    return "interpreter" if gap.source.asked.verb == "python" else None


# What tells more of a cause than the general questions do: command, why.
_LIST = NextStep("python -m pip list", "Lists the version of every package that this interpreter has")
_NETWORK = NextStep(
    "ip -br addr; getent hosts $(hostname)",
    "Shows the network interfaces, and what this machine's own name resolves to",
)
_NCCL = NextStep(
    "NCCL_DEBUG=INFO TORCH_DISTRIBUTED_DEBUG=DETAIL YOUR_COMMAND", "Runs it again, so that each rank says what it does"
)
_TOPOLOGY = NextStep("nvidia-smi topo -m || rocm-smi --showtopo", "Shows how the GPUs are connected")
_OF_CAUSE: dict[str, tuple[NextStep, ...]] = {
    "network-interface-wrong": (_NETWORK, _NCCL),
    "rendezvous-name-resolution": (_NETWORK, _NCCL),
    "iommu-acs-p2p": (
        _TOPOLOGY,
        _NCCL,
        NextStep("cat /proc/cmdline", "Shows the IOMMU options of the kernel command line"),
    ),
    "memlock-limit": (
        NextStep("ulimit -l; cat /proc/self/limits", "Run it in the shell that starts the job to see its limits"),
    ),
    "shm-too-small": (NextStep("df -h /dev/shm", "Run it inside the container to see its shared memory"),),
    "python-package-mismatch": (_LIST,),
    "wrong-backend-build": (_LIST,),
    "libc-or-abi-mismatch": (_LIST, NextStep("ldd --version; gcc --version", "Shows the C library and the compiler")),
    "missing-shared-library": (
        NextStep("ldconfig -p | grep -iE 'rocm|hip|cuda|nccl'", "Shows which libraries are found"),
    ),
    "cuda-toolkit-mismatch": (
        NextStep("nvcc --version; echo $CUDA_HOME", "Shows the compiler that builds extensions"),
        _LIST,
    ),
    "out-of-memory": (
        NextStep("nvidia-smi || rocm-smi --showpids --showmeminfo vram", "Shows which process uses GPU memory"),
    ),
    "container-device-access": (
        NextStep("ls -ln /dev/kfd /dev/dri; id", "Run it inside the container to see the device nodes and the groups"),
    ),
    "device-permission": (NextStep("ls -l /dev/kfd /dev/dri; id", "Shows who can open the devices"),),
    "dkms-kernel-mismatch": (NextStep("dkms status; uname -r", "Shows which modules were built for which kernel"),),
}
# Of these causes neither the list of devices nor the kernel log tells anything.
_ABOVE_THE_DRIVER = frozenset(
    {
        "network-interface-wrong",
        "rendezvous-name-resolution",
        "python-package-mismatch",
        "libc-or-abi-mismatch",
        "missing-shared-library",
        "cuda-toolkit-mismatch",
        "shm-too-small",
        "memlock-limit",
        "not-environment",
    }
)


_MOST_OF_MESSAGES = 3


def _of_messages(machine: Machine) -> list[NextStep]:
    """What tells the causes of the messages apart that stand in the text."""
    kinds = dict.fromkeys(one.kind for one in machine.messages if one.role in ("now", "quoted"))
    if not kinds:
        return []
    from rocdoctor.knowledge.messages.answers import message_questions  # for texts alone

    asked = [one for kind in kinds for one in message_questions().get(kind, ())]
    return [NextStep(shell_of_table(one.command), one.why) for one in asked[:_MOST_OF_MESSAGES]]


def missing_outputs(machine: Machine, answered: Iterable[str], cause: str = "") -> tuple[NextStep, ...]:
    """What a pasted text lacks, with the exact command that would tell.

    ``answered``: the questions that it answers; ``cause``: the first cause found, whose own questions come first.
    """
    programs = {Question.of(question).program for question in answered}
    vendors = {gpu.vendor for gpu in machine.gpus}
    amd, nvidia = "nvidia" not in vendors or "amd" in vendors, "nvidia" in vendors
    steps: list[NextStep] = [*_of_messages(machine), *_OF_CAUSE.get(cause, ())]
    devices = cause not in _ABOVE_THE_DRIVER
    if not vendors and devices:
        why = "The text names no GPU: this shows which ones the machine has and which driver each is bound to"
        steps.append(NextStep("lspci -nnk -d ::0300; lspci -nnk -d ::0302; lspci -nnk -d ::0380", why))
    if amd and vendors and devices and "rocminfo" not in programs:
        steps.append(NextStep("rocminfo", "Shows which GPUs the compute driver offers, and their gfx targets"))
    if nvidia and devices and "nvidia-smi" not in programs:
        steps.append(
            NextStep("nvidia-smi", "Shows the driver version, the GPUs, their memory and which processes use it")
        )
    if isinstance(machine.kernel.log, Unknown) and devices:
        why = "Shows driver failures, resets and memory errors in the kernel log"
        steps.append(NextStep("sudo dmesg | grep -iE 'amdgpu|kfd|nvrm|xid|iommu|aer'", why, "kernel-log"))
    if isinstance(machine.torch.version, Unknown):
        why = "Shows the torch build, its companion packages and the system"
        steps.append(NextStep("python -m torch.utils.collect_env", why))
    if not machine.environment.variables:
        why = "Lists variables that change what the GPU libraries do"
        steps.append(NextStep("env | grep -E '^(HSA|HIP|ROCR|ROCM|CUDA|NCCL|RCCL|PYTORCH|MIOPEN|TORCH|LD)_'", why))
    steps.append(NextStep("rocdoctor bundle", "Collects all of this in one text file that is safe to post"))
    return tuple(steps)
