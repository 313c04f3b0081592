"""What the log of a rank that died tells of its end. Pure.

A process that a C++ library ends with SIGABRT looks like any other that does; its log tells a watchdog that waited in
vain, which makes the rank a victim, from a fault that the runtime of its GPU met.

Such a fault is rarely the GPU's own: a wrong address is most often that of a kernel or a library, and memory of a peer
is gone once the peer's process has ended. Errors that memory cannot correct alone are the hardware's.
"""

from __future__ import annotations

# ProcessGroupNCCL.cpp of torch (``WorkNCCL::checkTimeout`` and the watchdog), for NCCL and RCCL alike: a rank whose
# collective took longer than the time allowed ends itself, and that is every rank but the one that did not come.
_WAITED = ("watchdog caught collective operation timeout",)
# What libraries of other ranks that have ended leave behind: NCCLUtils.cpp of torch and ncclGetErrorString of nccl, as
# messages_ranks.yaml has them.
_LOST = ("ncclremoteerror", "remote process exited")
# ``Pair::readComplete`` and its like in gloo/transport/tcp/pair.cc: the process that received it is ended.
_OTHER_SIZE = ("op.preamble.length <= op.nbytes",)
# The words of cudaErrorECCUncorrectable; torch prints them after "CUDA error: ".
_HARDWARE = ("uncorrectable ecc error",)
# As programs on ROCm print them (messages.yaml has the sources); CUDA's by torch's own words.
_FAULTS = (
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
    *_HARDWARE,
)
# std::terminate of GNU's C++ library tells the error that nobody caught; Python's faulthandler writes below it.
_UNCAUGHT, _TERMINATED = "what():", "terminate called"
TELLING = (*_WAITED, *_LOST, *_OTHER_SIZE, *_FAULTS, _UNCAUGHT, _TERMINATED)
_OF_FAULTHANDLER = ("Extension modules:", "Fatal Python error:", "Current thread ", "Thread 0x", '  File "')


def waited_in_vain(log: str) -> str:
    """The line by which a library says that it gave up waiting for other ranks; empty when there is none."""
    return "" if runtime_fault(log) else _line(log, (*_WAITED, *_LOST))


def size_refused(log: str) -> str:
    """The line by which gloo says that a message was larger than what this rank expected; empty when there is none."""
    return _line(log, _OTHER_SIZE)


def runtime_fault(words: str) -> str:
    """The line by which a runtime tells of a fault met on the GPU, whoever made it; empty when there is none."""
    return _line(words, _FAULTS)


def hardware_fault(words: str) -> str:
    """The line that accuses the GPU itself; empty when there is none."""
    return _line(words, _HARDWARE)


def abort_words(log: str) -> str:
    """What a process that was aborted wrote of the reason: the error that nobody caught, else its last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith(_OF_FAULTHANDLER)]
    told = [line for word in (_UNCAUGHT, _TERMINATED) for line in lines if line.startswith(word)]
    return next(iter([*told, *lines[-1:]]), "")


def _line(log: str, words: tuple[str, ...]) -> str:
    return next((line.strip() for line in log.splitlines() if any(one in line.lower() for one in words)), "")
