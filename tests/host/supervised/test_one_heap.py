"""Where addresses are limited, threads take none for heaps of their own."""

from __future__ import annotations

import subprocess
import sys

from tests.kit import ROOT

_MIB = 1 << 20
_PROGRAM = """
import resource, threading
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
from rocdoctor.host.supervised.command_child import _one_heap
_one_heap()
threading.stack_size(1 << 20)
def size():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
before, held, all_here, go = size(), [], threading.Barrier(4), threading.Event()
def take():
    all_here.wait()
    held.append([bytes(3000) for _ in range(100)])
    go.wait()
threads = [threading.Thread(target=take) for _ in range(3)]
for one in threads: one.start()
all_here.wait()
while len(held) < 3: pass
print(size() - before)
go.set()
"""


def test_a_thread_sets_no_addresses_aside_where_they_are_limited() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 32 * _MIB  # a heap of its own takes each thread 64 MiB
