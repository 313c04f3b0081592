"""What is written for Slurm, systemd and Prometheus, read back by these themselves where they are installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.cli.main import run
from rocdoctor.fleet.cluster_files import kubernetes_files
from rocdoctor.fleet.record import as_data
from rocdoctor.fleet.site_files import SiteError, SitePlaces, site_files
from rocdoctor.fleet.store import Batch, Store
from rocdoctor.report.fleet.fleet_metrics import metrics
from tests.fleet.kit import fleet_of, node
from tests.train.emit.readers.venvs import reader

_HOSTILE = '/shared/my "records" $(touch x) %h; it\'s $HOME'


def _written(tmp_path: Path, target: str, *, program: str = "/opt/roc/bin/rocdoctor", records: str = _HOSTILE) -> Path:
    folder = tmp_path / target
    assert run(["fleet", "emit", target, str(folder), "--records", records, "--program", program]) == 0
    return folder


def _ran(argv: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    around = {"PATH": os.environ["PATH"], "LC_ALL": "C", **environment}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=around)


def _program(tmp_path: Path, body: str) -> str:
    """A rocdoctor that does something else."""
    path = tmp_path / "rocdoctor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return str(path)


def test_scripts_are_sound_for_their_readers(tmp_path: Path) -> None:
    folders = [_written(tmp_path, target, records="/all records") for target in ("slurm", "nhc", "npd", "nfd")]
    scripts = sorted(str(one) for folder in folders for one in folder.glob("*.sh"))
    assert len(scripts) == 5
    for script in scripts:
        assert _ran(["bash", "-n", script]).stderr == ""
        assert os.access(script, os.X_OK)
    if shutil.which("shellcheck"):
        assert _ran(["shellcheck", *scripts]).stdout == ""


def test_a_prolog_fails_only_where_the_gate_says_closed(tmp_path: Path) -> None:
    """One that is missing, that breaks with status 1 as Python does, or that says something else drains nobody."""
    said = {"closed: gpu 2 is gone": 1, "open: nothing": 0, "Traceback: closed:": 0}
    for words, status in said.items():
        program = _program(tmp_path, f"echo '{words}'; exit 1")
        folder = _written(tmp_path / words[:4], "slurm", program=program)
        assert _ran([str(folder / "rocdoctor-prolog.sh")]).returncode == status, words
    folder = _written(tmp_path / "none", "slurm", program=str(tmp_path / "missing"))
    assert _ran([str(folder / "rocdoctor-prolog.sh")]).returncode == 0


def test_node_problem_detector_and_nhc_hear_a_fault_only_where_the_gate_says_closed(tmp_path: Path) -> None:
    """By what plugin.go and lbnl_cmd.nhc make of status and output; neither program can be had here."""
    long = "closed: gpu 2: " + "ü" * 200
    said = {
        "closed: gpu 2 is gone": (1, 1),
        long: (1, 1),
        "open: nothing certain": (0, 0),
        "open (not known): no record yet": (2, 0),
        "Traceback: closed:": (2, 0),
        "": (2, 0),
    }
    for number, (words, (condition, failed)) in enumerate(said.items()):
        program = _program(tmp_path, f"echo '{words}'; echo oops >&2; exit 1")
        done = _ran([str(_written(tmp_path / f"{number}", "npd", program=program) / "rocdoctor-npd.sh")])
        assert (done.returncode, len(done.stdout.encode(errors="replace")) <= 80) == (condition, True), words
        folder = _written(tmp_path / f"{number}", "nhc", program=program)
        *_, line = (folder / "nhc-rocdoctor.conf").read_text().splitlines()
        target, check = line.split(" || ")
        name, *options, script = shlex.split(check.replace("/etc/nhc", str(folder)))
        assert (target, name) == (" *", "check_cmd_output")
        assert options == ["-t", "10", "-r", "0", "-M", "%L", "-m", "!/^closed/"]
        done = _ran([script])
        assert (done.returncode, any(re.match("closed", one) for one in done.stdout.splitlines())) == (0, failed), words
    config = json.loads((tmp_path / "0/npd/rocdoctor-npd.json").read_text())
    (rule,) = config["rules"]
    whole = config["pluginConfig"]
    assert (config["plugin"], whole["max_output_length"], whole["timeout"], rule["timeout"]) == (
        "custom",
        80,
        "5s",
        "4s",
    )
    assert rule["condition"] in [one["type"] for one in config["conditions"]], "or it is refused"
    assert rule["path"] == "/etc/node-problem-detector/rocdoctor-npd.sh"


def test_the_health_program_writes_whole_records_and_never_fails(tmp_path: Path) -> None:
    records = tmp_path / 'the "records" $(touch x)'
    records.mkdir()
    program = _program(tmp_path, 'echo "$@" > "$0.asked"; [ -z "$FAIL" ]')
    script = _written(tmp_path, "slurm", program=program, records=str(records)) / "rocdoctor-health.sh"
    local = tmp_path / "run"
    local.mkdir()
    script.write_text(script.read_text().replace("/run/rocdoctor", str(local)))
    (local / "n7.json").write_text("{}")
    assert _ran([str(script)], SLURMD_NODENAME="n7", FAIL="1").returncode == 0
    assert list(records.iterdir()) == [], "what was not recorded now is not sent"
    assert _ran([str(script)], SLURMD_NODENAME="n7").returncode == 0
    assert [one.name for one in records.iterdir()] == ["n7.json"]
    assert Path(f"{program}.asked").read_text() == f"record --out {local} --node n7 --quiet\n"
    assert not (tmp_path / "x").exists()
    records.rename(tmp_path / "gone")
    assert _ran([str(script)], SLURMD_NODENAME="n7").returncode == 0


def test_what_another_node_put_there_leads_nowhere(tmp_path: Path) -> None:
    local, records, victim, folder = (tmp_path / name for name in ("run", "records", "victim", "folder"))
    for one in (local, records, folder):
        one.mkdir()
    (local / "n7.json").write_text("{}")
    program = _program(tmp_path, "exit 0")
    script = _written(tmp_path / "a", "slurm", program=program, records=str(records)) / "rocdoctor-health.sh"
    script.write_text(script.read_text().replace("/run/rocdoctor", str(local)))
    unit = _written(tmp_path / "b", "systemd", program=program, records=str(records)) / "rocdoctor-record.service"
    words = unit.read_text().replace("/run/rocdoctor", str(local)).replace("%l", "n7")
    after = [shlex.split(line.partition("=")[2]) for line in words.splitlines() if line.startswith("ExecStartPost=")]
    for calls in ([[str(script)]], after):
        victim.write_text("precious")
        (records / ".n7.new").symlink_to(victim)
        (records / "n7.json").symlink_to(folder)
        for call in calls:
            assert _ran(call, SLURMD_NODENAME="n7").returncode == 0, call
        assert (victim.read_text(), list(folder.iterdir())) == ("precious", [])
        assert [one.name for one in records.iterdir() if not one.is_symlink()] == ["n7.json"]
        (records / "n7.json").unlink()


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="Slurm is not installed")
def test_slurm_reads_its_lines(tmp_path: Path) -> None:
    config = tmp_path / "slurm.conf"
    base = (
        "ClusterName=x\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nNodeName=n0\nPartitionName=p Nodes=ALL\n"
    )
    lines = (_written(tmp_path, "slurm") / "slurm-rocdoctor.conf").read_text()
    for text, sound in ((lines, True), (lines.replace("CYCLE\n", "CYCLES\n"), False), (f"{lines}Prologue=/x\n", False)):
        config.write_text(base + text)
        said = _ran(["scontrol", "ping"], SLURM_CONF=str(config)).stderr
        assert (re.search(r"Parsing|Invalid|unrecognized|fatal", said) is None) is sound, said


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_its_units(tmp_path: Path) -> None:
    program = _program(tmp_path, "exit 0")
    folder = _written(tmp_path, "systemd", program=program)
    units = sorted(str(one) for one in folder.iterdir())
    assert [Path(one).suffix for one in units] == [".service", ".timer"]
    done = _ran(["systemd-analyze", "verify", "--man=no", *units])
    assert (done.returncode, _of_ours(done.stderr)) == (0, "")
    (folder / "rocdoctor-record.timer").write_text("[Timer]\nOnUnitActiveSecs=5min\n")
    assert "OnUnitActiveSecs" in _of_ours(_ran(["systemd-analyze", "verify", "--man=no", *units]).stderr)


def _of_ours(said: str) -> str:
    return "\n".join(line for line in said.splitlines() if "rocdoctor-record" in line)


def test_a_unit_keeps_the_name_of_a_folder(tmp_path: Path) -> None:
    text = (_written(tmp_path, "systemd") / "rocdoctor-record.service").read_text()
    assert '"/shared/my \\"records\\" $$(touch x) %%h; it\'s $$HOME/%l.json"' in text


def test_alerts_ask_for_what_the_metrics_have(tmp_path: Path) -> None:
    path = _written(tmp_path, "prometheus") / "rocdoctor-rules.yml"
    rules = yaml.safe_load(path.read_text())["groups"][0]["rules"]
    told = metrics(Store(fleet_of(tmp_path / "fleet")).again())
    names = {line.split()[2] for line in told.splitlines() if line.startswith("# TYPE")}
    for rule in rules:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        asked = set(re.findall(r"rocdoctor_\w+", rule["expr"]))
        assert asked
        assert asked <= names
        for matcher in re.findall(r'\{(\w+="\w+")\}', rule["expr"]):
            assert matcher in told, matcher
    labels = set(re.findall(r"\$labels\.(\w+)", path.read_text()))
    assert labels <= set(re.findall(r'[{,](\w+)="', told))
    if shutil.which("promtool"):
        assert _ran(["promtool", "check", "rules", str(path)]).returncode == 0


def test_a_dashboard_asks_for_what_the_metrics_have(tmp_path: Path) -> None:
    board = json.loads((_written(tmp_path, "grafana") / "rocdoctor-dashboard.json").read_text())
    told = metrics(Store(fleet_of(tmp_path / "fleet")).again())
    names = {line.split()[2] for line in told.splitlines() if line.startswith("# TYPE")}
    labels = set(re.findall(r'[{,](\w+)="', told))
    assert 8 <= len(board["uid"]) <= 40
    panels = board["panels"]
    assert [one["id"] for one in panels] == list(range(1, len(panels) + 1))
    exprs = [target["expr"] for one in panels for target in one["targets"]]
    assert set().union(*(re.findall(r"rocdoctor_\w+", expr) for expr in exprs)) == names, "each metric is shown"
    for matcher in re.findall(r'\{(\w+="\w+")\}', " ".join(exprs)):
        assert matcher in told or matcher == 'proposal="test"', matcher
    shown = {name for one in panels for target in one["targets"] for name in _legend(target)}
    assert shown <= labels
    for one in panels:
        organized = [each["options"]["indexByName"] for each in one["transformations"]]
        assert all(set(each) <= labels for each in organized)
    cells = [(x, y) for one in panels for x, y in _cells(one["gridPos"])]
    assert len(cells) == len(set(cells)), "panels lie on one another"
    assert max(x for x, _ in cells) < 24
    sources = {json.dumps(one["datasource"]) for panel in panels for one in (panel, *panel["targets"])}
    assert sources == {'{"type": "prometheus", "uid": "${datasource}"}'}
    assert [one["name"] for one in board["templating"]["list"]] == ["datasource"]
    if shutil.which("promtool"):
        rules = [{"record": f"r{at}", "expr": expr} for at, expr in enumerate(exprs)]
        path = tmp_path / "rules.yml"
        path.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
        assert _ran(["promtool", "check", "rules", str(path)]).returncode == 0


def _legend(target: dict[str, Any]) -> list[str]:
    return re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))


def _cells(place: dict[str, int]) -> list[tuple[int, int]]:
    wide, high = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
    return [(x, y) for x in wide for y in high]


_READ_BACK = """\
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
register_default_plugins()
print(JSONEncoder().encode(Dashboard.from_json(json.load(open(sys.argv[1])))))
"""


def _recorder(tmp_path: Path) -> str:
    """A rocdoctor that prints a record of the node that it is asked for; one hangs up without."""
    record = json.dumps(as_data(node("NODE")))
    body = f"while [ $# -gt 1 ]; do shift; done\n[ $1 != gpu02 ] || exit 3\ncat <<'END' | sed s,NODE,$1,\n{record}\nEND"
    return _program(tmp_path, body)


_RAW = "ansible.builtin.raw"


def test_a_play_of_a_site_writes_a_file_for_each_node_of_any_inventory(tmp_path: Path) -> None:
    hostile = f"{_HOSTILE} {{{{ 1 + 1 }}}}"
    text = (_written(tmp_path, "ansible", records=hostile) / "rocdoctor-record.yml").read_text()
    assert text.count("!unsafe") == 1
    (play,) = yaml.safe_load(text.replace("!unsafe ", ""))
    assert (play["hosts"], play["vars"]) == (["all"], {"rocdoctor_records": hostile})
    record, _, bring = play["tasks"]
    assert "timeout --kill-after=5 60 /opt/roc/bin/rocdoctor record --out - --quiet --node $1 " in record[_RAW]
    assert record[_RAW].endswith(" sh '{{ inventory_hostname }}'")
    assert bring["ansible.builtin.copy"]["dest"] == "{{ rocdoctor_records }}/{{ inventory_hostname }}.json"
    (only,) = play["pre_tasks"]
    pattern = re.search(r"match\('(.*)'\)$", only["ansible.builtin.assert"]["that"])
    assert pattern is not None
    for name, fine in (("gpu-01.x", True), ("../n1", False), ("n1; reboot", False), ("$(id)", False), ("", False)):
        assert (re.match(pattern[1], name) is not None) == fine, name


@pytest.mark.reader
def test_ansible_brings_the_records_of_a_site(tmp_path: Path) -> None:
    """By its own parser and as it runs: a folder of any name, a node that fails, and a name that is no file's."""
    records = tmp_path / 'all "records" $(touch x) {{ 1 + 1 }} it\'s'
    records.mkdir()
    play = _written(tmp_path, "ansible", program=_recorder(tmp_path), records=str(records)) / "rocdoctor-record.yml"
    hosts = tmp_path / "hosts.yml"
    names = {name: {"ansible_connection": "local"} for name in ("gpu01", "gpu02", "gpu03", "../gpu04")}
    hosts.write_text(yaml.safe_dump({"all": {"hosts": names}}))
    argv = [str(reader("ansible").parent / "ansible-playbook"), "-i", str(hosts), str(play)]
    around = {"HOME": str(tmp_path), "ANSIBLE_HOME": str(tmp_path / "ansible"), "LC_ALL": "C.UTF-8"}
    checked = _ran([*argv, "--syntax-check"], **around)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = _ran(argv, **around)
    assert done.returncode == 2, done.stdout + done.stderr
    assert sorted(path.name for path in records.iterdir()) == ["gpu01.json", "gpu03.json"], done.stdout
    assert not (tmp_path / "gpu04.json").exists()
    batch = Batch()
    batch.read(records)
    assert sorted(batch.records) == ["gpu01", "gpu03"]
    play.write_text(play.read_text().replace("ansible.builtin.raw", "ansible.builtin.rawer"))
    assert _ran([*argv, "--syntax-check"], **around).returncode != 0


@pytest.mark.reader
def test_grafanas_own_types_keep_all_of_a_dashboard(tmp_path: Path) -> None:
    """What they do not know, they drop."""
    python = reader("grafana")
    path = _written(tmp_path, "grafana") / "rocdoctor-dashboard.json"
    done = _ran([str(python), "-c", _READ_BACK, str(path)])
    assert done.returncode == 0, done.stderr
    assert _missing(json.loads(path.read_text()), json.loads(done.stdout)) == []
    other = json.loads(path.read_text())
    other["panels"][0]["fieldConfigs"] = other["panels"][0].pop("fieldConfig")
    path.write_text(json.dumps(other))
    read = json.loads(_ran([str(python), "-c", _READ_BACK, str(path)]).stdout)
    assert _missing(other, read) == ["/panels/0/fieldConfigs"]


def _missing(wrote: Any, read: Any, at: str = "") -> list[str]:
    """What was written and is not read back, by its place; an empty value may be left out."""
    if isinstance(wrote, dict) and isinstance(read, dict):
        kept = {name: one for name, one in wrote.items() if one not in (None, [], {}, "", False)}
        return [
            place
            for name, one in kept.items()
            for place in (_missing(one, read[name], f"{at}/{name}") if name in read else [f"{at}/{name}"])
        ]
    if isinstance(wrote, list) and isinstance(read, list) and len(wrote) == len(read):
        both = enumerate(zip(wrote, read, strict=True))
        return [place for number, (a, b) in both for place in _missing(a, b, f"{at}/{number}")]
    return [] if wrote == read else [at]


_IMAGE = "registry.example:5000/gpu/rocdoctor:1.2"


def _manifest(program: str = "/opt/roc/bin/rocdoctor", records: str = _HOSTILE) -> dict[str, dict[str, Any]]:
    (file,) = kubernetes_files(program, records, _IMAGE)
    return {one["kind"]: one for one in yaml.safe_load_all(file.text)}


def _pod(kind: str, manifest: dict[str, dict[str, Any]]) -> dict[str, Any]:
    spec = manifest[kind]["spec"]
    found: dict[str, Any] = (spec["jobTemplate"]["spec"] if kind == "CronJob" else spec)["template"]["spec"]
    return found


def _script(kind: str, manifest: dict[str, dict[str, Any]]) -> str:
    """What the shell of a pod is given: Kubernetes makes $( of $$( and fills in $(NAME)."""
    (pod,) = _pod(kind, manifest)["containers"]
    (text,) = pod["args"]
    assert pod["command"] == ["/bin/sh", "-c"]
    assert not re.search(r"(?<!\$)\$\(", text)
    return str(text).replace("$$(", "$(")


def test_only_the_account_that_acts_has_a_right_and_only_three() -> None:
    found = _manifest()
    assert found["ClusterRole"]["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]}
    ]
    account = found["ServiceAccount"]["metadata"]
    assert found["ClusterRoleBinding"]["subjects"] == [{"kind": "ServiceAccount", **account}]
    assert found["ClusterRoleBinding"]["roleRef"]["name"] == found["ClusterRole"]["metadata"]["name"]
    assert _pod("CronJob", found)["serviceAccountName"] == account["name"]
    assert _pod("DaemonSet", found)["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in _pod("DaemonSet", found)
    for kind in ("DaemonSet", "CronJob"):
        pod = _pod(kind, found)
        assert [one["image"] for one in pod["containers"]] == [_IMAGE]
        mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
        volumes = {one["name"]: one for one in pod["volumes"]}
        assert mounts["records"] == volumes["records"]["hostPath"]["path"] == _HOSTILE
        assert mounts.keys() == volumes.keys()
    claim = found["PersistentVolumeClaim"]["metadata"]["name"]
    assert {"name": "store", "persistentVolumeClaim": {"claimName": claim}} in _pod("CronJob", found)["volumes"]


def test_a_pod_of_each_node_writes_whole_records(tmp_path: Path) -> None:
    records, local = tmp_path / 'the "records" $(touch x) $(NODE_NAME)', tmp_path / "run"
    records.mkdir()
    local.mkdir()
    (local / "n7.json").write_text("{}")
    program = _program(tmp_path, 'echo "$@" > "$0.asked"; [ -z "$FAIL" ]')
    script = _script("DaemonSet", _manifest(program, str(records))).replace("sleep 300 &", "exit 0")
    script = script.replace("/run/rocdoctor", str(local))
    assert _ran(["sh", "-c", script], NODE_NAME="n7", FAIL="1").returncode == 0
    assert list(records.iterdir()) == [], "what was not recorded now is not sent"
    assert _ran(["sh", "-c", script], NODE_NAME="n7").stderr == ""
    assert [one.name for one in records.iterdir()] == ["n7.json"]
    assert Path(f"{program}.asked").read_text() == f"record --out {local} --node n7 --quiet\n"
    assert not (tmp_path / "x").exists()


def test_the_job_that_judges_only_prints_and_acts_on_no_round_that_failed(tmp_path: Path) -> None:
    program = _program(tmp_path, 'echo "$@" >> "$0.asked"; [ "$2" = apply ] || exit "$STATUS"')
    script, asked = _script("CronJob", _manifest(program, "/all records")), Path(f"{program}.asked")
    for status, calls in (("0", 2), ("1", 2), ("2", 1)):
        assert _ran(["sh", "-c", script], STATUS=status).returncode == (status == "2")
        lines = asked.read_text().splitlines()
        assert lines == ["fleet tick /store/fleet /all records", "fleet apply /store/fleet --on k8s"][:calls], status
        asked.unlink()


@pytest.mark.reader
def test_the_schema_of_kubernetes_takes_the_manifest(tmp_path: Path) -> None:
    program = str(reader("kubernetes").parent / "kubernetes-validate")
    (file,) = kubernetes_files("/opt/roc/bin/rocdoctor", _HOSTILE, _IMAGE)
    path = tmp_path / "fleet.yaml"
    path.write_text(file.text)
    done = _ran([program, "--strict", str(path)])
    said = done.stdout + done.stderr
    assert (done.returncode, said.count("passed for resource"), "WARN" in said) == (0, 7, False), said
    for right, wrong in (
        ("verbs:", "verb:"),
        ("hostPID:", "hostPid:"),
        ("concurrencyPolicy: Forbid", "concurrencyPolicies: Forbid"),
        ("maxUnavailable: 10%", "maxUnavailable: [10]"),
        ("    - operator:", "    - operators:"),
        ("claimName:", "claim:"),
    ):
        assert right in file.text
        path.write_text(file.text.replace(right, wrong))
        assert _ran([program, "--strict", str(path)]).returncode != 0, wrong


def test_a_node_is_labelled_by_what_the_gate_says(tmp_path: Path) -> None:
    """Read as source/local/local.go of NFD reads: a directive holds for the lines after it; hidden files are none."""
    features = tmp_path / "features.d"
    features.mkdir()
    (features / ".rocdoctor.new").symlink_to(tmp_path / "victim")
    said = {"open: nothing certain": "open", "closed: gpu 2 is gone": "closed", "open (not known): x": "unknown"}
    for number, (words, gate) in enumerate({**said, "Traceback: closed:": "unknown", "": "unknown"}.items()):
        program = _program(tmp_path, f"echo '{words}'; exit 1")
        script = _written(tmp_path / f"{number}", "nfd", program=program) / "rocdoctor-nfd.sh"
        script.write_text(script.read_text().replace("/etc/kubernetes/node-feature-discovery", str(tmp_path)))
        before = int(time.time())
        assert _ran([str(script)]).returncode == 0
        after = time.time()
        directive, label = (features / "rocdoctor").read_text().splitlines()
        name, _, stamp = directive.removeprefix("# +").partition("=")
        ends = datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
        assert (name, label) == ("expiry-time", f"rocdoctor/gate={gate}"), words
        assert before + 900 <= ends <= after + 900
        assert [one.name for one in features.iterdir()] == ["rocdoctor"]
    assert not (tmp_path / "victim").exists()
    script = tmp_path / "0/nfd/rocdoctor-nfd.sh"
    (features / "rocdoctor").unlink()
    features.rmdir()
    assert _ran([str(script)]).returncode == 0, "a node without NFD is no failure"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_what_labels_a_node_after_its_record(tmp_path: Path) -> None:
    program = _program(tmp_path, "exit 0")
    unit = _written(tmp_path, "systemd", program=program) / "rocdoctor-record.service"
    labels = (_written(tmp_path, "nfd", program=program) / "rocdoctor-nfd.conf").read_text()
    added = unit.with_name(f"{unit.name}.d") / "nfd.conf"
    added.parent.mkdir()
    added.write_text(labels)
    assert _of_ours(_ran(["systemd-analyze", "verify", "--man=no", str(unit)]).stderr) == ""
    added.write_text(labels.replace("ExecStartPost", "ExecStartPosts"))
    assert "ExecStartPosts" in _of_ours(_ran(["systemd-analyze", "verify", "--man=no", str(unit)]).stderr)


def test_a_place_that_no_quoting_brings_through_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for places in (
        SitePlaces("rocdoctor", "/x"),
        SitePlaces("/opt/my programs/rocdoctor", "/x"),
        SitePlaces("/r", "records"),
        SitePlaces("/r", "/x\ny"),
        SitePlaces("/r", "/x`id`"),
    ):
        with pytest.raises(SiteError):
            site_files("slurm", places)
    for image, records in (("", "/x"), ("a b", "/x"), (_IMAGE, "/a:b"), (_IMAGE, "/x\ny"), (_IMAGE, "x")):
        with pytest.raises(SiteError):
            site_files("k8s", SitePlaces("/r", records, image))
    assert run(["fleet", "emit", "pbs", "out"]) == 2
    assert "slurm|k8s|nfd|ansible|nhc|npd|systemd|prometheus|grafana DIR" in capsys.readouterr().err
