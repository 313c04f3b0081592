"""Byte code of the tests is kept, though modules under test turn that off where they are imported."""

from __future__ import annotations

import sys

import pytest

from rocdoctor.host.probe import interpreter, memory_trace


def test_no_test_begins_without_byte_code() -> None:
    assert (interpreter.SCHEMA, memory_trace.SCHEMA) == ("rocdoctor.probe/1", "rocdoctor.memory-trace/1")
    assert not sys.dont_write_bytecode


def test_nor_does_a_file_that_is_collected(request: pytest.FixtureRequest) -> None:
    sys.dont_write_bytecode = True
    request.config.hook.pytest_collectstart(collector=request.session)
    assert not sys.dont_write_bytecode
