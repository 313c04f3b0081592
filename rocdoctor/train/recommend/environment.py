"""Environment variables of a plan: few, and each with a reason that holds for this fleet and this plan.

The table (``knowledge/tables/env_vars.yaml``) says by its ``policy`` what may be set without being asked; nothing else
leaves this module as a setting. What only helps to find a fault, what needs a test first and what differs from node to
node is given in functions of its own, so that files can show it without setting it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rocdoctor.insight.gpus.gfx_override import NAME as OVERRIDE
from rocdoctor.insight.gpus.gfx_override import best_value
from rocdoctor.insight.gpus.visibility import SCHEDULERS
from rocdoctor.knowledge.lookup import env_variable
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.fit import SHARE
from rocdoctor.train.recommend.plan import Fleet, Plan, Setting

# What the table calls settings that a program may write; the others (debug_only, leave_unset, set_by_launcher,
# never_set_automatically, set_only_to_detected_interface ...) need a person.
POLICIES = frozenset(
    (
        "set_computed",
        "set_when_rule_matches",
        "set_at_most_one_visibility_variable",
        "set_by_framework_profile",
        "set_WARN",
        "set_for_pcie_multi_gpu",
        "rename_if_torch_ge_2.9",
    )
)
VISIBILITY = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
# Attention kernels that torch has for these and calls experimental (knowledge: gfx1151 was seen to fail with them).
_EXPERIMENTAL_FLASH = ("gfx1100", "gfx1101", "gfx1201")
# Part of usable memory beyond which fragmentation may decide; above SHARE no plan is called a fit.
_CLOSE = SHARE - 0.12


def settings(plan: Plan) -> tuple[Setting, ...]:
    """The variables to set, each at most once."""
    return tuple(one for one in _wanted(plan) if allowed(one.name, plan.fleet))


def for_fleet(fleet: Fleet) -> tuple[Setting, ...]:
    """The variables that hold on a fleet whatever is trained with all its GPUs."""
    return tuple(one for one in _always(fleet) if allowed(one.name, fleet))


def allowed(name: str, fleet: Fleet) -> bool:
    """Whether the table lets a program set a variable for a fleet beside those that are set there already.

    GPUs that a person or a scheduler chose stay chosen: later numbers would count what those left.
    """
    entry = env_variable(name)
    if entry is None or entry.policy not in POLICIES or entry.vendor not in (None, fleet.vendor):
        return False
    if entry.policy == "rename_if_torch_ge_2.9" and version(fleet.software.torch) >= (2, 9):
        return False
    others = {*entry.conflicts, *entry.replaced_by, *((*VISIBILITY, *SCHEDULERS) if name in VISIBILITY else ())}
    return not others & fleet.already_set


def version(text: str | None) -> tuple[int, int]:
    """Major and minor number of a release (``2.13.0+rocm7.2`` is 2, 13); (0, 0) where it is not known."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _always(fleet: Fleet) -> Iterator[Setting]:
    yield from _threads(fleet)
    yield from _visibility(fleet)
    if fleet.vendor != "cpu" and fleet.gpus > 1:
        library = "RCCL" if fleet.vendor == "amd" else "NCCL"
        yield Setting("NCCL_DEBUG", "WARN", f"so that {library} says why a start failed; for a bug report, use INFO")
    if fleet.vendor == "amd":
        yield from _rocm(fleet)


def _wanted(plan: Plan) -> Iterator[Setting]:
    fleet = plan.fleet
    yield from _always(fleet)
    if fleet.vendor == "cpu":
        return
    yield from _allocator(plan)
    yield from _megatron(plan)
    guide = _two_queues(plan)
    if guide is not None:
        yield Setting("TORCH_NCCL_HIGH_PRIORITY", "1", f"gives collectives priority: {guide}")
        yield Setting("GPU_MAX_HW_QUEUES", "2", f"one queue for computing, one for communication: {guide}")


def _two_queues(plan: Plan) -> str | None:
    """Who asks for a queue of their own for collectives, and for what; None where nobody does."""
    fleet, framework = plan.fleet, plan.work.framework
    if fleet.vendor != "amd" or fleet.gpus == 1:
        return None
    if fleet.nodes > 1 and _is_mi300x(fleet) and framework in ("fsdp1", "fsdp2"):
        return "AMD's workload guide for MI300X, for FSDP on several nodes"
    # AMD-AGI/Primus runner/helpers/envs/base_env.sh, for all Instinct GPUs; read 2026-11-29.
    return "AMD's Primus starts Megatron-LM this way" if framework == "megatron" and _is_instinct(fleet) else None


def _threads(fleet: Fleet) -> Iterator[Setting]:
    """OpenMP threads of a rank: its share of the cores of a node (of the CPUs where cores are not known)."""
    count = min((one for one in (fleet.cpu_cores, fleet.cpu_threads) if one), default=None)
    yield from _shares(count, "cores" if fleet.cpu_cores == count else "CPUs", fleet.per_node)


def _shares(count: int | None, what: str, ranks: int) -> Iterator[Setting]:
    if not count or ranks < 2:
        return  # a single process takes all cores by itself
    each = max(1, count // ranks)
    other = "torchrun would set 1" + (", with a warning" if each == 1 else "")
    yield Setting("OMP_NUM_THREADS", str(each), f"{count} {what} shared by {ranks} ranks on each node; {other}")


def _chosen(vendor: str, numbers: Iterable[int], reason: str) -> Setting:
    name = "HIP_VISIBLE_DEVICES" if vendor == "amd" else "CUDA_VISIBLE_DEVICES"
    return Setting(name, ",".join(map(str, numbers)), reason)


def _visibility(fleet: Fleet) -> Iterator[Setting]:
    indices = [seat.torch_index for seat in fleet.seats]
    numbers = [index for index in indices if index is not None]
    # Ranks take the GPUs of their own numbers: the first ones need no choice.
    in_order = numbers == list(range(len(indices)))
    if fleet.vendor == "cpu" or not fleet.left_out or in_order or len(set(numbers)) != len(indices):
        return
    left = "; ".join(one.rstrip(".") for one in fleet.left_out[:3])
    yield _chosen(fleet.vendor, numbers, f"not all GPUs of the machine are used: {left}")


def _allocator(plan: Plan) -> Iterator[Setting]:
    """Growing segments where memory is short: CUDA alone, since ROCm has them in few builds, with a hang on record."""
    fleet, high, usable = plan.fleet, plan.result.memory.high, plan.work.gpu.usable_bytes
    release = version(fleet.software.torch)
    if fleet.vendor != "nvidia" or fleet.integrated or fleet.container == "wsl" or release < (2, 1):
        return
    if high > _CLOSE * usable:
        name = "PYTORCH_ALLOC_CONF" if release >= (2, 9) else "PYTORCH_CUDA_ALLOC_CONF"
        reason = f"up to {high / GIB:.0f} of {usable / GIB:.0f} GiB are needed, so fragmentation must not waste memory"
        yield Setting(name, "expandable_segments:True", reason)


def _megatron(plan: Plan) -> Iterator[Setting]:
    """One queue for computing and sending: Megatron-LM asks for it on devices whose major number is below 10."""
    fleet, sizes = plan.fleet, plan.work.parallel
    if plan.work.framework != "megatron" or (sizes.tp == 1 and sizes.cp == 1):
        return
    old_nvidia = fleet.vendor == "nvidia" and plan.work.gpu.generation in ("volta", "ampere", "ada", "hopper")
    if old_nvidia or (fleet.gfx or "").startswith("gfx9"):
        what = f"tensor parallelism over {sizes.tp}" if sizes.tp > 1 else f"context parallelism over {sizes.cp}"
        yield Setting(
            "CUDA_DEVICE_MAX_CONNECTIONS",
            "1",
            f"{what}: Megatron-LM needs its transfers queued before the computation that they overlap with",
        )


def _rocm(fleet: Fleet) -> Iterator[Setting]:
    hip, gfx = version(fleet.software.hip), fleet.gfx or ""
    known, several = hip > (0, 0), fleet.gpus > 1
    if several and fleet.per_node > 1 and fleet.fabric == "pcie" and not fleet.integrated:
        yield Setting(
            "HSA_FORCE_FINE_GRAIN_PCIE",
            "1",
            "RCCL's documentation asks for it, because these GPUs reach each other over PCIe",
        )
    if several and gfx in ("gfx90a", "gfx942") and known and hip < (6, 4):
        yield _scratch(f"ROCm {hip[0]}.{hip[1]}: RCCL's changelog asks for it before ROCm 6.4")
    elif several and gfx == "gfx90a" and hip >= (7, 13):
        yield _scratch(f"gfx90a with ROCm {hip[0]}.{hip[1]}: a known issue of RCCL from 7.13 on")
    if gfx in ("gfx90a", "gfx942") and known and hip < (6, 2):
        yield Setting(
            "HIP_FORCE_DEV_KERNARG",
            "1",
            f"ROCm {hip[0]}.{hip[1]}: kernel arguments in device memory save 2 "
            "to 3 us for some kernels, and are the default from 6.2 on",
        )
    if _is_mi300x(fleet) and fleet.per_node == 8 and fleet.nodes == 1 and (6, 0) <= hip < (7, 0):
        yield Setting(
            "NCCL_MIN_NCHANNELS",
            "112",
            f"8 x MI300X with ROCm {hip[0]}.{hip[1]}: AMD's workload guide; "
            "from 7.0 on RCCL tunes its channels by itself",
        )


def _is_mi300x(fleet: Fleet) -> bool:
    return "MI300X" in fleet.gpu.name.upper()


def _is_instinct(fleet: Fleet) -> bool:
    return (fleet.gfx or "") in ("gfx90a", "gfx942", "gfx950")


def _scratch(reason: str) -> Setting:
    return Setting("HSA_NO_SCRATCH_RECLAIM", "1", reason)


def without_visibility(found: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """The settings where a scheduler hands the GPUs out: it hides the others and numbers what is left anew."""
    return tuple(one for one in found if one.name not in VISIBILITY)


def for_diagnosis(plan: Plan) -> tuple[Setting, ...]:
    """What makes a hang leave traces; for a run that hangs, not for each."""
    if plan.fleet.vendor == "cpu" or plan.fleet.gpus < 2:
        return ()
    return (
        Setting(
            "TORCH_NCCL_DUMP_ON_TIMEOUT",
            "1",
            "when a collective times out, a file shows what each rank was waiting for",
        ),
        Setting("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", "how many collectives that file records"),
    )


def after_a_test(plan: Plan) -> tuple[Setting, ...]:
    """What may be needed and is not safe to set unseen; the reason says what to do first."""
    fleet, found = plan.fleet, []
    gfx = fleet.gfx or ""
    if fleet.vendor == "amd" and plan.work.flash and gfx in _EXPERIMENTAL_FLASH:
        found.append(
            Setting(
                "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
                "1",
                "the plan's memory relies on flash attention"
                f", which torch may disable on {gfx} as experimental: check first that `rocdoctor smoke` passes with "
                f"it",
            )
        )
    value = best_value(gfx) if fleet.vendor == "amd" else None
    if value is not None:
        found.append(
            Setting(
                OVERRIDE,
                value,
                f"torch's builds have no code for {gfx}, so this GPU is not supported. With this "
                "variable, it can run the code of its nearest relative, but nobody guarantees "
                "the results",
            )
        )
    return tuple(found)


def by_node(plan: Plan) -> tuple[str, ...]:
    """What the user has to settle for several nodes, since names of interfaces and cards may differ on each."""
    fleet = plan.fleet
    if fleet.nodes == 1:
        return ()
    if fleet.vendor == "cpu":
        return (
            "GLOO_SOCKET_IFNAME: if a node has several interfaces, the exact name of the one that connects the "
            "nodes. It "
            "may differ from node to node.",
        )
    return (
        "NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME: if a node has several interfaces, the one that connects the nodes "
        "(NCCL_SOCKET_IFNAME takes =eth0 for the exact name, GLOO_SOCKET_IFNAME only the name). A wrong name hangs the "
        "start, so nothing is guessed here.",
        "NCCL_IB_HCA: the RDMA cards to use, if some cards of a node are only for storage or management.",
        "`rocdoctor smoke --nnodes` shows whether the nodes can reach each other now.",
    )
