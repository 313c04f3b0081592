"""Threads and workers. The texts are constructed from the formats of onnxruntime, OpenBLAS and torch."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "thread-affinity-message"


def test_threads_bound_outside_the_job() -> None:
    text = (
        "#SBATCH -c 4\nslurm\n[E:onnxruntime:Default, env.cc:254 ThreadMain] pthread_setaffinity_np failed for thread: "
        "3133, index: 2, mask: {3, 67, }, error code: 22 error msg: Invalid argument. Specify the number of threads"
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "warning" and "affinity" in found.message
    assert "intra_op_num_threads" in words_of(found) and "--cpus-per-task" in words_of(found)


def test_threads_that_cannot_be_started() -> None:
    text = "OpenBLAS blas_thread_init: pthread_create failed for thread 12 of 64: Resource temporarily unavailable"
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "error" and "64 threads" in found.message


def test_more_workers_than_cpus() -> None:
    text = (
        "UserWarning: This DataLoader will create 16 worker processes in total. Our suggested max number of worker in "
        "current system is 4, which is smaller than what this DataLoader is going to create."
    )
    said = words_of(finding_of(CHECK, text))
    assert "16" in said and "4 CPUs" in said


def test_words_are_possible_only() -> None:
    found = finding_of(CHECK, "All loader workers run on one core; taskset shows an affinity mask of 1.")
    assert found is not None and found.confidence == "possible" and "OMP_NUM_THREADS" in words_of(found)


def test_the_usual_note_of_torchrun_is_silent() -> None:
    text = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid overload"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]
