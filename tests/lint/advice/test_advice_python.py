"""Advice that Python code follows: every rule on code that follows it and on code that only looks so."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.knowledge.load import TableError, load_table
from rocdoctor.knowledge.messages.advice import advice_for, read_advice
from rocdoctor.lint.advice.findings import Hit
from rocdoctor.lint.env_findings import CHECKS, judge
from rocdoctor.lint.linted_file import read_advised, wanted
from rocdoctor.lint.python.env_settings import commands_of, settings_of, sheet_of
from rocdoctor.lint.python.predicates import PREDICATES
from rocdoctor.lint.python.rules import hits_in, index_of
from rocdoctor.lint.python.source import read_python
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Verdict
from rocdoctor.service.session import chosen_checks
from tests.examples import rows
from tests.lint.advice.advice_python_samples import SAMPLES
from tests.lint.python_healthy import HEALTHY

ADVICE = {one.id: one for one in advice_for("python")}
_BAD = [(name, code) for name, (bad, _) in SAMPLES.items() for code in bad]
_GOOD = [(name, code) for name, (_, good) in SAMPLES.items() for code in good]


def _hits(code: str, path: str = "train.py") -> list[Hit]:
    source = read_python(path, code)
    assert source is not None, "the sample is no Python"
    index = index_of(source)
    assert index is not None
    return hits_in(index)


def _verdicts(code: str, path: str = "train.py") -> list[Verdict]:
    found = read_advised(path, code)
    assert found is not None
    return found.verdicts


def test_every_rule_has_samples_and_every_sample_a_rule() -> None:
    assert set(SAMPLES) == set(ADVICE)
    assert all(bad and good for bad, good in SAMPLES.values())


@rows(("name", "code"), _BAD)
def test_code_that_follows_advice_is_named_with_its_line(name: str, code: str) -> None:
    marked = [(number, "!HERE" in line) for number, line in enumerate(code.split("\n"), 1) if "HERE" in line]
    found = [(hit.line, hit.possible) for hit in _hits(code) if hit.advice.id == name]
    assert found == marked
    (verdict,) = [one for one in _verdicts(code) if one.check == f"advice-{name}"]
    assert verdict.finding is not None
    assert verdict.subject.label == f"train.py:{marked[0][0]}"
    assert verdict.finding.severity == ("info" if marked[0][1] else ADVICE[name].severity)
    assert (verdict.finding.confidence == "possible") == marked[0][1]
    assert ADVICE[name].truth in verdict.finding.message

    assert verdict.finding.references
    assert verdict.finding.fix is not None


@rows(("name", "code"), _GOOD)
def test_code_that_only_looks_so_has_no_finding_at_all(name: str, code: str) -> None:
    assert not [(one.check, one.subject) for one in _verdicts(code)]


def test_nothing_that_rests_on_weak_ground_is_a_warning() -> None:
    rows = load_table("advice_python")["advice"]
    assert not [
        one["id"] for one in rows if one["severity"] == "warning" and one["basis"].startswith(("general", "not"))
    ]
    for one in rows:
        rules = one["match"].get("python", [])
        for rule in rules if isinstance(rules, list) else [rules]:
            assert rule.get("find") is None or rule["find"] in PREDICATES


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"s": []}, "no source"),
        ({"s": ["gone"]}, "unknown source"),
        ({"verdict": False}, "verdict"),
        ({"basis": "general-knowledge", "severity": "warning"}, "a warning needs more"),
        ({"match": {"elsewhere": 1}}, "match"),
        ({"truth": ""}, "truth"),
    ],
)
def test_a_row_that_lacks_something_is_refused(change: dict[str, object], said: str) -> None:
    row = {
        "id": "a",
        "claim": "c",
        "verdict": "false",
        "message": "m",
        "truth": "t",
        "remedy": "r",
        "severity": "info",
        "basis": "tested",
        "s": ["x"],
        "match": {"python": {}},
    }
    table = {"sources": {"x": {"what": "w", "kind": "primary"}}}
    assert read_advice({**table, "advice": [row]}, "t")[0].sources == ("x",)
    with pytest.raises(TableError, match=said):
        read_advice({**table, "advice": [{**row, **change}]}, "t")


# -- settings and commands

_SETTINGS = """import os, subprocess
from os import environ
os.environ["NCCL_DEBUG"] = "INFO"
environ.setdefault("OMP_NUM_THREADS", str(8))
os.putenv("HSA_XNACK", "1")
MORE = {"NCCL_P2P_LEVEL": "NVL", "NCCL_IB_DISABLE": level}
os.environ.update(MORE)
os.environ.update(RCCL_DEBUG="WARN")
for key, value in {"MIOPEN_FIND_MODE": "FAST"}.items():
    os.environ[key] = value
del os.environ["HIP_VISIBLE_DEVICES"]
os.environ[name] = "x"
subprocess.run(["python", script, "-m", "a b"], env={**os.environ, "GPU_MAX_HW_QUEUES": "2"})
os.system(f"nvidia-smi -i {n}")
def debug():
    os.environ["AMD_SERIALIZE_KERNEL"] = "3"
def setup():
    os.environ["AMD_SERIALIZE_COPY"] = "3"
if __name__ == "__main__":
    setup()
"""


def test_variables_and_commands_are_read_with_their_lines() -> None:
    source = read_python("train.py", _SETTINGS)
    assert source is not None
    index = index_of(source)
    assert index is not None
    told = {one.name: (one.value, one.place.line) for one in settings_of(index)}
    assert told == {
        "NCCL_DEBUG": ("INFO", 3),
        "OMP_NUM_THREADS": ("8", 4),
        "HSA_XNACK": ("1", 5),
        "NCCL_P2P_LEVEL": ("NVL", 6),
        "NCCL_IB_DISABLE": ("\x00", 6),
        "RCCL_DEBUG": ("WARN", 8),
        "MIOPEN_FIND_MODE": ("FAST", 9),
        "HIP_VISIBLE_DEVICES": (None, 11),
        "GPU_MAX_HW_QUEUES": ("2", 13),
        "AMD_SERIALIZE_KERNEL": ("3", 16),
        "AMD_SERIALIZE_COPY": ("3", 18),
    }
    assert commands_of(index) == [(13, "python $VALUE -m 'a b'"), (14, "nvidia-smi -i $VALUE")]
    sheet = sheet_of("train.py", index)
    sure = {one.name: all(sheet.scopes[at].sure for at in sheet.chain(one.scope)) for one in sheet.settings}
    assert (sure["NCCL_DEBUG"], sure["OMP_NUM_THREADS"]) == (True, False)
    assert (sure["AMD_SERIALIZE_KERNEL"], sure["AMD_SERIALIZE_COPY"]) == (False, True)


def test_commands_are_held_against_the_rules_for_scripts() -> None:
    code = "import subprocess\n\nsubprocess.run(['python', '-m', 'torch.distributed.launch', 'train.py'])\n"
    assert [(one.check, one.subject.label) for one in _verdicts(code)] == [("advice-launch-old-launcher", "train.py:3")]


def test_advice_is_chosen_by_name() -> None:
    code = "import torch\ntorch.compile(m, backend='inductor-rocm', mode='max-autotune-rocm')\n"
    both = _verdicts(code)
    backend, mode = "advice-compile-backend-inductor-rocm", "advice-compile-mode-rocm"
    assert {one.check for one in both} == {backend, mode}
    assert {one.check for one in wanted(both, [], [mode])} == {backend}
    assert {one.check for one in wanted(both, [mode], [])} == {mode}
    assert {one.check for one in wanted(both, ["advice"], [])} == {backend, mode}
    assert wanted(both, [], ["advice"]) == []


# -- notebooks, and what is no Python


def _notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "metadata": {}} for cell in cells]
    return json.dumps({"cells": made, "nbformat": 4, "metadata": {}}, indent=1)


def test_cells_of_a_notebook_are_read_and_lines_are_those_of_the_file() -> None:
    text = _notebook(
        "%matplotlib inline\n!pip install torch\nimport torch\n",
        "this is no python (\n",
        "%%time\nfiles = !ls\nif True:\n    %env NCCL_DEBUG=INFO\nm = torch.compile(m, mode='max-autotune-rocm')\n",
        "%%bash\necho torch.compile(m, mode='max-autotune-rocm')\n",
    )
    (hit,) = _hits(text, "a.ipynb")
    assert "max-autotune-rocm" in text.split("\n")[hit.line - 1]
    assert "torch.compile" in text.split("\n")[hit.line - 1]
    source = read_python("a.ipynb", text)
    assert source is not None
    assert [told for _, told in source.shell][:1] == ["pip install torch"]
    assert [(name, value) for _, name, value in source.settings] == [("NCCL_DEBUG", "INFO")]


_NOT_PYTHON = [
    "import torch\nprint 'old'\n",
    "import torch\n{% if x %}\ny = {{ value }}\n{% endif %}\n",
    "import torch\n\x00",
    "import torch\n" + "(" * 5000 + ")" * 5000,
    "import torch\nx = " + "-" * 100_000 + "1",
    "import torch\nx = " + "a." * 50_000 + "b",
    "import torch\nx = " + "+".join(["1"] * 200_000),
    "import torch\n" + "\n".join(" " * level + "if x:" for level in range(300)),
    "import torch\nx = " + "[" * 90 + "]" * 90 + "\nos.environ[f(" + "lambda: " * 2000 + "1)] = 1",
    "import torch\nx = f'" + "{a}" * 10_000 + "'",
]


@pytest.mark.parametrize("text", _NOT_PYTHON, ids=range(len(_NOT_PYTHON)))
@pytest.mark.parametrize("path", ["a.py", "a.ipynb"])
def test_what_cannot_be_parsed_is_not_read_and_raises_nothing(text: str, path: str) -> None:
    found = read_advised(path, text)
    assert found is None or not found.verdicts


@pytest.mark.parametrize(
    "text", ['{"cells": 3, "torch": 1}', '{"cells": [1, {"cell_type": "code", "source": {}}], "torch": 1}', '["torch"]']
)
def test_a_notebook_of_another_form_raises_nothing(text: str) -> None:
    found = read_advised("a.ipynb", text)
    assert found is None or not found.verdicts


_ALL = "\n".join(code for _, code in _BAD)


@given(st.integers(0, len(_ALL)), st.integers(0, len(_ALL)), st.text(max_size=30))
def test_pieces_of_code_raise_nothing(start: int, end: int, put: str) -> None:
    text = f"import torch\n{_ALL[min(start, end) : max(start, end)]}{put}"
    found = read_advised("a.py", text)
    assert found is None or not [one for one in found.verdicts if one.state == "crashed"]


def test_the_linter_warns_of_nothing_in_torch_itself() -> None:
    """Thousands of lines of distributed code of the people who wrote the interface: a warning there is a false one."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    root = Path(spec.origin).parent
    folders = (
        "distributed/fsdp",
        "distributed/algorithms",
        "distributed/pipelining",
        "distributed/elastic",
        "nn/parallel",
        "testing/_internal/distributed",
        "utils/data",
        "amp",
    )
    infos = 0
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        found = read_advised(str(path), path.read_text(encoding="utf-8"))
        for verdict in found.verdicts if found is not None else ():
            assert verdict.finding is not None
            assert verdict.finding.severity == "info", (verdict.subject, verdict.finding.message)
            infos += 1
    # Tests of what is deprecated use it.
    assert infos <= 10


@pytest.mark.parametrize("name", HEALTHY)
def test_scripts_of_today_have_no_finding(name: str) -> None:
    found = read_advised(name, HEALTHY[name])
    assert found is not None
    assert found.verdicts == []
    checks, _ = chosen_checks(CHECKS, [])
    sheets = [found.sheet] if found.sheet is not None else []
    assert not [one for one in judge(sheets, Machine(), checks) if one.state != "pass"]
