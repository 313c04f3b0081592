"""Files for what runs ``record`` and ``gate`` on a site, or shows what came of it. Pure: places in, texts out.

Slurm: slurm.conf(5) of 22.05 and https://slurm.schedmd.com/prolog_epilog.html (a Prolog that fails drains its node; a
HealthCheckProgram is killed after 60 s, and in newer releases keeps slurmd from registering until it gives 0). systemd:
systemd.service(5), systemd.timer(5). Prometheus: https://prometheus.io/docs/prometheus/latest/configuration. All read
2026-11-24. Read 2026-11-28: kubernetes/node-problem-detector pkg/custompluginmonitor/types/config.go and
plugin/plugin.go (0 is well, 1 a problem, else not known; 80 bytes of output are kept; a rule may not take longer than
its file says), and mej/nhc scripts/lbnl_cmd.nhc (a match that begins with ! fails the check, and %L in -M is the line).
Read 2026-11-29: mej/nhc nhc (die() evaluates the message between single quotes), node-problem-detector
pkg/custompluginmonitor/custom_plugin_monitor.go (what is not known keeps the reason of the condition as it stands in
the file, so that reason claims nothing).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rocdoctor.fleet.cluster_files import kubernetes_files, nfd_files
from rocdoctor.fleet.dashboard import dashboard
from rocdoctor.fleet.fetching import site_play
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import fits, shell
from rocdoctor.train.emit.files import File

SiteTarget = Literal["slurm", "k8s", "nfd", "ansible", "nhc", "npd", "systemd", "prometheus", "grafana"]
_SLURM_PLACE, _NHC_PLACE, _NPD_PLACE = "/etc/slurm", "/etc/nhc", "/etc/node-problem-detector"
# The first word of a unit's command is taken as it stands, and slurmd runs programs without a shell.
_PLAIN_PATH = regex(r"/[A-Za-z0-9_./+-]{1,1000}")


class SiteError(Exception):
    """Why no file can be written of these places."""


@dataclass(frozen=True, slots=True)
class SitePlaces:
    """``program``: rocdoctor on the nodes; ``records``: the folder that all nodes write to; ``image``: for pods."""

    program: str
    records: str
    image: str = ""


def site_files(target: SiteTarget, places: SitePlaces) -> Sequence[File]:
    """The files of a target. Raises SiteError for a place that no quoting can bring through."""
    if not _PLAIN_PATH.fullmatch(places.program):
        raise SiteError(f"{places.program!r} is not an absolute path of plain letters")
    if not places.records.startswith("/") or not fits(places.records, "path"):
        raise SiteError(f"{places.records!r} is not an absolute path that can be used in a script")
    if target == "slurm":
        return _slurm(places)
    if target in ("nhc", "npd"):
        return _gated(target, places)
    if target == "k8s":
        try:
            return kubernetes_files(places.program, places.records, places.image)
        except ValueError as error:
            raise SiteError(str(error)) from None
    if target == "nfd":
        return nfd_files(places.program)
    if target == "ansible":
        return (File("rocdoctor-record.yml", site_play(places.program, places.records)),)
    if target == "grafana":
        return (File("rocdoctor-dashboard.json", dashboard()),)
    return _systemd(places) if target == "systemd" else (File("rocdoctor-rules.yml", _RULES),)


def _slurm(places: SitePlaces) -> Sequence[File]:
    program = shell("rocdoctor={program:path}", program=places.program)
    records = shell("records={records:path}", records=places.records)
    return (
        File("rocdoctor-prolog.sh", _PROLOG.replace("PROGRAM", program), True),
        File("rocdoctor-health.sh", _HEALTH.replace("PROGRAM", program).replace("RECORDS", records), True),
        File("slurm-rocdoctor.conf", _CONF),
    )


def _gated(target: SiteTarget, places: SitePlaces) -> Sequence[File]:
    """What asks the gate from time to time."""
    program = shell("rocdoctor={program:path}", program=places.program)
    if target == "nhc":
        script = _NHC_SCRIPT.replace("PROGRAM", program)
        return File("rocdoctor-nhc.sh", script, True), File("nhc-rocdoctor.conf", _NHC_CONF)
    config = {
        "plugin": "custom",
        "pluginConfig": {"invoke_interval": "60s", "timeout": "5s", "max_output_length": 80, "concurrency": 1},
        "source": "rocdoctor-custom-plugin-monitor",
        "metricsReporting": True,
        "conditions": [{"type": _CONDITION, "reason": "NoCertainGpuFault", "message": "no certain GPU fault"}],
        "rules": [
            {
                "type": "permanent",
                "condition": _CONDITION,
                "reason": "GpuFault",
                "path": f"{_NPD_PLACE}/rocdoctor-npd.sh",
                "timeout": "4s",
            }
        ],
    }
    script = _NPD_SCRIPT.replace("PROGRAM", program)
    return File("rocdoctor-npd.sh", script, True), File("rocdoctor-npd.json", json.dumps(config, indent=2) + "\n")


def _systemd(places: SitePlaces) -> Sequence[File]:
    folder = _unit_text(places.records)
    return (
        File("rocdoctor-record.service", _SERVICE.replace("PROGRAM", places.program).replace("FOLDER", folder)),
        File("rocdoctor-record.timer", _TIMER),
    )


def _unit_text(text: str) -> str:
    """A part of a word in double quotes; what means something there is doubled or escaped (systemd.service(5))."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


_PROLOG = """\
#!/bin/sh
# Written by rocdoctor. A Prolog of Slurm: one that fails drains its node and holds the job, outside all bounds of
# `rocdoctor fleet apply`. So it fails only where the gate says "closed"; a gate that is missing, breaks or hangs does
# not count.
PROGRAM
said=$(timeout --kill-after=1 5 "$rocdoctor" gate --record /run/rocdoctor)
case "$said" in
closed:*)
    logger -t rocdoctor -- "$said" 2>/dev/null
    exit 1
    ;;
esac
exit 0
"""

_HEALTH = """\
#!/bin/sh
# Written by rocdoctor. A HealthCheckProgram of Slurm: records this node, first on the node itself (for the gate), then
# in the folder of the fleet, whole or not at all. It drains nothing and always gives 0. Root of the nodes must be
# allowed to write to that folder.
PROGRAM
RECORDS
name=${SLURMD_NODENAME:-$(uname -n | cut -d . -f 1)}
if timeout --kill-after=5 40 "$rocdoctor" record --out /run/rocdoctor --node "$name" --quiet; then
    new=$records/.$name.new # a new file, never what a link leads to that another node put there
    timeout --kill-after=1 5 rm -f -- "$new" &&
        timeout --kill-after=1 5 dd "if=/run/rocdoctor/$name.json" "of=$new" conv=excl status=none &&
        timeout --kill-after=1 5 mv -fT -- "$new" "$records/$name.json"
fi
exit 0
"""

_CONF = f"""\
# Written by rocdoctor: lines for slurm.conf. Both scripts stand at these paths on every node, executable. Where there
# is a Prolog or a HealthCheckProgram already, call these from it.
Prolog={_SLURM_PLACE}/rocdoctor-prolog.sh
HealthCheckProgram={_SLURM_PLACE}/rocdoctor-health.sh
HealthCheckInterval=300
# CYCLE spreads the nodes over the interval. With IDLE,CYCLE no job shares its node with a record (about one CPU
# second), and a node is not known while jobs run.
HealthCheckNodeState=ANY,CYCLE
"""

_NHC_SCRIPT = """\
#!/bin/sh
# Written by rocdoctor: what the gate says, for Node Health Check. Only "closed" counts, so it always gives 0: a gate
# that is missing, breaks or hangs drains no node. NHC lets a shell read the line again between single quotes, as root:
# so it gets no sign that means something there.
PROGRAM
timeout --kill-after=1 4 "$rocdoctor" gate --record /run/rocdoctor 2>/dev/null |
    head -n 1 | LC_ALL=C tr -cd 'A-Za-z0-9 .,:;()_/+=@-' | head -c 200
exit 0
"""

_NHC_CONF = f"""\
# Written by rocdoctor: a line for nhc.conf. NHC drains outside all bounds of `rocdoctor fleet apply`, and takes the
# node back at the first good run: only certain faults count here.
 * || check_cmd_output -t 10 -r 0 -M '%L' -m '!/^closed/' {_NHC_PLACE}/rocdoctor-nhc.sh
"""

_CONDITION = "RocdoctorGpu"
_NPD_SCRIPT = """\
#!/bin/sh
# Written by rocdoctor: a custom plugin of node-problem-detector. 0: no certain GPU fault; 1: a fault; 2:
# not known, as where the gate is missing, breaks or hangs. 80 bytes are kept, and no half signs.
PROGRAM
said=$(timeout --kill-after=1 3 "$rocdoctor" gate --record /run/rocdoctor 2>/dev/null)
printf '%s' "${said:-no answer}" | head -n 1 | LC_ALL=C tr -cd ' -~' | head -c 80
case "$said" in
closed:*) exit 1 ;;
open:*) exit 0 ;;
esac
exit 2
"""

_SERVICE = """\
# Written by rocdoctor: this node records itself, for the gate and then, whole or not at all, for the fleet.
[Unit]
Description=Record of this node by rocdoctor

[Service]
Type=oneshot
ExecStart=PROGRAM record --out /run/rocdoctor --node %l --quiet
# A new file, never what a link leads to that another node put there.
ExecStartPost=/bin/rm -f -- "FOLDER/.%l.new"
ExecStartPost=/bin/dd if=/run/rocdoctor/%l.json "of=FOLDER/.%l.new" conv=excl status=none
ExecStartPost=/bin/mv -fT -- "FOLDER/.%l.new" "FOLDER/%l.json"
TimeoutStartSec=120
Nice=10
NoNewPrivileges=yes
"""

_TIMER = """\
# Written by rocdoctor: every five minutes, not all nodes in the same second.
[Unit]
Description=Record of this node by rocdoctor, every five minutes

[Timer]
OnBootSec=2min
OnUnitActiveSec=5min
RandomizedDelaySec=60
Unit=rocdoctor-record.service

[Install]
WantedBy=timers.target
"""

_RULES = """\
# Written by rocdoctor: alerts of what `rocdoctor fleet metrics STORE FILE.prom` writes. Shares and times are our
# judgement: change them to what this site can bear.
groups:
  - name: rocdoctor
    rules:
      - alert: RocdoctorNodeToDrain
        expr: rocdoctor_node_verdict{proposal="drain"} == 1
        for: 10m
        labels:
          severity: warning
        annotations:
          summary: "{{ $labels.node }} is to be drained: {{ $labels.check }}"
          description: "rocdoctor fleet why STORE {{ $labels.node }} says on what evidence."
      - alert: RocdoctorSharedCause
        expr: rocdoctor_fleet_findings{kind="common"} > 0
        for: 10m
        labels:
          severity: critical
        annotations:
          summary: "Many nodes show one fault at once: look for a shared cause, drain none."
      - alert: RocdoctorNodesNotKnown
        expr: rocdoctor_fleet_nodes{class="unknown"} / scalar(sum(rocdoctor_fleet_nodes)) > 0.1
        for: 15m
        labels:
          severity: warning
        annotations:
          summary: "{{ $value | humanizePercentage }} of the nodes are not known."
      - alert: RocdoctorRoundOld
        expr: time() - rocdoctor_fleet_round_timestamp_seconds > 1800
        for: 5m
        labels:
          severity: warning
        annotations:
          summary: "No round was judged for {{ $value | humanizeDuration }}: does fleet tick still run?"
      - alert: RocdoctorNoRound
        expr: absent(rocdoctor_fleet_round_timestamp_seconds)
        for: 30m
        labels:
          severity: warning
        annotations:
          summary: "The file of rocdoctor fleet metrics is missing or not collected."
"""
