"""What kind of error a rank met, by what the system and its libraries say."""

from __future__ import annotations

import errno
import os

import pytest

torch = pytest.importorskip("torch")
from rocdoctor.train.smoke.worker import rank  # noqa: E402


def _system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(-2, "Name or service not known"), "missing"),
        (OSError(-3, "Temporary failure in name resolution"), "missing"),
        (_system(errno.ETIMEDOUT), "missing"),
        (_system(errno.ECONNREFUSED), "missing"),
        (OSError("libc.so.6: version `GLIBC_2.38' not found (required by x.so)"), "missing"),
        (_system(errno.ENOSPC), "space"),
        (_system(errno.EMFILE), "limit"),
        (_system(errno.EINVAL), "error"),  # a wrong call is no trouble of the machine
        (RuntimeError("timed out waiting for rank 1"), "victim"),
        (KeyError("not found"), "error"),
    ],
)
def test_an_error_of_the_machine_is_told_from_one_of_the_program(error: Exception, kind: str) -> None:
    try:
        raise error
    except Exception as caught:
        assert rank._crash(torch, caught)["kind"] == kind
