"""What the log of a rank that died tells of its end. Pure.

A process that a C++ library ends with SIGABRT looks like any other that does; its log tells a watchdog that waited in
vain, which makes the rank a victim, from a fault of its GPU.
"""

from __future__ import annotations

# ProcessGroupNCCL.cpp of torch (``WorkNCCL::checkTimeout`` and the watchdog), for NCCL and RCCL alike: a rank whose
# collective took longer than the time allowed ends itself, and that is every rank but the one that did not come.
_WAITED = ("watchdog caught collective operation timeout",)
# What libraries of other ranks that have ended leave behind (NCCLUtils.hpp of torch, ``ncclRemoteError``).
_LOST = ("ncclremoteerror", "remote process exited")
# runtime.cpp of ROCR-Runtime (``VMFaultHandler``, ``HwExceptionHandler``, queue errors); CUDA's by torch's own words.
_DEVICE = (
    "memory access fault by gpu",
    "hw exception by gpu",
    "hsa_status_error_exception",
    "hsa_status_error_memory_aperture_violation",
    "hsa_status_error_illegal_instruction",
    "hip error: an illegal memory access",
    "hip error: unspecified launch failure",
    "cuda error: an illegal memory access",
    "cuda error: unspecified launch failure",
    "cuda error: misaligned address",
    "uncorrectable ecc error",
)
TELLING = (*_WAITED, *_LOST, *_DEVICE)


def waited_in_vain(log: str) -> str:
    """The line by which a library says that it gave up waiting for other ranks; empty when there is none."""
    return "" if device_fault(log) else _line(log, (*_WAITED, *_LOST))


def device_fault(log: str) -> str:
    """The line by which a runtime tells of a fault of the GPU; empty when there is none."""
    return _line(log, _DEVICE)


def _line(log: str, words: tuple[str, ...]) -> str:
    return next((line.strip() for line in log.splitlines() if any(one in line.lower() for one in words)), "")
