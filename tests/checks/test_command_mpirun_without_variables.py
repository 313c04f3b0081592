"""mpirun over nodes without -x. The texts are constructed from the loader's message."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Finding
from tests.message_kit import words_of
from tests.text_kit import diagnosed, first_cause

CHECK = "command-mpirun-without-variables"
MISSING = (
    "\n./xhpl: error while loading shared libraries: libopenblas.so.0: cannot open shared object file: No such file or "
    "directory\n"
)


def _finding(text: str) -> Finding | None:
    return next((one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding), None)


def test_the_option_is_named() -> None:
    text = "$ mpirun -np 2 -H node01,node02 ./xhpl" + MISSING
    assert "-x LD_LIBRARY_PATH" in words_of(_finding(text)) and first_cause(text) == "missing-shared-library"


@pytest.mark.parametrize(
    "text",
    [
        "$ mpirun -np 2 -H node01,node02 ./xhpl\nworks",
        "$ mpirun -np 2 ./xhpl" + MISSING,
        "$ mpirun -np 2 -H localhost:2 ./xhpl" + MISSING,
        "$ mpirun -x LD_LIBRARY_PATH -np 2 -H node01,node02 ./xhpl" + MISSING,
    ],
)
def test_other_launches_are_not_accused(text: str) -> None:
    assert _finding(text) is None
