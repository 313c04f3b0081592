"""The text shows a bug in software or user code; nothing in it points to the machine.

Why
  Many errors that stop a training come from code: parameters that take no part in the loss, tensors of different shapes
  or device, indices outside their range, values that became NaN, or a library that chose a kernel that the GPU cannot
  run. Changing drivers, wheels or variables does not help then.

Fix
  Look at the named call in your own code, or report it to the project with a short reproducer; or use a release that
  fixes it.

References
  https://docs.pytorch.org/docs/stable/notes/ddp.html
  https://docs.pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import gfx_names, said, shown, when_said
from rocdoctor.judging.check import Finding, Fix, Outcome, check, warning
from rocdoctor.model.facts import Machine, Message

# kind -> what the text shows, what to do
_CODE = {
    "unused-parameters": (
        "Some parameters of the model took no part in the loss, which DistributedDataParallel (DDP) does not allow by "
        "default: the model code leaves them unused.",
        "Use every parameter in the loss, or pass find_unused_parameters=True to DistributedDataParallel "
        "(TORCH_DISTRIBUTED_DEBUG=DETAIL names the unused ones)",
    ),
    "in-place-gradient": (
        "A tensor that autograd needs for the backward pass was changed or freed by the code.",
        "Run once with torch.autograd.set_detect_anomaly(True) and replace the in-place operation that it names",
    ),
    "device-assert": (
        "A kernel found an index or value outside its range (device-side assert): usually labels or token ids that are "
        "larger than the model's layer.",
        "Run the same step on the CPU, which names the operation, and check labels, token ids and vocabulary size",
    ),
    "shape-error": (
        "The code combined tensors of different shapes, dtypes or devices.",
        "Print shapes and devices before the call that the traceback names, and check that checkpoint and model match",
    ),
    "loss-not-finite": (
        "The loss became NaN or infinite during training, usually because of the data, the "
        "learning rate or the number format.",
        "Try a lower learning rate, gradient clipping, BF16 instead of FP16, and "
        "torch.autograd.set_detect_anomaly(True)",
    ),
    "duplicate-gpu": (
        "Two ranks chose the same GPU: the script does not select the device by local rank.",
        "Call torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) first, and start as many processes as GPUs "
        "are visible",
    ),
    "port-in-use": (
        "The port of the rendezvous is taken (address already in use): another job or a leftover process of an "
        "earlier "
        "run holds it.",
        "End leftover processes of the job, or choose another port (--master_port, or --rdzv-endpoint=localhost:0)",
    ),
    "slurm-request-refused": (
        "Slurm refuses the request: no node of the partition offers it, or the resource (gres) has another name.",
        "Compare --gres, --gpus, --constraint and the partition of the script with what sinfo lists for the nodes",
    ),
    "host-memory-killed": (
        "Slurm ended processes of the step: the job used more main memory (not GPU memory) than it was given.",
        "Ask for more memory (--mem or --mem-per-gpu), or use fewer loader workers and less caching in main memory",
    ),
    "mpi-no-slots": (
        "mpirun was asked for more processes than its hosts have slots.",
        "Give slots in the host file or with --host NODE:N (N ranks per node), or start fewer ranks",
    ),
    "p2p-unsupported-card": (
        "accelerate stops because cards of this generation (RTX 4000) have no direct copies between GPUs.",
        "Start with accelerate launch, or export NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1",
    ),
    "wrong-arguments": (
        "Code calls a function with arguments that it does not have: the releases of two packages do not match, "
        "or your code does not match the package.",
        "Compare the call in the traceback with the documentation of the installed release of that package",
    ),
}
_ISA = "wrong-isa-kernel"
_FINER = {"port-in-use": "port-in-use", "host-memory-killed": "host-memory", "mpi-no-slots": "launcher-slots"}


@check(when_said(*_CODE, _ISA), cause="not-environment")
def not_environment_message(machine: Machine) -> Outcome:
    if wrong := said(machine, _ISA):
        return _isa(machine, wrong)
    for kind, (text, way) in _CODE.items():
        if messages := said(machine, kind):
            finer = _FINER.get(kind, "")
            return warning(text, evidence=shown(messages), fix=Fix(way), confidence="possible", finer=finer)
    return None


def _isa(machine: Machine, messages: tuple[Message, ...]) -> Outcome:
    if any(name.startswith("HSA_OVERRIDE_GFX_VERSION") for name in machine.environment.variables):
        return None  # the override is what makes the runtime load code of another target
    targets = gfx_names(machine)
    here = f" ({', '.join(targets)})" if targets else ""
    return _possible(
        f"A library handed the GPU{here} a kernel for another instruction set. That is a bug in that library (MIOpen, "
        "hipBLASLt, Triton ...), unless HSA_OVERRIDE_GFX_VERSION is set.",
        "Unset HSA_OVERRIDE_GFX_VERSION if it is set. Otherwise find the library (MIOPEN_ENABLE_LOGGING=1, "
        "AMD_LOG_LEVEL=3), "
        "switch off the solver that it names (for MIOpen the MIOPEN_DEBUG_* variables), and install the release "
        "with the fix",
        messages,
    )


def _possible(text: str, way: str, messages: tuple[Message, ...]) -> Finding:
    return warning(text, evidence=shown(messages), fix=Fix(way), confidence="possible")
