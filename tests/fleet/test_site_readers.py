"""What readers that cannot be had here accept, by their sources, field by field: NPD, NFD, NHC and Flux.

Go decodes what it knows and drops the rest without a word, so a field that is misspelt is a field that is not there.
All read on 2026-11-29, each at the newest commit; no package of theirs is in PyPI, npm or Debian 12 (flux-python is,
but needs libflux-core, which is not).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.fleet import flux
from rocdoctor.fleet.acting import PREFIX, EngineCall, EngineNode
from rocdoctor.fleet.fetching import Asking, fetch_plan
from rocdoctor.fleet.site_files import SitePlaces, SiteTarget, site_files

_PLACES = SitePlaces("/opt/roc/bin/rocdoctor", "/records")


def _text(target: SiteTarget, ending: str) -> str:
    (found,) = (one.text for one in site_files(target, _PLACES) if one.name.endswith(ending))
    return found


# kubernetes/node-problem-detector, the json tags of pkg/custompluginmonitor/types/config.go and types.go and of
# Condition in pkg/types/types.go. The kinds are those of Go.
_NPD: Mapping[str, Mapping[str, type]] = {
    "": {
        "plugin": str,
        "pluginConfig": dict,
        "source": str,
        "conditions": list,
        "rules": list,
        "metricsReporting": bool,
    },
    "pluginConfig": {
        "invoke_interval": str,
        "timeout": str,
        "max_output_length": int,
        "concurrency": int,
        "enable_message_change_based_condition_update": bool,
        "skip_initial_status": bool,
    },
    "conditions": {"type": str, "status": str, "transition": str, "reason": str, "message": str},
    "rules": {
        "type": str,
        "condition": str,
        "reason": str,
        "path": str,
        "args": list,
        "timeout": str,
        "invoke_interval": str,
    },
}


def _refused_by_npd(config: Mapping[str, Any]) -> list[str]:
    """What its decoder drops or refuses, and what Validate() of config.go refuses; a path is looked at on the node."""
    found = []
    for part, known in _NPD.items():
        inside = config if not part else config.get(part, {})
        for one in inside if isinstance(inside, list) else [inside]:
            found += [f"{part}/{name}" for name, value in one.items() if type(value) is not known.get(name)]
    every, within = (_seconds(config["pluginConfig"][name]) for name in ("invoke_interval", "timeout"))
    if config["plugin"] != "custom" or every <= 0:
        found.append("plugin")
    for rule in config["rules"]:
        if _seconds(rule["timeout"]) > within:
            found.append("a rule takes longer than all")
        if rule["type"] == "permanent" and rule["condition"] not in [one["type"] for one in config["conditions"]]:
            found.append("no such condition")
        if rule["type"] not in ("permanent", "temporary"):
            found.append("no such type")
    return found


def _seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)(ms|s|m|h)", duration)  # of Go's time.ParseDuration, without sums
    assert found is not None, duration
    return int(found[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]]


def test_npd_takes_all_of_its_file() -> None:
    config = json.loads(_text("npd", ".json"))
    assert _refused_by_npd(config) == []
    assert config["rules"][0]["type"] == "permanent"
    assert config["conditions"][0]["reason"] == "NoCertainGpuFault", "it stands beside a status that is not known too"
    for place, name, value, refused in (
        ("pluginConfig", "invokeInterval", "60s", "pluginConfig/invokeInterval"),
        ("pluginConfig", "concurrency", "1", "pluginConfig/concurrency"),
        ("rules", "timeout", "6s", "a rule takes longer than all"),
        ("rules", "condition", "Other", "no such condition"),
        ("rules", "type", "lasting", "no such type"),
        ("", "plugin", "journald", "plugin"),
    ):
        other = json.loads(_text("npd", ".json"))
        inside = other if not place else other[place]
        (inside[0] if isinstance(inside, list) else inside)[name] = value
        assert _refused_by_npd(other) == [refused], name


def _labels(text: str, now: str) -> dict[str, str]:
    """kubernetes-sigs/node-feature-discovery, parseFeatureFile() of source/local/local.go, then Label() of

    pkg/apis/nfd/validate/validate.go. Raises ValueError where a directive or a label is refused.
    """
    found, ends = {}, now
    assert len(text) <= 65536
    for line in filter(None, map(str.strip, text.split("\n"))):
        if line.startswith("# +"):
            name, _, value = line[3:].partition("=")
            if name != "expiry-time" or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", value):
                raise ValueError(line)
            ends = value
        elif not line.startswith("#") and ends >= now:
            key, equals, value = line.partition("=")
            space, slash, name = key.partition("/")
            word = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
            if (
                not slash
                or space.endswith("kubernetes.io")
                or not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", space)
            ):
                raise ValueError(key)
            if not re.fullmatch(word, name) or not re.fullmatch(f"({word})?", value):
                raise ValueError(line)
            found[key] = value if equals else "true"
    return found


@pytest.mark.parametrize("gate", ["open", "closed", "unknown"])
def test_nfd_takes_the_label_until_it_ends(gate: str) -> None:
    (form,) = re.findall(r"printf '([^']+)' \"\$ends\" \"\$gate\"", _text("nfd", ".sh"))
    (when,) = re.findall(r"date -u -d '\+15 minutes' (\S+)\)", _text("nfd", ".sh"))
    done = subprocess.run(
        ["date", "-u", "-d", "2026-11-29 08:00:00Z", when], capture_output=True, text=True, check=True
    )
    text = form.replace("\\n", "\n") % (done.stdout.strip(), gate)
    assert _labels(text, "2026-11-29T07:59:59Z") == {"rocdoctor/gate": gate}
    assert _labels(text, "2026-11-29T08:00:01Z") == {}, "a label that has ended is gone"
    for wrong in (text.replace("expiry-time", "expires"), text.replace("rocdoctor/gate", "gate"), text + "x y/z=1"):
        with pytest.raises(ValueError, match=r"expires|gate|x y"):
            _labels(wrong, "2026-11-29T07:59:59Z")


# mej/nhc, die() of nhc: how a message reaches the program that takes a node out; check_cmd_output() of
# scripts/lbnl_cmd.nhc takes its line's double quotes, backquotes and dollar signs away, and no single quote.
_DIE = """\
line=$("$1"); line=${line//[\\"\\`\\$]}; set -- "check_cmd_output:  $line."
offline() { printf '%s' "$2"; }
eval offline "'node'" "'$*'"
"""


def test_nhc_gets_no_line_that_its_shell_would_run(tmp_path: Path) -> None:
    (tmp_path / "rocdoctor").write_text(
        "#!/bin/sh\ncat <<'END'\nclosed: gpu 2: it's 'x; touch owned; ' \\ & | > owned [ras-uncorrectable]\nEND\n"
    )
    (tmp_path / "rocdoctor").chmod(0o700)
    files = site_files("nhc", SitePlaces(str(tmp_path / "rocdoctor"), "/records"))
    script = tmp_path / files[0].name
    script.write_text(files[0].text)
    script.chmod(0o700)
    done = subprocess.run(["bash", "-c", _DIE, "x", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    told = "check_cmd_output:  closed: gpu 2: its x; touch owned;      owned ras-uncorrectable."
    assert (done.returncode, done.stdout, done.stderr) == (0, told, "")
    assert not (tmp_path / "owned").exists()


# flux-framework/flux-core src/cmd/flux-resource.py: the options of status, drain and undrain, the fields of
# ``headings`` in status(), and valid_states with what stands for several of them left out.
_FLUX_OPTIONS = {"status": {"--no-header", "--format"}, "drain": {"--update"}, "undrain": set[str]()}
_FLUX_FIELDS = {"state", "statex", "nnodes", "ranks", "nodelist", "reason", "timestamp", "status", "up"}
_FLUX_STATES = {"avail", "exclude", "draining", "drained", "torpid", "allocated", "housekeeping"}
# src/cmd/flux-exec.c, cmdopts; options end at the first word that is none (posixly_correct in liboptparse/optparse.c).
_EXEC_OPTIONS = {"--rank", "--exclude", "--dir", "--label-io", "--noinput", "--verbose", "--quiet", "--service"}


def _options(words: Sequence[str]) -> set[str]:
    return {one.partition("=")[0] for one in words if one.startswith("--")}


def test_flux_knows_each_option_and_each_field() -> None:
    calls: list[list[str]] = [list(flux.ASK_NODES)]
    for action in ("drain", "resume"):
        calls += flux.commands(EngineCall(action, ("gpu01", "gpu02"), f"{PREFIX}kfd-missing [certain] 20261124T1340Z"))
    for call in calls:
        assert call[:2] == ["flux", "resource"]
        assert _options(call) <= _FLUX_OPTIONS[call[2]], call
    (form,) = (one for one in flux.ASK_NODES if one.startswith("--format="))
    assert set(re.findall(r"\{(\w+)\}", form)) == {"statex", "status", "nodelist", "reason"}
    assert set(re.findall(r"\{(\w+)\}", form)) <= _FLUX_FIELDS
    plan = fetch_plan("flux", Asking(("gpu01",), ranks={"gpu01": 0}), "/run/f")
    (line,) = re.findall(r"flux exec (.+?) sh -c ", dict(plan.files)["ask"])
    assert _options(line.split()) <= _EXEC_OPTIONS
    assert all(one.startswith("-") for one in line.split())


@pytest.mark.parametrize("state", sorted(_FLUX_STATES))
def test_each_state_of_flux_is_in_service_or_out(state: str) -> None:
    """statuslines() writes an empty line for a state without nodes, and a line for each node that is drained."""
    out = state not in ("avail", "allocated", "housekeeping")
    assert flux.nodes_of(f"{state}|online||\n{state}|online|gpu[01-02]|\n{state}|offline|gpu03|\n") == [
        EngineNode("gpu01", out, "", True),
        EngineNode("gpu02", out, "", True),
        EngineNode("gpu03", True, "", True),
    ]
