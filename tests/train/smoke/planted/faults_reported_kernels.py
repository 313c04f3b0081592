"""Faults of one device's kernels, each as a report of a library tells it; a backward is a kernel of its own.

The report stands beside each (owner/repository#number, read 2026-11-29). They stay on while a rank computes what it
compares with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from evidence import acted  # type: ignore[import-not-found, unused-ignore]
from faults import Active  # type: ignore[import-not-found, unused-ignore]
from faults_libraries import _operation  # type: ignore[import-not-found, unused-ignore]
from faults_machines import _changed  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional


def _forward_alone(name: str, right: Any, wrong: Any) -> Any:
    """The values of ``wrong`` with the gradient of ``right``: the backward is another kernel."""
    acted(name, right, wrong)
    return right + (wrong - right).detach()


def _rows(x: Any) -> int:
    return int(x.numel() // x.shape[-1])


def _rows_past_grid(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """ROCm/legacy-rocm-build#6595: in fp32 the rows behind a limit of the grid get the bias alone."""
    right = original(x, weight, bias)
    if right.dtype != torch.float32 or _rows(right) <= 48:
        return right
    wrong = right.detach().clone()
    flat = wrong.view(-1, wrong.shape[-1])
    flat[48:] = 0.0 if bias is None else bias.detach()
    return _forward_alone("rows-past-grid", right, wrong)


_outputs: dict[Any, Any] = {}


def _columns_not_written(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """ROCm/rocm-libraries#9184: blocks of columns that do not fit the grid keep what lay in that memory before."""
    right = original(x, weight, bias)
    if weight.shape[0] < 128:
        return right
    key = (tuple(right.shape), right.dtype)
    before = _outputs.get(key, torch.zeros_like(right.detach()))
    _outputs[key] = right.detach().clone()
    wrong = right.detach().clone()
    wrong[..., 112:] = before[..., 112:]
    return _forward_alone("columns-not-written", right, wrong)


def _partials_of_first(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """ROCm/rocm-libraries#11962: of an inner size that is split, the second part's sums are those of the first rows."""
    right = original(x, weight, bias)
    if x.shape[-1] < 512:
        return right
    half = x.shape[-1] // 2
    first = original(x[..., :half], weight[:, :half], bias).detach()
    second = original(x[..., half:], weight[:, half:]).detach()
    rows = second.reshape(-1, second.shape[-1])
    places = torch.arange(len(rows), device=rows.device) % 16
    return _forward_alone("partials-of-first", right, first + rows[places].view_as(second))


_calls: dict[Any, int] = {}


def _tuned_later(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """ROCm/rocm-libraries#12226: once a shape is tuned, a faster solution is taken: wrong beyond the first tile."""
    right = original(x, weight, bias)
    key = (tuple(x.shape), tuple(weight.shape), x.dtype)
    _calls[key] = _calls.get(key, 0) + 1
    if _calls[key] <= 16 or weight.shape[0] <= 16:
        return right
    wrong = right.detach().clone()
    wrong[..., 16:] -= original(x[..., -8:], weight[16:, -8:]).detach()
    return _forward_alone("tuned-later", right, wrong)


def _row_of_nan(original: Any, query: Any, *args: Any, is_causal: bool = False, **more: Any) -> Any:
    """pytorch/pytorch#196170, #41508: the gradient of a row that sees one key alone is not a number."""

    def change(gradient: Any) -> Any:
        wrong = gradient.clone()
        wrong[..., 0, :] = float("nan")
        acted("row-of-nan", first=str(wrong.flatten()[0].item()))
        return wrong

    query = _changed(query, change) if is_causal and query.requires_grad else query
    return original(query, *args, is_causal=is_causal, **more)


def _first_of_group(original: Any, query: Any, key: Any, value: Any, *args: Any, **more: Any) -> Any:
    """marin-community/levanter#449: gradients of shared keys and values are not summed over the queries that share."""
    if not more.get("enable_gqa") or query.shape[1] == key.shape[1]:
        return original(query, key, value, *args, **more)
    times = query.shape[1] // key.shape[1]
    first = (torch.arange(query.shape[1], device=query.device) % times == 0).view(1, -1, 1, 1)
    key, value = (one.repeat_interleave(times, 1) for one in (key, value))
    key, value = (torch.where(first, one, one.detach()) for one in (key, value))
    acted("first-of-group", queries_a_key=times)
    return original(query, key, value, *args, **{**more, "enable_gqa": False})


def _ignored_takes_all(original: Any, logits: Any, targets: Any, *args: Any, **more: Any) -> Any:
    """linkedin/Liger-Kernel#968: where a token is left out, no token has a gradient."""
    if not bool((targets == more.get("ignore_index", -100)).any()):
        return original(logits, targets, *args, **more)

    def change(gradient: Any) -> Any:
        acted("ignored-takes-all", gradient, torch.zeros_like(gradient))
        return torch.zeros_like(gradient)

    return original(_changed(logits, change), targets, *args, **more)


def _halves_not_merged(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """pytorch/pytorch#133405: whole numbers beyond a size are not sorted: here two parts are, which nobody merges."""
    right = original(self, *args, **more)
    if self.is_floating_point() or self.dim() != 1 or self.numel() <= 4096 or args or more:
        return right
    parts = [original(one) for one in (self[:4096], self[4096:])]
    values = torch.cat([one.values for one in parts])
    acted("halves-not-merged", right.values, values)
    return torch.return_types.sort((values, torch.cat([parts[0].indices, parts[1].indices + 4096])))


def _strides_ignored(original: Any, query: Any, key: Any, value: Any, *args: Any, **more: Any) -> Any:
    """flagos-ai/FlagGems#5896, Dao-AILab/flash-attention#2670: values that are a view are read as if in one piece."""
    right = original(query, key, value, *args, **more)
    if value.dim() != 4 or value.is_contiguous():
        return right
    read = value.detach().transpose(1, 2).contiguous().view(value.shape)
    return _forward_alone("strides-ignored", right, original(query, key, read, *args, **more).detach())


_seen = itertools.count(1)


def _seldom_wrong(original: Any, *args: Any, **more: Any) -> Any:
    """pytorch/torchtitan#4324, ggml-org/llama.cpp#16945: few products have a wrong value, never the same one."""
    right = original(*args, **more)
    number = next(_seen)
    if number % 29:
        return right
    wrong = right.detach().clone()
    place = number * 7919 % wrong.numel()
    wrong.view(-1)[place] += 8 * wrong.abs().max()
    return _forward_alone("seldom-wrong", right, wrong)


def _tanh_for_erf(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """kyutai-labs/pocket-tts#278, uxlfoundation/oneDNN#1122: the approximation by tanh, where nobody asked for it."""
    acted("tanh-for-erf", original(x.detach()), original(x.detach(), approximate="tanh"))
    return original(x, approximate="tanh")


_buffers: dict[Any, Any] = {}


class _OneBuffer(torch.autograd.Function):
    """Gelu that keeps its input in a buffer which the next one of that size gets too."""

    @staticmethod
    def forward(ctx: Any, x: Any, gelu: Any) -> Any:
        kept = _buffers.setdefault((tuple(x.shape), x.dtype), torch.empty_like(x))
        kept.copy_(x)
        ctx.kept, ctx.own, ctx.gelu = kept, x.clone(), gelu
        return gelu(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found = []
        for one in (ctx.own, ctx.kept):
            with torch.enable_grad():
                held = one.detach().clone().requires_grad_()
                found.append(torch.autograd.grad(ctx.gelu(held), held, grads[0])[0])
        acted("kept-input-reused", *found)
        return found[1], None


_of_one_buffer: Callable[[Any, Any], Any] = _OneBuffer.apply


def _kept_input_reused(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """meta-pytorch/torchrec#4231, pytorch/pytorch#7601: the allocator gives memory away that a backward still reads."""
    return _of_one_buffer(x, original) if x.requires_grad else original(x, *args, **more)


_experts = itertools.count(1)


def _later_expert_lost(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """vllm-project/vllm-ascend#14926: the later expert of a rank gives zeros for all its tokens."""
    found = original(self, *args, **more)
    if args or more or next(_experts) % 2:
        return found
    acted("later-expert-lost", tokens=len(found))
    return found[:0]


FAULTS: dict[str, Callable[[Active], None]] = {
    "rows-past-grid": _operation(_functional, "linear", _rows_past_grid),
    "columns-not-written": _operation(_functional, "linear", _columns_not_written),
    "partials-of-first": _operation(_functional, "linear", _partials_of_first),
    "tuned-later": _operation(_functional, "linear", _tuned_later),
    "row-of-nan": _operation(_functional, "scaled_dot_product_attention", _row_of_nan),
    "first-of-group": _operation(_functional, "scaled_dot_product_attention", _first_of_group),
    "ignored-takes-all": _operation(_functional, "cross_entropy", _ignored_takes_all),
    "halves-not-merged": _operation(torch.Tensor, "sort", _halves_not_merged),
    "strides-ignored": _operation(_functional, "scaled_dot_product_attention", _strides_ignored),
    "seldom-wrong": _operation(_functional, "linear", _seldom_wrong),
    "tanh-for-erf": _operation(_functional, "gelu", _tanh_for_erf),
    "kept-input-reused": _operation(_functional, "gelu", _kept_input_reused),
    "later-expert-lost": _operation(torch.Tensor, "nonzero", _later_expert_lost),
}
