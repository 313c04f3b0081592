"""Threads that settled something: each is about a row or check that exists, and stands in the list of threads read."""

from __future__ import annotations

from collections import Counter
from datetime import date

from rocdoctor.judging.loading import check_files, checks_folder, name_of
from rocdoctor.knowledge.lookup import causes
from rocdoctor.knowledge.messages.open_symptoms import symptoms
from rocdoctor.knowledge.messages.program_errors import message_kinds
from rocdoctor.knowledge.messages.threads import Thread, threads, threads_like
from rocdoctor.paste import open_text
from rocdoctor.service.reading import judged
from tests.examples import rows
from tests.kit import ROOT
from tests.text_kit import all_checks

_THREADS = list(threads())
_LIST = (ROOT / "docs" / "threads_read.txt").read_text(encoding="utf-8").splitlines()


@rows("thread", _THREADS, ids=lambda one: one.name)
def test_a_thread_is_about_what_exists_and_was_read(thread: Thread) -> None:
    names = {name_of(path) for path in check_files(checks_folder())} | {one.name for one in symptoms()}
    assert thread.cause in causes()
    assert set(thread.about) <= names | set(message_kinds())
    assert set(thread.about) - {"known-message"}, "known-message says everything, so it tells nothing"
    assert thread.name in _LIST
    assert thread.settled.endswith(".")
    assert date.fromisoformat(thread.day) >= date(2026, 11, 24)
    assert thread.by in ("reporter", "maintainer", "participant")


def test_there_are_many_and_each_stands_once() -> None:
    assert len(threads()) >= 60
    assert [name for name, count in Counter(one.name for one in threads()).items() if count > 1] == []


def test_those_of_another_cause_or_matter_are_not_like_it() -> None:
    found = threads_like("shm-too-small", {"shared-memory-message"})
    assert 1 <= len(found) <= 2 and {one.cause for one in found} == {"shm-too-small"}
    assert threads_like("memlock-limit", {"shared-memory-message"}) == ()
    assert threads_like("shm-too-small", {"rdma-error-message"}) == ()


def test_reading_a_text_names_them() -> None:
    text = "RuntimeError: DataLoader worker (pid 13) is killed by signal: Bus error.\n"
    found = judged(open_text(text, "test"), all_checks())
    assert found.causes[0].cause == "shm-too-small"
    assert found.threads[0].address.startswith("https://github.com/")
    assert judged(open_text("All is well here.\n", "test"), all_checks()).threads == ()
