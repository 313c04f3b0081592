from __future__ import annotations

import subprocess

from rocdoctor.emit.env import render, settings
from rocdoctor.facts import Cpus
from tests.kit import amd_gpu, k, machine


def test_threads_are_shared_among_the_ranks_of_one_machine() -> None:
    found = settings(machine(amd_gpu(0), amd_gpu(1), cpus=Cpus(threads=k(64), usable=k(32))))
    assert [(one.name, one.value) for one in found] == [("OMP_NUM_THREADS", "16")]


def test_an_integrated_gpu_is_left_out_where_the_numbers_are_known() -> None:
    discrete = amd_gpu(0, hip_index=1)
    integrated = amd_gpu(1, integrated=True, hip_index=0)
    found = {one.name: one.value for one in settings(machine(discrete, integrated))}
    assert found["HIP_VISIBLE_DEVICES"] == "1"
    assert "HIP_VISIBLE_DEVICES" not in {one.name for one in settings(machine(amd_gpu(0), integrated))}


def test_a_shell_reads_what_is_written() -> None:
    text = render(machine(amd_gpu(0), cpus=Cpus(threads=k(8), usable=k(8))))
    done = subprocess.run(["sh", "-c", text + 'echo "$OMP_NUM_THREADS"'], capture_output=True, text=True, check=True)
    assert done.stdout == "8\n"


def test_a_machine_that_needs_nothing_is_told_so() -> None:
    assert "nothing is needed" in render(machine(amd_gpu(0)))
