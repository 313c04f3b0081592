"""The first line of a pasted report is its title, which is marked as a comment of code is."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.logs.report_title import is_title

_BELOW = "It happens on every start of the container, and reinstalling did not help."


@pytest.mark.parametrize(
    "title",
    [
        "# error while loading shared libraries: libhsa-runtime64.so.1: cannot open shared object file",
        "# [Bug]: training ends with CUDA out of memory on the second epoch",
        "# SELinux failure with podman and my GPU",
    ],
)
def test_a_title_tells_of_the_fault(title: str) -> None:
    assert is_title(1, [title, "", _BELOW])
    assert not is_title(2, ["One more line.", title, _BELOW])


@pytest.mark.parametrize(
    ("title", "below"),
    [
        ("# fix: CUDA out of memory in the second epoch", _BELOW),
        ("# [Feature]: a message for CUDA out of memory", _BELOW),
        ("# What does CUDA out of memory mean?", _BELOW),
        ("# CUDA out of memory may be a wrong message", _BELOW),
        ("# CUDA out of memory: solved", _BELOW),
        ("# CUDA out of memory in the second epoch", "This PR halves the batch, so that the second epoch has room."),
        ("# CUDA out of memory where it is not caught", "import torch\nx = torch.zeros(4)\nprint(x)"),
        ("# CUDA out of memory in the second epoch", "# another comment\nset -e\npython train.py --epochs 2"),
    ],
)
def test_titles_of_changes_and_comments_of_code_do_not(title: str, below: str) -> None:
    assert not is_title(1, [title, *below.split("\n")])


def test_a_title_in_the_first_person_counts_above_a_file_alone() -> None:
    file = ["", "ARG PYTORCH_VERSION=1.8.1", "# Python 3.7 is in this image", "RUN apt-get update"]
    assert is_title(1, ["# I build the image, however I get 'RuntimeError: DataLoader worker is killed'", *file])
    assert not is_title(1, ["# if I get a RuntimeError: DataLoader worker is killed, halve the batch", *file])
    assert not is_title(1, ["# RuntimeError: DataLoader worker is killed", *file])


def test_a_labelled_title_counts_above_a_log_alone() -> None:
    log = ["", "ERROR 10-13 09:06:25 RuntimeError: NCCL error: unhandled system error"]
    assert is_title(1, ["# [Bug]: nodes run out of /dev/shm space due to NCCL", *log])
    assert not is_title(1, ["# nodes run out of /dev/shm space due to NCCL", *log])
    assert not is_title(1, ["# [Bug] solved: nodes run out of /dev/shm space", *log])
