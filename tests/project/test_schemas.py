"""What the commands print as JSON is what ``docs/schemas`` promises, and the schemas are strict enough to notice.

A key that is dropped, renamed or added, or a value of another kind, is a change of the contract: the schema is changed
with it, by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rocdoctor.cli.main import run
from rocdoctor.report.fleet import net_json
from rocdoctor.report.plan.trial_document import as_json
from rocdoctor.report.smoke.nodes_document import as_json as nodes_as_json
from rocdoctor.train.recommend.memory.trace import unavailable
from rocdoctor.train.smoke.nodes.findings import NodeFinding
from rocdoctor.train.smoke.nodes.leader import NodeOutcome
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink, Stream
from tests.fleet.kit import fleet_of
from tests.fleet.net_kit import NetWorld
from tests.fleet.net_runs import run_of
from tests.golden.replay import FIXTURES, NAMES
from tests.kit import ROOT
from tests.report import trial_kit

_SCHEMAS = {path.name.partition(".")[0]: path for path in sorted((ROOT / "docs" / "schemas").glob("*.schema.json"))}
_GOLDEN = ROOT / "tests" / "golden"
# Documents that rocdoctor writes for itself: the probe's answers, the journal of fixes, a user's trials, the record of
# a node, which docs/fleet.md describes; a profile is YAML.
_OWN = {"probe", "fixes", "profile", "record", "trials"}
# Keys that may be missing, by document: everything else that a schema names is required.
_OPTIONAL = {
    "report": {"recognised", "voice", "confidence", "references", "finer", "outcomes", "threads"},
    "facts": {"cuda", "libraries"},
    "estimate": {"trace"},
    "recommend": {"margin", "gain"},
    "smoke": {
        "more",
        "findings",
        "probes",
        "world",
        "backend",
        "device",
        "torch",
        "wall_s",
        "memory_bytes",
        "untested",
        "notes",
        "figures",
    },
}

# Objects whose keys are names of the user's or of the modes: any key may stand there.
_OPEN = {"spec", "facts", "figures", "max_error", "tolerance"}


@cache
def _schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(_SCHEMAS[name].read_text(encoding="utf-8"))
    return loaded


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(_schema(name))


def _problems(document: dict[str, Any]) -> list[str]:
    name = str(document["schema"]).removeprefix("rocdoctor.").removesuffix("/1")
    where = _SCHEMAS[name].relative_to(ROOT)
    return [f"{where}: {one.json_path}: {one.message[:200]}" for one in _validator(name).iter_errors(document)]


_printed_once: dict[tuple[str, ...], dict[str, Any]] = {}


def _printed(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What a command prints, run once a process: change a copy of it."""
    key = tuple(arguments)
    if key not in _printed_once:
        assert run([*arguments, "--json"]) in (0, 1), capsys.readouterr().err
        _printed_once[key] = json.loads(capsys.readouterr().out)
    return _printed_once[key]


def _fixture(name: str) -> str:
    return str(FIXTURES / f"{name}.capture")


_TIRED, _DESKTOP = _fixture("faulty/mi300x-8gpu-tired"), _fixture("faulty/rx7900xtx-2gpu-old-guide")
_SCRIPT = "export HSA_OVERRIDE_GFX_VERSION=abc\nexport NCCL_P2P_DISABEL=1\npip install torch\n"
_SPEC = "model: llama-3-8b\ngpu: MI300X\ngpus: 8\nseq: 4096\nmicro_batch: 1\nparallel: {fsdp: 8}\n"
_MACHINES = ("mi300x-8gpu", "h100-8gpu", "phoenix-laptop", "wsl2-rx7900xtx", "rx7900xtx-podman", "mi210-slurm-2of8")
_COMMANDS: dict[str, list[list[str]]] = {
    "report": [
        *(["check", "--from", one] for one in (_TIRED, _DESKTOP, *map(_fixture, _MACHINES))),
        *(["read", str(path)] for path in sorted((ROOT / "tests" / "texts").rglob("*.txt"))[::9]),
        ["lint", "SCRIPT", "--from", _TIRED],
    ],
    "facts": [["facts", "--from", _TIRED]],
    "diff": [["diff", _fixture("mi300x-8gpu"), _TIRED], ["diff", *map(_fixture, _MACHINES[:3])]],
    "setup": [["setup", "--from", one] for one in (_TIRED, _DESKTOP, *map(_fixture, _MACHINES))],
    "fix": [["fix", "--from", one] for one in (_TIRED, _DESKTOP)],
    "recommend": [
        ["recommend", "--model", "llama-3-8b", "--from", _fixture("mi300x-8gpu")],
        ["recommend", "--model", "llama-3-70b", "--method", "qlora", "--from", _fixture("rx7900xtx-2gpu")],
        ["recommend", "--model", "llama-3-70b", "--from", _fixture("rx6600")],
    ],
    "compare": [
        ["recommend", "--model", "llama-3-8b", "--gpus", "8xMI300X", "--compare", "SPEC", "nodes=2"],
        [
            "recommend",
            "--model",
            "llama-3-70b",
            "--compare",
            "method=full",
            "gpus=8xH100",
            "--from",
            _fixture("rx6600"),
        ],
    ],
    "overview": [["recommend", "--gpus", "2xMI300X"]],
    "estimate": [["estimate", "SPEC"]],
    "list": [["list"]],
    "tables": [["list", "--tables"]],
    "modes": [["smoke", "--list"], ["smoke", "--list", "--full"]],
    "proofs": [["smoke", "--explain", "--full"]],
    "fleet": [["fleet", "judge", "STORE"], ["fleet", "why", "STORE", "n3"]],
    "smoke": [["smoke", "--from", _fixture("faulty/epyc-cpu-only-proven")]],
    "trial": [],  # it needs ranks: tests/report/test_trial_document.py
    "net": [],  # it needs nodes: tests/fleet/test_net_report.py
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files that commands are given, by their place in ``_COMMANDS``; no command changes them."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.sh").write_text(_SCRIPT)
    (folder / "spec.yaml").write_text(_SPEC)
    return {
        "SCRIPT": str(folder / "train.sh"),
        "SPEC": str(folder / "spec.yaml"),
        "STORE": str(fleet_of(folder / "fleet")),
    }


@pytest.mark.usefixtures("plans_once")
@pytest.mark.parametrize(
    "arguments",
    [one for rows in _COMMANDS.values() for one in rows],
    ids=lambda one: " ".join(Path(word).stem for word in one),
)
def test_what_a_command_prints_keeps_its_schema(
    arguments: list[str], files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _problems(_printed([files.get(word, word) for word in arguments], capsys)) == []


@pytest.mark.parametrize("name", NAMES)
def test_stored_facts_keep_their_schema(name: str) -> None:
    stored = json.loads((_GOLDEN / f"{name}.facts.json").read_text(encoding="utf-8"))
    assert _problems(stored) == [], "a key is new? write them anew: .venv/bin/pytest --update-golden tests/golden"


def test_stored_smoke_results_keep_their_schema() -> None:
    """As they are, with a second run, over nodes, and where the nodes never met."""
    stored = json.loads((_GOLDEN / "smoke_2_ranks.json").read_text(encoding="utf-8"))
    found = NodeFinding("reach", "error", "firewall", (0, 1), "Node 1 is not reached.", "Open the port.")
    link = ProbedLink(0, 1, "10.0.0.2", connect_ms=0.4, frame_bytes=1500, out=Stream(1 << 20, 0.1, False))
    probes = json.loads(json.dumps(nodes_as_json(NodeOutcome(1, (found,), links=(link,)))))
    low = {
        "severity": "warning",
        "gpu": 0,
        "pci": None,
        "figures": ["copy"],
        "message": "Slow.",
        "reason": "",
        "cause": "",
        "peer": None,
    }
    again = {key: value for key, value in stored.items() if key != "schema"}
    assert _problems(stored) == []
    assert _problems({**stored, "more": [again], "findings": [low], **probes}) == []
    assert _problems({"schema": "rocdoctor.smoke/1", "modes": [], **probes}) == []
    assert _problems({"schema": "rocdoctor.smoke/1", "modes": stored["modes"]}) != []


def test_an_estimate_with_a_trace_keeps_its_schema(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    answer = _printed(["estimate", files["SPEC"]], capsys)
    assert _problems({**answer, "trace": unavailable("no torch")}) == []


def test_every_document_has_a_schema_and_every_schema_a_command() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rocdoctor").rglob("*.py"))
    named = set(re.findall(r"\brocdoctor\.(\w+)/\d", text))
    assert named - _OWN == set(_SCHEMAS) == set(_COMMANDS)


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema and "type" in schema:
            yield schema
        for one in schema.values():
            yield from _objects(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from _objects(one)


@pytest.mark.parametrize("name", _SCHEMAS)
def test_a_schema_is_closed_and_requires_what_it_names(name: str) -> None:
    schema = _schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"rocdoctor.{name}/1"
    found = list(_objects(schema))
    assert found
    for one in found:
        assert one["additionalProperties"] is False, one
        assert set(one["properties"]) - set(one["required"]) <= _OPTIONAL.get(name, set()), one


def _records(document: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all objects."""
    if isinstance(document, dict):
        yield at
        for key, value in document.items():
            yield from _records(value, (*at, key))
    elif isinstance(document, list) and document:
        yield from _records(document[0], (*at, 0))


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def _short(document: Any) -> Any:
    """A copy in which each list has two elements at most: some must have two."""
    if isinstance(document, dict):
        return {key: _short(value) for key, value in document.items()}
    return [_short(one) for one in document[:2]] if isinstance(document, list) else document


@pytest.mark.parametrize("name", _SCHEMAS)
def test_a_key_with_another_name_is_noticed(
    name: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "trial":
        document = as_json(trial_kit.tried(trial_kit.depth(2, 1.0, 1.0), trial_kit.depth(5, 1.0, 1.0)))
    elif name == "net":
        document = net_json.report(run_of(NetWorld(48, 16, bad={5: 0.4}, uplinks={2: 0.5})))
    else:
        document = _printed([files.get(word, word) for word in _COMMANDS[name][0]], capsys)
    document = _short(document)
    assert _problems(document) == []
    named = {key for one in _objects(_schema(name)) for key in one["properties"]}
    tried = 0
    for path in _records(document):
        record = _at(document, path)
        for key in [key for key in record if key in named and not _OPEN & set(path)]:
            record[f"{key}_"] = record.pop(key)
            assert not _validator(name).is_valid(document), f"{path}: {key}"
            record[key] = record.pop(f"{key}_")
            tried += 1
    assert tried >= 4
    assert _problems(document) == []
