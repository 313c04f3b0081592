"""``rocdoctor fleet``, ``record`` and ``gate``: what they print, their exit statuses, unreadable input."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.fleet.acting import ActionLimits, ActionPlan
from rocdoctor.fleet.read_record import RecordReader
from rocdoctor.fleet.store import Batch, Store
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.service.fleet_apply import Acting
from tests.fleet.kit import NOW, fleet_of, line, node, sick
from tests.kit import ROOT

_FIXTURE = str(ROOT / "fixtures" / "mi300x-8gpu.capture")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(fleet_of(tmp_path / "fleet"))


def test_the_page_of_a_terminal_begins_with_what_to_do(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "judge", store]) == 1
    out = capsys.readouterr().out
    assert out.startswith("11 of 12 nodes reported: 1 to drain, 1 not known, 1 fleet-wide finding.\n")
    assert "  n3  gpu 2: The sentence of ras-uncorrectable. [ras-uncorrectable 2/2]" in out
    assert "not a JSON text" in out
    assert "5.4.0-1; 6.8.0-71-generic on peer nodes" in out
    assert "no node counts as odd" in re.sub(r"\s+", " ", out)


def test_json_and_a_line_each(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["fleet", "judge", store, "--json"])
    data = json.loads(capsys.readouterr().out)
    assert [(one["node"], one["class"], one["proposal"]) for one in data["nodes"]] == [
        ("n3", "certain", "drain"),
        ("n5", "unknown", "none"),
        ("n4", "different", "none"),
    ]
    assert data["counts"]["well"] == 9
    run(["fleet", "judge", store, "--quiet"])
    assert capsys.readouterr().out.splitlines() == [
        "n3\tdrain\tgpu 2: The sentence of ras-uncorrectable. [ras-uncorrectable 2/2]"
    ]


def test_no_input_and_times_that_no_calendar_has(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["fleet", "tick", store, "-", "--at", "999999999999"]) == 2
    assert run(["fleet", "since", store, "999999999999"]) == 2
    assert "is not a time such as" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", None)
    assert run(["fleet", "tick", store, "-"]) == 2
    assert "standard input: it is closed" in capsys.readouterr().err


def test_the_command_that_names_no_nodes_is_told_in_an_order_that_works(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "run", store, "--on", "clush"]) == 2
    told = capsys.readouterr().err
    assert "rocdoctor fleet run STORE 'gpu[01-40]' --on clush" in told


def test_the_past_and_one_node(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "judge", store, "--at", "2026-11-24T13:42Z"]) == 0, "one look is not enough to drain"
    assert "1 to watch" in capsys.readouterr().out
    assert run(["fleet", "why", store, "n3"]) == 1
    told = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "Likely cause: the GPU reports hardware errors (gpu-hardware-fault). Seen often enough to act." in told
    assert "Hardware: AMD Instinct MI300X (1002:74a1) AMD EPYC 9354" in told
    assert "What it means: rocdoctor explain ras-uncorrectable" in told
    assert run(["fleet", "why", store, "n1"]) == 0
    assert "no findings" in capsys.readouterr().out
    assert run(["fleet", "why", store, "n1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == []
    assert run(["fleet", "why", store, "n100"]) == 2, "a node that nobody ever heard of"
    capsys.readouterr()
    assert run(["fleet", "why", store, "n[1,3]"]) == 1, "a list as tick prints it"
    told = capsys.readouterr().out
    assert told.index("n1: no findings") < told.index("n3: certain; drain it.")
    assert run(["fleet", "why", store, "n[1,99]"]) == run(["fleet", "why", store, "n[1"]) == 2
    assert "n99: no record of this node has ever arrived" in capsys.readouterr().err
    assert run(["fleet", "page", store, "x.html", "--json"]) == 2
    assert run(["fleet", "judge", store, "--at", "1999-01-01"]) == 2
    assert run(["fleet", "judge", store, "--at", "yesterday"]) == 2


def test_a_tick_takes_in_what_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "lines"
    lines.write_text(line(node("n1", NOW)) + "\nno name\nn2: {\n")
    store = str(tmp_path / "fleet")
    assert run(["fleet", "ingest", store, str(lines)]) == 0
    assert run(["fleet", "tick", store, "--at", str(NOW)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1 of 2 nodes reported: 1 not known.")
    assert "1 records, 1 unreadable (e.g. n2: not a JSON text), 1 lines without a node name" in err
    assert run(["fleet", "tick", store, str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert run(["fleet", "judge", str(tmp_path / "none")]) == 2
    assert "no round yet" in capsys.readouterr().err


def test_one_html_file_that_asks_for_nothing(tmp_path: Path) -> None:
    page = tmp_path / "fleet.html"
    store = tmp_path / "fleet"
    lines = tmp_path / "lines"
    bad = sick("ras-uncorrectable", 2)
    message = "<script>alert(1)</script>\x1b[31m & more"
    text = json.dumps(message)
    lines.write_text("\n".join(line(node(f"n{n}", NOW, bad) if n == 3 else node(f"n{n}", NOW)) for n in range(8)))
    lines.write_text(lines.read_text().replace('"The sentence of ras-uncorrectable."', text))
    run(["fleet", "tick", str(store), str(lines), "--at", str(NOW)])
    assert run(["fleet", "page", str(store), str(page)]) == 0
    content = page.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in content
    assert "<script" not in content
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", content)
    assert content.isascii() or "\x1b" not in content


def test_metrics_are_in_the_form_of_prometheus(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fleet.prom"
    assert run(["fleet", "metrics", store, str(path)]) == 0
    text = path.read_text()
    sample = re.compile(r'[a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? \d+')
    lines = text.splitlines()
    assert text.endswith("\n")
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) == 4
    assert 'rocdoctor_fleet_nodes{class="well"} 9' in lines
    labels = 'node="n3",class="certain",proposal="drain",check="ras-uncorrectable",cause="gpu-hardware-fault"'
    assert f"rocdoctor_node_verdict{{{labels}}} 1" in lines
    assert path.stat().st_mode & 0o777 == 0o644
    assert run(["fleet", "metrics", store]) == 2
    assert "takes the file to write" in capsys.readouterr().err


def test_a_record_of_a_bundle_can_be_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record", "--from", _FIXTURE, "--node", "gpu7", "--out", str(tmp_path), "--keep-bundle"]) == 0
    path = tmp_path / "gpu7.json"
    record = RecordReader().read(path.read_text(), "gpu7")
    assert (len(record.gpus), record.complete, record.boot) == (8, True, None)
    assert record.bundle is not None
    assert record.bundle["name"] == "gpu7.txt.gz"
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o600}
    assert run(["check", "--from", str(tmp_path / "gpu7.txt.gz")]) == 0
    capsys.readouterr()
    assert run(["record", "--from", _FIXTURE, "--node", "gpu7", "--out", "-"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out)["bundle"] is None
    assert run(["record", "--from", _FIXTURE, "--node", "../x"]) == 2
    assert run(["gate", "--record", str(path)]) == 0


def test_a_record_of_evidence_is_never_that_of_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be any machine's evidence, and this node would be drained for it."""
    assert run(["record", "--from", _FIXTURE, "--out", str(tmp_path)]) == 2
    assert "name the node with --node" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_key_that_others_may_read_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "key"
    for content, mode, why in (("k" * 32, 0o644, "others may read"), ("short", 0o400, "at least 16")):
        key.unlink(missing_ok=True)
        key.write_text(content)
        key.chmod(mode)
        assert run(["record", "--from", _FIXTURE, "--node", "n", "--out", "-", "--key", str(key)]) == 2
        said = capsys.readouterr().err
        assert why in said
        assert "chmod" not in said, "it may be any file of the system"


def test_a_node_that_is_gone_is_forgotten(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "forget", store, "n100"]) == run(["fleet", "forget", store]) == 2
    batch = Batch()
    batch.take(b"typo: {")
    Store(Path(store)).tick(batch, NOW + 500)
    assert run(["fleet", "forget", store, "n3", "typo"]) == 0
    assert run(["fleet", "tick", store, "--at", str(NOW + 600)]) == 0
    capsys.readouterr()
    for _ in range(2):
        run(["fleet", "judge", store, "--json"])
        data = json.loads(capsys.readouterr().out)
        assert data["total"] == 11
        assert "n3" not in [one["node"] for one in data["nodes"]]


def test_the_last_apply_is_taken_back_where_no_round_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fleet_of(tmp_path / "fleet")
    for one in (store / "rounds").iterdir():
        one.write_bytes(b"x")
    monkeypatch.setattr("rocdoctor.service.fleet_apply.Acting.undo", lambda self, do: ([], []))
    assert run(["fleet", "apply", str(store)]) == 2
    assert run(["fleet", "apply", str(store), "--undo"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_suspects_are_set_aside_where_asked(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ActionLimits] = []

    def planned(self: Acting, found: FleetVerdict, limits: ActionLimits, now: int) -> ActionPlan:
        asked.append(limits)
        return ActionPlan((), (), (), 0, 0)

    monkeypatch.setattr(Acting, "planned", planned)
    assert run(["fleet", "apply", store]) == 0
    assert run(["fleet", "apply", store, "--suspects", "--share", "7"]) == 0
    assert asked == [ActionLimits(), ActionLimits(share=0.07, suspects=True)]


def test_a_key_that_another_user_made_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocdoctor.service.errors import UsageError
    from rocdoctor.service.recording import key_of

    key = tmp_path / "key"
    key.write_text("k" * 32)
    key.chmod(0o400)
    owner = key.stat().st_uid
    assert key_of(str(key)) == b"k" * 32
    if owner == 0:
        os.chown(key, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(UsageError, match="another user"):
        key_of(str(key))


def test_the_screen_needs_a_terminal(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "show", store]) == 2
    assert f"rocdoctor fleet judge {store} prints the same" in capsys.readouterr().err
