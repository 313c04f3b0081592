"""Frozen bases with adapters, offloaded activations, long sequences, resumed training: right, and wrong in time."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")
import torch
import torch.distributed as dist

from tests.train.smoke.planted.faults import Active, flip_bit, wrap

QUICK = [("lora", 2), ("qlora", 2), ("fsdp2-activation-offload", 2), ("resume-resized", 2), ("fsdp-cp", 4)]
HEAVY = [
    *(("lora", 3), ("qlora", 4), ("resume-resized", 3), ("fsdp2-compile", 2)),
    *(("fsdp-cp", 6), ("fsdp-cp-tp", 8), ("pp-fsdp-cp-tp", 8)),
]


def _agrees(mode: str, world: int, limit_s: float = 60.0) -> None:
    beside = [one for one, ranks in (QUICK if (mode, world) in QUICK else HEAVY) if ranks == world]
    result = kit.run(mode, world, limit_s, beside)
    assert result.state == "pass", result.message
    assert {"before", "loss", "grad", "param"} <= {*result.max_error, "loss"}
    assert all(result.max_error[name] <= result.tolerance[name] / 2 for name in result.max_error)


@pytest.mark.parametrize(("mode", "world"), QUICK)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    _agrees(mode, world)


@pytest.mark.heavy
@pytest.mark.parametrize(("mode", "world"), HEAVY)
def test_agrees_with_one_process_on_other_ranks(mode: str, world: int) -> None:
    _agrees(mode, world)


def base_moves(active: Active) -> None:
    """A frozen weight is moved in its last bits by the optimizer's last step."""
    seen = {"count": 0}

    def around(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        result = original(self, *args, **keywords)
        seen["count"] += active()
        if active() and seen["count"] == 2:
            held = [one for group in self.param_groups for one in group["params"] if not one.requires_grad]
            getattr(held[3], "_local_tensor", held[3]).data.view(-1)[0] += 1e-7
        return result

    wrap(torch.optim.SGD, "step", around)


def adapter_left_out(active: Active) -> None:
    """One of two products of low rank is not added."""

    def around(original: Any, x: Any, weight: Any, *rest: Any) -> Any:
        result = original(x, weight, *rest)
        return result * 0 if active() and weight.shape[-1] == 4 else result

    wrap(torch.nn.functional, "linear", around)


def code_changes(active: Active) -> None:
    """A quantised number of the base is another one after the last step."""
    seen = {"count": 0}

    def around(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        result = original(self, *args, **keywords)
        seen["count"] += active()
        if active() and seen["count"] == 2:
            import gc

            held = [one for one in gc.get_objects() if isinstance(one, torch.nn.Module) and "codes" in one._buffers]
            codes: Any = held[-1].codes
            codes.view(-1)[5] += 1
        return result

    wrap(torch.optim.SGD, "step", around)


def factor_off(active: Active) -> None:
    """Rows of 8-bit numbers are scaled by a factor that is one percent too large."""

    def around(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        result = original(self, *args, **keywords)
        of_fp32 = self.dtype == torch.int8 and result.dtype == torch.float32
        return result * 1.01 if active() and of_fp32 else result

    wrap(torch.Tensor, "to", around)


def activation_lost(active: Active) -> None:
    """What comes back from the memory of the CPU has one other value."""
    from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers

    def unpack(kept: Any) -> Any:
        if active() and kept.dtype == torch.float32 and kept.dim() == 3:
            kept = kept.clone(memory_format=torch.contiguous_format)
            flip_bit(kept, 22)
        return kept

    hooks = torch.autograd.graph.saved_tensors_hooks
    wrap(wrappers, "save_on_cpu", lambda original, **more: hooks(lambda one: one.detach(), unpack))


def part_of_another(active: Active) -> None:
    """Two parts that an exchange brings are exchanged."""

    def around(original: Any, output: Any, *args: Any, **keywords: Any) -> Any:
        result = original(output, *args, **keywords)
        if active() and output.dtype == torch.float32 and output.shape[0] == 2:
            output.copy_(output.flip(0).clone())
        return result

    wrap(dist, "all_to_all_single", around)


def exchanged_bit(active: Active) -> None:
    """One bit of what an exchange brings."""
    seen = {"count": 0}

    def around(original: Any, output: Any, *args: Any, **keywords: Any) -> Any:
        result = original(output, *args, **keywords)
        if active() and output.dtype == torch.float32:
            seen["count"] += 1
            if seen["count"] == 6:
                flip_bit(output, 22)
        return result

    wrap(dist, "all_to_all_single", around)


def exchanged_gradient_bit(active: Active) -> None:
    """One bit of what an exchange of the backward brings: the second one of the last block."""
    seen = {"count": 0}

    def around(original: Any, output: Any, *args: Any, **keywords: Any) -> Any:
        result = original(output, *args, **keywords)
        if active() and output.dtype == torch.float32:
            seen["count"] += 1
            if seen["count"] == 10:
                flip_bit(output, 22)
        return result

    wrap(dist, "all_to_all_single", around)


def attention_backward_off(active: Active) -> None:
    """The backward of attention is off, its forward is not."""

    def around(original: Any, query: Any, *args: Any, **keywords: Any) -> Any:
        result = original(query, *args, **keywords)
        return result + 0.01 * (query - query.detach()) if active() else result

    wrap(torch.nn.functional, "scaled_dot_product_attention", around)


def compiled_wrongly(active: Active) -> None:
    """What was compiled computes something else."""

    def around(original: Any, function: Any, *args: Any, **keywords: Any) -> Any:
        fast = original(function, *args, **keywords)
        return (lambda x: fast(x) + 1e-2 * x.detach()) if active() else fast

    wrap(torch, "compile", around)


def compiled_never(active: Active) -> None:
    """torch.compile gives back what it got."""
    wrap(torch, "compile", lambda original, function, *args, **more: function)


def moment_lost(active: Active) -> None:
    """A moment is zero after a checkpoint was loaded."""
    from torch.distributed import checkpoint

    def around(original: Any, state: Any, *args: Any, **keywords: Any) -> Any:
        result = original(state, *args, **keywords)
        if active():
            first = next(iter(state["optimizer"]["state"].values()))["exp_avg"]
            getattr(first, "_local_tensor", first).zero_()
        return result

    wrap(checkpoint, "load", around)


def parameter_stale(active: Active) -> None:
    """A parameter keeps what it had before a checkpoint was loaded."""
    from torch.distributed import checkpoint

    def around(original: Any, state: Any, *args: Any, **keywords: Any) -> Any:
        held = state["model"]["blocks.1.up.weight"] if "model" in state else None
        part: Any = getattr(held, "_local_tensor", held)
        old = None if part is None else part.clone()
        result = original(state, *args, **keywords)
        if active() and part is not None:
            part.copy_(old)
        return result

    wrap(checkpoint, "load", around)


Case: TypeAlias = tuple[Any, int | str, str, int, tuple[int, ...], str]
FAULTS: list[Case] = [
    (base_moves, 1, "lora", 2, (1,), "device"),
    (adapter_left_out, 0, "lora", 2, (0,), "device"),  # not of the rank before, whose fault could stay
    ("scatter-nothing", 1, "lora", 2, (1,), "collectives"),
    (code_changes, 0, "qlora", 2, (0,), "device"),
    (factor_off, 1, "qlora", 2, (1,), "device"),
    (activation_lost, 1, "fsdp2-activation-offload", 2, (1,), "device"),
    (part_of_another, 2, "fsdp-cp", 4, (2,), "collectives"),
    (exchanged_bit, 3, "fsdp-cp", 4, (3,), "collectives"),
    (moment_lost, 1, "resume-resized", 2, (1,), "framework"),
    (parameter_stale, 0, "resume-resized", 2, (0,), "framework"),
]
# What every sharded mode may meet.
MORE: list[Case] = [
    ("scatter-twice", 0, "lora", 2, (0,), "collectives"),
    ("gather-gets-wrong", 1, "lora", 2, (), "collectives"),
    ("shard-bit", 1, "lora", 2, (1,), "device"),
    ("scatter-own", 1, "qlora", 2, (1,), "collectives"),
    ("scatter-bit", 1, "qlora", 2, (1,), "collectives"),
    ("scatter-nothing", 1, "fsdp2-activation-offload", 2, (1,), "collectives"),
    ("forgotten-shard", 0, "fsdp2-activation-offload", 2, (0,), "device"),
    ("compute-bit", 3, "fsdp-cp", 4, (3,), "device"),
    (exchanged_gradient_bit, 2, "fsdp-cp", 4, (2,), "collectives"),
    ("scatter-own", 1, "fsdp-cp", 4, (1,), "collectives"),
    ("scatter-own", 1, "resume-resized", 2, (1,), "collectives"),
    # On 8 ranks, or with a compiler.
    (attention_backward_off, 3, "fsdp-cp", 4, (3,), "device"),
    (part_of_another, 5, "fsdp-cp-tp", 8, (5,), "collectives"),
    (exchanged_gradient_bit, 6, "fsdp-cp-tp", 8, (6,), "collectives"),
    ("tp-sum-bit", 3, "fsdp-cp-tp", 8, (3,), "collectives"),
    ("mesh-scatter-own", 6, "fsdp-cp-tp", 8, (6,), "collectives"),
    (attention_backward_off, 4, "fsdp-cp-tp", 8, (4,), "device"),
    (part_of_another, 2, "pp-fsdp-cp-tp", 8, (2,), "collectives"),
    (exchanged_bit, 7, "pp-fsdp-cp-tp", 8, (7,), "collectives"),
    (attention_backward_off, 1, "pp-fsdp-cp-tp", 8, (1,), "device"),
    ("tp-sum-bit", 3, "pp-fsdp-cp-tp", 8, (3,), "collectives"),
    ("mesh-gather-bit", 6, "pp-fsdp-cp-tp", 8, (4, 6), "collectives"),
    ("mesh-scatter-own", 0, "pp-fsdp-cp-tp", 8, (0,), "collectives"),
    ("pp-received-bit", 5, "pp-fsdp-cp-tp", 8, (1, 5), "collectives"),
    ("compute-bit", 3, "pp-fsdp-cp-tp", 8, (3,), "device"),
    ("scatter-own", 1, "fsdp2-compile", 2, (1,), "collectives"),
    ("forgotten-shard", 0, "fsdp2-compile", 2, (0,), "device"),
    (compiled_wrongly, 1, "fsdp2-compile", 2, (1,), "device"),
    (compiled_never, "all", "fsdp2-compile", 2, (0, 1), "framework"),
]


def _name(case: Case) -> str:
    fault = case[0] if isinstance(case[0], str) else case[0].__name__
    return f"{fault}-{case[2]}"


def _is_named(fault: Any, rank: int | str, mode: str, world: int, named: tuple[int, ...], layer: str) -> None:
    result = kit.planted(fault, rank, mode, world, 240.0)
    assert (result.state, result.named, result.layer) == ("fail", named, layer), result.message


def test_a_fault_is_named() -> None:
    cases = [(*case[:4], "fail", *case[4:], "") for case in FAULTS]
    assert kit.wrong_of(cases, 240.0) == []


@pytest.mark.heavy
@pytest.mark.parametrize("case", MORE, ids=_name)
def test_a_fault_of_every_mode_is_named(case: Case) -> None:
    _is_named(*case)
