"""Figure 10: what we write, read by those for whom it is written."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.waiting import until
from tools.fleet_acceptance.rows import PROGRAM, Row, Setting, fleet, holds, most, none, ran, skipped, tests
from tools.fleet_world import World

_PORT = 29090
_READERS = (
    ("scripts, units and lines of Slurm by bash, shellcheck, systemd, Slurm", "tests/fleet/test_site_files.py"),
    ("taints by the real kubectl", "tests/fleet/test_kubernetes.py"),
)


def figure(setting: Setting) -> Iterator[Row]:
    """Prometheus reads the metrics of a large fleet and fires the alerts that it has to."""
    for what, name in _READERS:
        yield tests(what, name) if setting.heavy else skipped(what, "--light; in every run of the tests")
    place = setting.place("outputs")
    world = World(setting.nodes, setting.seed, setting.nodes // 50, 0, setting.nodes // 500)
    now = int(time.time())
    store, lines = place / "store", place / "round"
    world.begin = now - 900
    for number in (1, 2, 3, 4):
        with lines.open("w") as stream:
            stream.writelines(world.round(number))
        judged = fleet("tick", store, lines, "--at", world.begin + (number - 1) * 300, "--json").data()
    drains = [one["node"] for one in judged["nodes"] if one["proposal"] == "drain"]
    fleet("metrics", store, place / "rocdoctor.prom")
    fleet("emit", "prometheus", place / "rules")
    text = (place / "rocdoctor.prom").read_text()
    series = [one for one in text.splitlines() if one and not one.startswith("#")]
    yield holds(f"metrics of {setting.nodes} nodes", len(series) > len(judged["nodes"]), f"{len(series)} series")
    yield most(
        "signs of the longest reason of a drain", max((len(one) for one in _reasons(place, store)), default=0), 80
    )
    if shutil.which("promtool") is None:
        yield skipped("promtool, Prometheus: scrape, alerts", "promtool is not on PATH (Debian: prometheus)")
        return
    with (place / "rocdoctor.prom").open("rb") as stream:
        said = subprocess.run(
            ["promtool", "check", "metrics"], stdin=stream, capture_output=True, text=True, check=False
        )
    yield holds("promtool check metrics", said.returncode == 0, said.stderr.strip()[:100])
    rules = place / "rules" / "rocdoctor-rules.yml"
    said = subprocess.run(["promtool", "check", "rules", str(rules)], capture_output=True, text=True, check=False)
    yield holds("promtool check rules", said.returncode == 0, said.stdout.strip().replace("\n", " ")[-60:])
    if shutil.which("prometheus") is None:
        yield skipped("Prometheus: scrape, alerts", "prometheus is not on PATH")
        return
    yield from _scraped(place, rules, drains)


def _reasons(place: Path, store: Path) -> list[str]:
    """As a dry run on the planted fleet writes them."""
    nodes = sorted({one["node"] for one in fleet("judge", store, "--json").data()["nodes"]})
    (place / "bin").mkdir()
    sinfo = place / "bin" / "sinfo"
    sinfo.write_text("#!/bin/sh\ncat <<'END'\n" + "".join(f"{one}|idle|gpu:8|none\n" for one in nodes) + "END\n")
    sinfo.chmod(0o755)
    words = [*PROGRAM, "fleet", "apply", store, "--share", "100", "--rate", "100"]
    done = ran(words, PATH=f"{place}/bin:{os.environ['PATH']}")
    return re.findall(r"Reason=([^'\n]*)", done.out) or ["x" * 999]


@contextlib.contextmanager
def _prometheus(place: Path, rules: Path) -> Iterator[None]:
    """It scrapes a file that Python's own server gives out, as node_exporter's textfile collector would."""
    quick = rules.read_text()
    (place / "quick.yml").write_text(re.sub(r"for: \d+m", "for: 1s", quick))
    (place / "prometheus.yml").write_text(
        "global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s}\n"
        f"rule_files: ['{place}/quick.yml']\n"
        "scrape_configs:\n- job_name: fleet\n  metrics_path: /rocdoctor.prom\n"
        f"  static_configs: [{{targets: ['127.0.0.1:{_PORT + 1}']}}]\n"
    )
    serve = (
        "import http.server as h, sys; H = h.SimpleHTTPRequestHandler; H.log_message = lambda *a: None; "
        "H.extensions_map = {'.prom': 'text/plain; version=0.0.4'}; "
        f"h.ThreadingHTTPServer(('127.0.0.1', {_PORT + 1}), lambda *a: H(*a, directory=sys.argv[1])).serve_forever()"
    )
    with (place / "log").open("wb") as log:
        begun = [
            subprocess.Popen([sys.executable, "-c", serve, str(place)]),
            subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={place}/prometheus.yml",
                    f"--storage.tsdb.path={place}/tsdb",
                    f"--web.listen-address=127.0.0.1:{_PORT}",
                ],
                stderr=log,
                stdout=log,
            ),
        ]
    try:
        yield
    finally:
        for one in begun:
            one.kill()
            one.wait()


def _ask(path: str, **words: str) -> Any:
    with contextlib.suppress(OSError, ValueError):
        url = f"http://127.0.0.1:{_PORT}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]
    return {}


def _scraped(place: Path, rules: Path, drains: list[str]) -> Iterator[Row]:
    with _prometheus(place, rules):
        until(lambda: _to_drain() == [len(drains)], 180)
        yield holds("Prometheus scraped the nodes to drain", _to_drain() == [len(drains)], f"{_to_drain()}")
        until(lambda: len(_alerted()) >= len(drains), 180)
        named = _alerted()
        yield none("nodes to drain without an alert", sorted(set(drains) - named))
        yield none("alerts of other nodes", sorted(named - set(drains)))


def _to_drain() -> list[int]:
    found = _ask("query", query='count(rocdoctor_node_verdict{proposal="drain"})').get("result", ())
    return [int(one["value"][1]) for one in found]


def _alerted() -> set[str]:
    """The nodes that an alert names now."""
    labels = [one["labels"] for one in _ask("alerts").get("alerts", ()) if one["state"] == "firing"]
    return {str(one.get("node")) for one in labels if one["alertname"] == "RocdoctorNodeToDrain"}
