"""Taints and their removal: by kubectl itself against a stand-in of the API server, and by the forms alone."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.cli.main import run
from rocdoctor.fleet.acting import ActionLimits, EngineCall, EngineNode, reason_of
from rocdoctor.fleet.boot import boot_name
from rocdoctor.fleet.classes import CERTAIN, LIKELY
from rocdoctor.fleet.engines import KUBERNETES
from rocdoctor.fleet.kubernetes import booted, commands, nodes_of
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict, Reason
from rocdoctor.host.base import Answer
from rocdoctor.service.fleet_apply import Acting
from tests.fleet.kit import NOW, fleet_of

_NAMES = [f"n{n:02d}" for n in range(20)]
_BAD = Reason("certain", "ras-uncorrectable", "", 2, "Errors.", 2, 2, True)
_BOOT = "2f7c0000-1111-4222-8333-444444444444"
_WIDE = ActionLimits(share=0.1, rate=1.0)


def _verdict(*bad: str, heard: int = NOW, boot: str = _BOOT) -> FleetVerdict:
    nodes = tuple(NodeVerdict(name, "k", (_BAD,), heard) for name in bad)
    told = (dict.fromkeys(_NAMES, heard), dict.fromkeys(_NAMES, "k"))
    return FleetVerdict(NOW, 20, 20, nodes, (), (), *told, dict.fromkeys(_NAMES, boot_name(boot.encode())))


def test_a_reason_comes_back_word_for_word_whatever_drains() -> None:
    lost = []
    for check in (*sorted(CERTAIN | LIKELY), "fleet-a.b"):
        for kind in ("certain", "likely"):
            one = NodeVerdict("n01", "k", (replace(_BAD, check=check, node_class=kind),), NOW)
            reason = reason_of(one, NOW)
            taint = next(commands(EngineCall("drain", ("n01",), reason)))[4]
            if nodes_of(f"n01|<no value>|True|a=b:NoSchedule,{taint},|amd.com/gpu,") != [
                EngineNode("n01", True, reason, True)
            ]:
                lost.append(reason)
    assert lost == []
    with pytest.raises(ValueError, match="not a reason"):
        next(commands(EngineCall("drain", ("n01",), "rocdoctor: x; reboot [certain] 20261124T1340Z")))


def test_a_suspect_has_a_taint_of_its_own() -> None:
    reason = "rocdoctor: fleet-many-spells [lemon] 20261124T1340Z"
    (argv,) = commands(EngineCall("aside", ("n01", "n02"), reason))
    assert argv[3:6] == ["n01", "n02", "rocdoctor/suspect=fleet-many-spells.lemon.20261124T1340Z:NoSchedule"]
    (said,) = nodes_of(f"n01|<no value>|True|{argv[5]},|amd.com/gpu,")
    assert said == EngineNode("n01", False, "", True, (reason,))
    (back,) = commands(EngineCall("return", ("n01",), reason, ("n02",)))
    assert back[3:5] == ["n01", "rocdoctor/suspect:NoSchedule-"]
    theirs = nodes_of("n01|<no value>|True|rocdoctor/suspect=ann:NoSchedule,|amd.com/gpu,")[0]
    assert theirs.aside == ("rocdoctor/suspect=ann:NoSchedule",), "no reason of ours, so it never comes back by us"


def test_what_a_node_says_of_itself() -> None:
    rows = {
        "n1|<no value>|True||cpu,amd.com/gpu,": EngineNode("n1", False, "", True),
        "n2|true|True||nvidia.com/gpu,": EngineNode("n2", True, "cordoned", True),
        "n3|<no value>|Unknown||cpu,": EngineNode("n3", True, "", False),
        "n4|<no value>|True|nvidia.com/gpu=present:NoSchedule,|nvidia.com/gpu,": EngineNode("n4", False, "", True),
        "n5|<no value>|True|rocdoctor/drain=ann:NoSchedule,|": EngineNode(
            "n5", True, "rocdoctor/drain=ann:NoSchedule", False
        ),
    }
    assert nodes_of("\n".join(["error: x", "N9|||", *rows])) == list(rows.values())
    assert (
        nodes_of("n6|<no value>|True|rocdoctor/drain=a.b.c:NoSchedule,|")[0].reason
        == "rocdoctor/drain=a.b.c:NoSchedule"
    )
    effect = "rocdoctor/drain=kfd-missing.certain.20261124T1340Z:NoExecute"
    assert nodes_of(f"n6|<no value>|True|{effect},|")[0].reason == effect, "an effect that is not ours is theirs"


def test_only_a_record_of_this_boot_speaks_for_a_node() -> None:
    found = _verdict()
    assert booted(f"n01|{_BOOT}\nn02|another\nn99|{_BOOT}\nn03|\n", found) == {"n01": 0}


class _Cluster(ThreadingHTTPServer):
    """As much of an API server as kubectl asks for: kinds, nodes, and patches of their taints."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Api)
        self.taints: dict[str, list[dict[str, str]]] = {name: [] for name in _NAMES}
        self.patches = 0

    def node(self, name: str) -> dict[str, Any]:
        spec = {"taints": self.taints[name]} if self.taints[name] else {}
        status = {
            "capacity": {"cpu": "96", "amd.com/gpu": "0" if name == "n03" else "8"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
            "nodeInfo": {"bootID": _BOOT},
        }
        return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec, "status": status}


class _Api(BaseHTTPRequestHandler):
    @property
    def cluster(self) -> _Cluster:
        assert isinstance(self.server, _Cluster)
        return self.server

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing."""

    def _say(self, body: dict[str, Any] | None) -> None:
        data = json.dumps(body or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}).encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        nodes = {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node"}
        bodies: dict[str, dict[str, Any]] = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.4"},
            "/api/v1": {
                "kind": "APIResourceList",
                "groupVersion": "v1",
                "resources": [{**nodes, "verbs": ["get", "list", "patch"]}],
            },
            "/api/v1/nodes": {
                "kind": "NodeList",
                "apiVersion": "v1",
                "metadata": {},
                "items": [self.cluster.node(one) for one in _NAMES],
            },
        }
        self._say(self.cluster.node(name) if name in _NAMES else bodies.get(path))

    def do_PATCH(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert set(body) == {"spec"}, body
        assert set(body["spec"]) == {"taints"}, body
        self.cluster.taints[name] = body["spec"]["taints"] or []
        self.cluster.patches += 1
        self._say(self.cluster.node(name))


@pytest.fixture
def cluster() -> Iterator[_Cluster]:
    with _Cluster() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class _Kubectl:
    """The real kubectl, at the stand-in."""

    def __init__(self, folder: Path, cluster: _Cluster) -> None:
        self.config = folder / "kubeconfig"
        server = f"http://127.0.0.1:{cluster.server_address[1]}"
        entries = {"clusters": [{"name": "c", "cluster": {"server": server}}], "users": [{"name": "u", "user": {}}]}
        contexts = [{"name": "x", "context": {"cluster": "c", "user": "u"}}]
        head = {"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": contexts}
        self.config.write_text(json.dumps({**head, **entries}))
        self.home = folder

    def __call__(self, argv: list[str]) -> Answer:
        around = {"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.config)}
        done = subprocess.run(argv, capture_output=True, env=around, check=False, timeout=120)
        return Answer("q", "ok", done.stdout + done.stderr, done.returncode)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_taints_and_takes_back_what_is_ours(tmp_path: Path, cluster: _Cluster) -> None:
    other = {"key": "team", "value": "a", "effect": "NoSchedule"}
    cluster.taints["n05"] = [other]
    acting = Acting(tmp_path, _Kubectl(tmp_path, cluster), KUBERNETES)
    bad = _verdict("n05", "n03", "n07")
    assert len(acting.planned(bad, _WIDE, NOW).calls) == 1
    assert cluster.patches == 0, "a plan changes nothing"
    done, failed = acting.apply(bad, _WIDE, NOW)
    assert (failed, done.cap, [one for one, _ in done.held]) == ([], 2, ["n07"])
    ours = {"key": "rocdoctor/drain", "value": "ras-uncorrectable.certain.20261124T1340Z", "effect": "NoSchedule"}
    assert [one for one in cluster.taints["n05"] if one != other] == [ours]
    assert other in cluster.taints["n05"]
    assert acting.apply(bad, _WIDE, NOW + 60)[0].calls == ()
    before = acting.apply(_verdict("n03", heard=NOW + 90, boot="another"), _WIDE, NOW + 100)[0]
    assert before.calls == (), "a record of another boot does not speak for it"
    back, failed = acting.apply(_verdict("n03", heard=NOW + 90), _WIDE, NOW + 120)
    assert (failed, [(one.action, one.nodes) for one in back.calls]) == ([], [("resume", ("n05",))])
    assert cluster.taints["n05"] == [other]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_sets_a_suspect_aside_and_brings_it_back(tmp_path: Path, cluster: _Cluster) -> None:
    acting = Acting(tmp_path, _Kubectl(tmp_path, cluster), KUBERNETES)
    lemon = replace(_BAD, node_class="lemon", check="fleet-many-spells")
    found = replace(_verdict(), nodes=(NodeVerdict("n05", "k", (lemon,), NOW),))
    done, failed = acting.apply(found, replace(_WIDE, suspects=True), NOW)
    assert ([one.action for one in done.calls], failed) == (["aside"], [])
    ours = {"key": "rocdoctor/suspect", "value": "fleet-many-spells.lemon.20261124T1340Z", "effect": "NoSchedule"}
    assert cluster.taints["n05"] == [ours]
    assert acting.apply(found, _WIDE, NOW + 60)[0].calls == ()
    back, failed = acting.apply(_verdict(heard=NOW + 90), _WIDE, NOW + 120)
    assert ([one.action for one in back.calls], failed, cluster.taints["n05"]) == (["return"], [], [])
    acting.apply(replace(found, at=NOW + 180), replace(_WIDE, suspects=True), NOW + 180)
    assert cluster.taints["n05"] != []
    assert ([one.action for one in acting.undo()[0]], cluster.taints["n05"]) == (["return"], [])


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_undo_leaves_a_taint_that_somebody_changed(tmp_path: Path, cluster: _Cluster) -> None:
    acting = Acting(tmp_path, _Kubectl(tmp_path, cluster), KUBERNETES)
    acting.apply(_verdict("n05", "n07"), _WIDE, NOW)
    cluster.taints["n07"] = [{**cluster.taints["n07"][0], "value": "ann-looks-at-it"}]
    assert acting.planned(_verdict(), _WIDE, NOW).foreign == ("n07",)
    assert acting.undo() == ([EngineCall("resume", ("n05",), "")], [])
    assert cluster.taints["n05"] == []
    assert cluster.taints["n07"][0]["value"] == "ann-looks-at-it"


def test_the_command_prints_what_kubectl_would_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dry run, by a stand-in that answers the one question and refuses everything else."""
    rows = "".join(f"n{n}|<no value>|True||amd.com/gpu,\n" for n in range(12))

    def answer(argv: list[str]) -> Answer:
        assert argv[:3] == ["kubectl", "get", "nodes"]
        return Answer("q", "ok", rows.encode(), 0)

    monkeypatch.setattr("rocdoctor.service.fleet_apply.Acting.__init__.__defaults__", (answer, KUBERNETES))
    monkeypatch.setattr("rocdoctor.cli.commands.fleet.time.time", lambda: NOW + 400.0)
    store = str(fleet_of(tmp_path / "fleet"))
    assert run(["fleet", "apply", store, "--on", "k8s", "--share", "20", "--rate", "100"]) == 0
    out, err = capsys.readouterr()
    words = shlex.split(out)
    assert words[:4] == ["kubectl", "taint", "nodes", "n3"]
    assert words[4].startswith("rocdoctor/drain=ras-uncorrectable.certain.")
    assert "dry run: nothing was changed" in err
    assert not (tmp_path / "fleet" / "actions.jsonl").exists()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_options_are_those_of_kubectl() -> None:
    said = {
        verb: subprocess.run(["kubectl", *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout
        for verb in ("get", "taint")
    }
    said["all"] = subprocess.run(["kubectl", "options"], capture_output=True, text=True, check=True).stdout
    taint = next(commands(EngineCall("resume", ("n1",), "")))
    for argv in (list(KUBERNETES.ask), KUBERNETES.ask_boot(("n1",)), taint):
        for word in argv:
            if word.startswith("--"):
                option = word.partition("=")[0]
                assert f"{option}=" in said[argv[1]] + said["all"], word
