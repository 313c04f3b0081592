"""Names and values of measured figures for people. Pure."""

from __future__ import annotations

_UNITS = (
    ("_tflops", "TFLOPS"),
    ("_gb_s", "GB/s"),
    ("_tokens_per_s", "tokens/s"),
    ("_us", "µs"),
    ("_c", "°C"),
    ("_w", "W"),
    ("_mhz", "MHz"),
    ("_percent", "%"),
    ("_s", "s"),
)
_SHARES = ("mfu", "of_matmul", "scaling", "slowed")
_NAMES = {
    "train_tokens_per_s": "training",
    "train_model_tflops": "training, the model's operations",
    "train_compiled_tokens_per_s": "training, compiled",
    "train_compiled_model_tflops": "training, compiled, operations",
    "train_compiled_mfu": "training, compiled, MFU",
    "train_compiled_of_matmul": "training, compiled, share of matmul",
    "op_start_us": "start of a small operation",
    "op_round_trip_us": "small operation and wait",
    "train_mfu": "training, share of the peak (MFU)",
    "train_of_matmul": "training, share of the matmul rate",
    "train_scaling": "training, scaling efficiency",
    "compile_speedup": "compiled over eager",
    "slowed": "time with clocks held down",
    "soak_tflops": "sustained matmul",
    "clock_mhz": "clock under load",
    "temp_max_c": "hottest sensor",
    "power_max_w": "most power",
    "pcie_link_gb_s": "PCIe link under load",
    "host_to_device_pinned_gb_s": "host to device, pinned",
    "host_to_device_pageable_gb_s": "host to device, pageable",
    "device_to_host_pinned_gb_s": "device to host, pinned",
    "device_to_host_pageable_gb_s": "device to host, pageable",
    "all_reduce_bus_gb_s": "all-reduce, bus bandwidth",
    "busy_before_percent": "busy before the measurement",
}


def title(name: str) -> str:
    """A figure's name in words; of an unknown one, what its own name says."""
    if name in _NAMES:
        return _NAMES[name]
    ending = next((ending for ending, _ in _UNITS if name.endswith(ending)), "")
    words = name.removesuffix(ending).replace("_", " ")
    return "".join(sign for sign in words if sign.isprintable())[:60]


def with_unit(name: str, value: float) -> str:
    """A value as people write it: four digits at most, shares in per cent."""
    if name.endswith(_SHARES):
        return f"{value:.0%}"
    if name.endswith("_tflops") and value < 0.1:
        return f"{value * 1000:.3g} GFLOPS"
    unit = next((words for ending, words in _UNITS if name.endswith(ending)), "")
    return f"{value:,.0f} {unit}".rstrip() if value >= 1000 else f"{value:.4g} {unit}".rstrip()
