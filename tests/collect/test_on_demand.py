"""A named check asks for what it looks at, and judges as it does among all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rocdoctor.collect import collect, collect_on_demand
from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.judging.running import run_check
from rocdoctor.model.facts import Machine
from rocdoctor.model.late import late, looked_at
from rocdoctor.report.diagnosis.text import document
from rocdoctor.report.text import render
from rocdoctor.service.evidence import open_evidence

# Each vendor, none, a sleeping GPU, a container, and WSL: small ones, since each is collected anew for each check.
MACHINES = (
    "rx7900xtx-podman",
    "gtx1660ti-laptop",
    "phoenix-laptop",
    "recorded-cpu-vm",
    "wsl2-rx7900xtx",
    "faulty/epyc-cpu-only-proven",
)


class LiveHost:
    """A capture as a live machine: nothing tells in advance what has an answer."""

    origin = "test"
    kind: Kind = "live"

    def __init__(self, inner: Host) -> None:
        self.inner = inner
        self.asked: dict[str, None] = {}

    def ask(self, question: str) -> Answer:
        self.asked[question] = None
        return self.inner.ask(question)

    def prefetch(self, questions: Iterable[str]) -> None:
        self.asked.update(dict.fromkeys(questions))

    def available(self) -> tuple[str, ...]:
        return ()


def live(name: str) -> LiveHost:
    return LiveHost(open_evidence(f"fixtures/{name}.capture"))


def check(name: str) -> Check:
    return load_check(checks_folder() / f"{name}.py")


@pytest.mark.parametrize("name", MACHINES)
def test_each_check_alone_judges_as_among_all(name: str) -> None:
    host = live(name)
    whole = collect(host)
    for path in check_files(checks_folder()):
        one = load_check(path)
        assert run_check(one, collect_on_demand(host)) == run_check(one, whole), one.name


def test_all_together_find_the_same() -> None:
    checks = [load_check(path) for path in check_files(checks_folder())]
    for name in MACHINES:
        found = diagnose(collect_on_demand(live(name)), checks)
        whole = diagnose(collect(live(name)), checks)
        assert (found.verdicts, found.causes) == (whole.verdicts, whole.causes)


def test_a_check_that_looks_at_little_asks_for_little() -> None:
    host = live("rx7900xtx-2gpu")
    diagnose(collect_on_demand(host), [check("oom_killer_log")])
    assert "run dmesg" in host.asked
    assert not [one for one in host.asked if one.startswith(("python", "run rocm", "run amd", "list /sys/class/drm"))]


def test_torch_is_imported_for_checks_that_look_at_it() -> None:
    host = live("rx7900xtx-2gpu")
    diagnose(collect_on_demand(host), [check("pcie_link_narrow")])
    assert not [one for one in host.asked if one.startswith("python")]
    diagnose(collect_on_demand(host), [check("torch_import_fails")])
    assert "python default --import" in host.asked


def test_the_report_is_silent_on_what_nobody_looked_at() -> None:
    found = diagnose(collect_on_demand(live("rx7900xtx-2gpu")), [check("oom_killer_log")])
    shown = render(document(found), 100, False)
    assert "GPU" not in shown
    seen = diagnose(collect_on_demand(live("rx7900xtx-2gpu")), [check("pcie_link_narrow")])
    assert "gpu 0" in render(document(seen), 100, False)
    nothing = diagnose(collect_on_demand(live("rx7900xtx-2gpu")), [check("job_zombie_children")])
    assert "\n\n\n" not in render(document(nothing), 100, False)


def test_what_was_left_unanswered_is_told_of_what_was_asked() -> None:
    class Refusing(LiveHost):
        def ask(self, question: str) -> Answer:
            return Answer(question, "denied") if question == "run dmesg" else super().ask(question)

    found = diagnose(collect_on_demand(Refusing(open_evidence("fixtures/rx580.capture"))), [check("oom_killer_log")])
    assert [one.question for one in found.machine.unanswered] == ["run dmesg"]


def test_a_late_record_finds_out_once_and_has_no_other_fields() -> None:
    calls: list[str] = []
    ways = {"laptop": lambda: calls.append("laptop")}
    one: Any = late(Machine, {"gpus_complete": True}, ways, {"kfd_complete": lambda: True})
    assert one.gpus_complete
    assert one.laptop is one.laptop is None
    assert calls == ["laptop"]
    with pytest.raises(AttributeError):
        _ = one.nodes
    plain = looked_at(one)
    assert type(plain) is Machine
    assert plain.laptop is None
    assert not plain.nodes
    assert plain.kfd_complete
