"""What training is made of: each operation as torch's library computes it, and by plain formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from . import plain
from .mode import release

Shapes = tuple[tuple[int, ...], ...]
# (name, shapes of the inputs, the library's function, the plain one); every function is differentiable.
Operation = tuple[str, Shapes, Callable[..., Any], Callable[..., Any]]


def numbers(torch: Any, shape: tuple[int, ...], below: int, device: Any) -> Any:
    """Whole numbers with many repetitions, for tokens, targets and places."""
    count = math.prod(shape)
    return torch.arange(count, device=device).mul_(7).add_(3).remainder_(below).reshape(shape)


def operations(torch: Any) -> Iterator[Operation]:
    """All of them. Sizes are no multiples of a tile, but where a size is common."""
    yield from _products(torch)
    yield from _attentions(torch)
    functional = torch.nn.functional
    yield (
        "layer norm",
        ((33, 65), (65,), (65,)),
        lambda x, *two: functional.layer_norm(x, (65,), *two),
        plain.layer_norm,
    )
    if hasattr(functional, "rms_norm"):
        yield "RMS norm", ((33, 65), (65,)), lambda x, weight: functional.rms_norm(x, (65,), weight, 1e-5), _rms_norm
    yield "batch norm", ((33, 9), (9,), (9,)), _library_batch_norm(torch), _batch_norm
    yield "softmax", ((33, 129),), lambda x: torch.softmax(x, -1), plain.softmax
    yield "log of softmax", ((33, 129),), lambda x: torch.log_softmax(x, -1), lambda x: plain.softmax(x).log()
    yield "gelu", ((33, 65),), functional.gelu, lambda x: plain.gelu(torch, x)
    yield "exponential", ((33, 65),), lambda x: torch.exp(-3 * x * x), lambda x: (-3 * x * x).exp()
    yield (
        "square root and its reciprocal",
        ((33, 65), (33, 65)),
        lambda x, y: (x * x + 1).sqrt() + (y * y + 1).rsqrt(),
        lambda x, y: (x * x + 1) ** 0.5 + (y * y + 1) ** -0.5,
    )
    yield "hyperbolic tangent", ((33, 65),), torch.tanh, lambda x: 2 / (1 + (-2 * x).exp()) - 1
    yield "sine and cosine", ((33, 65), (33, 65)), lambda x, y: x.sin() * y.cos(), lambda x, y: x.sin() * y.cos()
    yield "silu", ((33, 65),), functional.silu, lambda x: x / (1 + (-x).exp())
    yield "sigmoid", ((33, 65),), torch.sigmoid, lambda x: 1 / (1 + (-x).exp())
    yield "log of sigmoid", ((33, 65),), functional.logsigmoid, lambda x: -(1 + (-x).exp()).log()
    yield "mean squared error", ((33, 65), (33, 65)), functional.mse_loss, lambda x, y: ((x - y) ** 2).sum() / (33 * 65)
    yield (
        "relu, some inputs zero",
        ((33, 65),),
        lambda x: functional.relu(_some_zero(torch, x)),
        lambda x: _some_zero(torch, x) * (_some_zero(torch, x) > 0),
    )
    yield "sum over rows", ((257, 63),), lambda x: x.sum(0), lambda x: _ones(torch, x, 257) @ x
    yield "mean of each row", ((65, 127),), lambda x: x.mean(-1), lambda x: x @ _ones(torch, x, 127) / 127
    yield "largest of each row", ((65, 129),), lambda x: x.amax(-1), _largest
    yield "sum of two, one of them transposed", ((65, 33), (33, 65)), lambda x, y: x + y.T, lambda x, y: x + y.T
    yield (
        "embedding",
        ((97, 24),),
        lambda table: functional.embedding(numbers(torch, (5, 67), 97, table.device), table),
        lambda table: plain.embedding(torch, numbers(torch, (5, 67), 97, table.device), table),
    )
    yield (
        "cross-entropy",
        ((67, 101),),
        lambda x: functional.cross_entropy(x, numbers(torch, (67,), 101, x.device)),
        lambda x: plain.row_losses(torch, x, numbers(torch, (67,), 101, x.device)).sum() / 67,
    )
    yield (
        "gathered elements",
        ((31, 17),),
        lambda x: x.gather(1, numbers(torch, (31, 23), 17, x.device)),
        lambda x: (plain.one_hot(torch, numbers(torch, (31, 23), 17, x.device), 17, x.dtype) * x[:, None]).sum(-1),
    )
    yield (
        "rows added up by number",
        ((61, 9),),
        lambda x: torch.zeros(7, 9, dtype=x.dtype, device=x.device).index_add(0, numbers(torch, (61,), 7, x.device), x),
        lambda x: plain.one_hot(torch, numbers(torch, (61,), 7, x.device), 7, x.dtype).T @ x,
    )


def _some_zero(torch: Any, x: Any) -> Any:
    """The same, but every third number, whose gradient passes, is zero."""
    return x - x.detach() * (numbers(torch, tuple(x.shape), 3, x.device) == 0)


def _products(torch: Any) -> Iterator[Operation]:
    functional = torch.nn.functional
    yield "matrix product", ((129, 257), (257, 65)), torch.matmul, torch.matmul
    yield "product with a transposed matrix", ((96, 128), (64, 128)), lambda x, y: x @ y.T, lambda x, y: x @ y.T
    yield (
        "product of every second column",
        ((65, 130), (65, 33)),
        lambda x, y: x[:, ::2] @ y,
        lambda x, y: x[:, ::2] @ y,
    )
    yield "product of one row", ((1, 515), (515, 129)), torch.matmul, torch.matmul
    yield "product with one column", ((129, 515), (515, 1)), torch.matmul, torch.matmul
    yield "batched product", ((7, 33, 65), (7, 65, 31)), torch.bmm, torch.matmul
    for inner in (33, 128, 512):
        shapes = ((3, 21, inner), (130, inner), (130,))
        yield f"linear of {inner}", shapes, functional.linear, plain.linear
    yield "linear of many rows", ((5, 67, 128), (130, 128), (130,)), functional.linear, plain.linear
    yield (
        "convolution",
        ((2, 5, 19, 19), (7, 5, 3, 3)),
        lambda image, kernel: functional.conv2d(image, kernel, padding=1),
        lambda image, kernel: _convolution(image, kernel, 1),
    )


def _attentions(torch: Any) -> Iterator[Operation]:
    functional = torch.nn.functional
    # Lengths that no tile divides, and one that eight does.
    for head, length, causal in ((16, 37, True), (64, 40, True), (128, 33, False)):
        yield (
            f"{'causal ' if causal else ''}attention of {head}",
            ((2, 2, length, head),) * 3,
            lambda *three, way=causal: functional.scaled_dot_product_attention(*three, is_causal=way),
            lambda q, k, v, way=causal: plain.attention(torch, q, k, v, way),
        )


def rarer(torch: Any) -> Iterator[Operation]:
    """What releases of libraries had wrong while all of the usual was right: other layouts, sizes and options.

    ROCm/legacy-rocm-build#4615 (both transposed), NVIDIA/TransformerEngine#3216 (heads of 256),
    NVIDIA/Megatron-LM#7452 (tokens left out); read 2026-11-28.
    """
    functional = torch.nn.functional
    yield "product of two transposed matrices", ((96, 65), (33, 96)), lambda x, y: x.T @ y.T, lambda x, y: (y @ x).T
    # Rows beyond 1,024 go by another kernel: dispatch_softmax_forward in torch's PersistentSoftmax.cuh.
    # Powers of e overflow above 88 in fp32: the largest of a row is taken off before.
    yield (
        "softmax of long rows of large numbers",
        ((3, 4099),),
        lambda x: torch.softmax(64 * x, -1),
        lambda x: plain.softmax(64 * x),
    )
    yield (
        "layer norm of long rows",
        ((3, 4099), (4099,), (4099,)),
        lambda x, *two: functional.layer_norm(x, (4099,), *two),
        plain.layer_norm,
    )
    yield (
        "cross-entropy of long rows, ignored tokens",
        ((7, 4099),),
        lambda x: functional.cross_entropy(x, _left_out(torch, x), ignore_index=_NONE),
        lambda x: plain.row_losses(torch, x[1::2], numbers(torch, (7,), 4099, x.device)[1::2]).sum() / 3,
    )
    yield (
        "causal attention of 256",
        ((2, 2, 24, 256),) * 3,
        lambda *three: functional.scaled_dot_product_attention(*three, is_causal=True),
        lambda q, k, v: plain.attention(torch, q, k, v, True),
    )
    yield (
        "attention with a mask",
        ((2, 2, 24, 32), (2, 2, 40, 32), (2, 2, 40, 32)),
        lambda *three: functional.scaled_dot_product_attention(*three, attn_mask=_mask(torch, three[0])),
        lambda q, k, v: _masked_attention(q, k, v, _mask(torch, q)),
    )
    yield (
        "grouped-query attention",
        ((2, 4, 24, 32), (2, 2, 24, 32), (2, 2, 24, 32)),
        lambda *three: functional.scaled_dot_product_attention(*three, is_causal=True, **_sharing(torch)),
        lambda q, k, v: plain.attention(torch, q, _repeated(k), _repeated(v), True),
    )


def rarer_convolutions(torch: Any) -> Iterator[Operation]:
    """ROCm/MIOpen#97 and #55, and one of each channel alone; read 2026-11-28.

    For one type: forward and backward of each are kernels of their own, which MIOpen compiles on a new machine.
    """
    functional = torch.nn.functional
    yield (
        "5 x 5 convolution with stride 2",
        ((2, 3, 14, 14), (4, 3, 5, 5)),
        lambda image, kernel: functional.conv2d(image, kernel, stride=2),
        lambda image, kernel: _convolution(image, kernel, 0, 2),
    )
    yield (
        "1 x 1 convolution with padding 2",
        ((2, 5, 7, 7), (4, 5, 1, 1)),
        lambda image, kernel: functional.conv2d(image, kernel, padding=2),
        lambda image, kernel: _convolution(image, kernel, 2),
    )
    yield (
        "depthwise convolution",
        ((2, 5, 9, 9), (5, 1, 3, 3)),
        lambda image, kernel: functional.conv2d(image, kernel, padding=1, groups=5),
        lambda image, kernel: _convolution(image, _apart(torch, kernel), 1),
    )


_NONE = -100


def _left_out(torch: Any, x: Any) -> Any:
    """Targets, every second of which is left out of the mean."""
    found = numbers(torch, (7,), 4099, x.device)
    found[::2] = _NONE
    return found


def _mask(torch: Any, query: Any) -> Any:
    """Which of 40 keys each of 24 queries sees: its own of four kinds, and the first."""
    rows, columns = (torch.arange(size, device=query.device) for size in (24, 40))
    return ((rows[:, None] + columns) % 4 == 0) | (columns == 0)


def _masked_attention(query: Any, key: Any, value: Any, mask: Any) -> Any:
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return plain.softmax(scores.masked_fill(~mask, float("-inf"))) @ value


def _repeated(heads: Any) -> Any:
    """Each head twice, side by side."""
    return heads[:, [0, 0, 1, 1]]


def _sharing(torch: Any) -> dict[str, bool]:
    """How queries are told to share keys: torch 2.5 brought it."""
    if release(torch) < (2, 5):
        raise NotImplementedError("grouped-query attention is not implemented before torch 2.5")
    return {"enable_gqa": True}


def _apart(torch: Any, kernel: Any) -> Any:
    """Kernels of single channels as kernels of all channels: zeros elsewhere."""
    count = kernel.shape[0]
    return kernel * torch.eye(count, dtype=kernel.dtype, device=kernel.device)[:, :, None, None]


def _ones(torch: Any, like: Any, size: int) -> Any:
    return torch.ones(size, dtype=like.dtype, device=like.device)


def _largest(x: Any) -> Any:
    """Equal ones share the gradient."""
    here = x.detach() == x.detach().sort(-1).values[:, -1:]
    return (x * here).sum(-1) / here.sum(-1)


def _rms_norm(x: Any, weight: Any) -> Any:
    return x / ((x * x).sum(-1, keepdim=True) / x.shape[-1] + 1e-5) ** 0.5 * weight


def _library_batch_norm(torch: Any) -> Callable[..., Any]:
    return lambda x, weight, bias: torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True)


def _batch_norm(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.sum(0) / x.shape[0]
    return centred / ((centred * centred).sum(0) / x.shape[0] + 1e-5) ** 0.5 * weight + bias


def _convolution(image: Any, kernel: Any, border: int, stride: int = 1) -> Any:
    """With a border of zeros: a shifted product of channels for each place of the kernel."""
    height, width = image.shape[-2:]
    wide = image.new_zeros(*image.shape[:2], height + 2 * border, width + 2 * border)
    wide[:, :, border : border + height, border : border + width] = image
    size = kernel.shape[-1]
    last = [one - size + 1 for one in wide.shape[-2:]]
    total: Any = 0.0
    part = image
    for row in range(size):
        for column in range(size):
            part = wide[:, :, row : row + last[0] : stride, column : column + last[1] : stride]
            total = total + kernel[:, :, row, column] @ part.flatten(2)
    return total.unflatten(-1, part.shape[-2:])


def known_answers(torch: Any) -> Iterator[tuple[str, Callable[..., Any], list[Any], list[float]]]:
    """(name, function, inputs, what comes out): worked out by hand, so with nothing in common with any library."""
    functional = torch.nn.functional
    logs = [0.0, math.log(2.0), math.log(3.0)]
    yield "softmax of log 1, 2, 3", lambda x: torch.softmax(x, -1), [logs], [1 / 6, 1 / 3, 1 / 2]
    yield (
        "cross-entropy of log 1, 2, 3",
        lambda x: functional.cross_entropy(x, torch.tensor([2, 0], device=x.device), reduction="none"),
        [[logs, logs]],
        [math.log(2.0), math.log(6.0)],
    )
    points = [-2.0, -1.0, 0.0, 1.0, 2.0]
    normal = [0.022750131948179195, 0.15865525393145707, 0.5, 0.8413447460685429, 0.9772498680518208]
    yield "gelu", functional.gelu, [points], [x * share for x, share in zip(points, normal)]
    third = 1.0 / math.sqrt(1.25 + 1e-5)
    scaled = [-1.5 * third, -0.5 * third, 0.5 * third, 1.5 * third]
    yield "layer norm of 1, 2, 3, 4", lambda x: functional.layer_norm(x, (4,)), [[1.0, 2.0, 3.0, 4.0]], scaled
    yield (
        "causal attention without a preference",
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True)[..., 0].flatten(),
        [[[[[0.0] * 8] * 4]], [[[[1.0] * 8] * 4]], [[[[value] * 8 for value in (3.0, 5.0, 10.0, 2.0)]]]],
        [3.0, 4.0, 6.0, 5.0],
    )
    table = [[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]
    yield (
        "embedding",
        lambda rows: functional.embedding(torch.tensor([2, 0, 2], device=rows.device), rows).flatten(),
        [table],
        [7.0, 11.0, 1.0, 2.0, 7.0, 11.0],
    )
    yield "linear", functional.linear, [[1.0, 2.0], table, [0.5, 0.25, 0.125]], [5.5, 13.25, 29.125]
