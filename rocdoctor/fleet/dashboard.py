"""A dashboard of Grafana for what ``fleet metrics`` writes. Pure.

The form: the classic dashboard model, which every Grafana from 10 on imports: grafana/grafana
kinds/dashboard/dashboard_kind.cue and https://grafana.com/docs/grafana/latest/visualizations/dashboards (view-dashboard
-json-model); options of panels and of Prometheus queries as grafana-foundation-sdk 10.1.0 on PyPI has them. All read
2026-11-28.
"""

from __future__ import annotations

import json
from typing import Any

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDE = 24
_STAT_HEIGHT = 4
_RED, _YELLOW, _GREEN = "red", "yellow", "green"
_HIDDEN = ("Time", "__name__", "Value", "instance", "job")


def dashboard() -> str:
    """The file to import."""
    panels = [
        *_stats(),
        _panel(
            "timeseries",
            "Nodes by class, without those that are well",
            (0, _STAT_HEIGHT, 12, 9),
            [_query('rocdoctor_fleet_nodes{class!="well"}', legend="{{class}}")],
            options={"legend": _legend(), "tooltip": {"mode": "multi", "sort": "desc"}},
            custom={"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 20, "lineWidth": 1},
        ),
        _panel(
            "timeseries",
            "Findings about the fleet: nobody is drained for these",
            (12, _STAT_HEIGHT, 12, 9),
            [_query("rocdoctor_fleet_findings", legend="{{kind}}")],
            options={"legend": _legend(), "tooltip": {"mode": "multi", "sort": "desc"}},
            custom={"lineWidth": 1},
        ),
        _panel(
            "table",
            "Nodes with findings: rocdoctor fleet why STORE NODE",
            (0, _STAT_HEIGHT + 9, _WIDE, 12),
            [_query("rocdoctor_node_verdict", table=True)],
            options={"showHeader": True, "cellHeight": "sm", "sortBy": [{"displayName": "proposal", "desc": False}]},
            transformations=[
                {
                    "id": "organize",
                    "options": {
                        "excludeByName": dict.fromkeys(_HIDDEN, True),
                        "indexByName": {"node": 0, "proposal": 1, "class": 2, "check": 3, "cause": 4},
                        "renameByName": {},
                    },
                }
            ],
        ),
    ]
    for number, panel in enumerate(panels, 1):
        panel["id"] = number
    return json.dumps(_whole(panels), indent=2) + "\n"


def _whole(panels: list[dict[str, Any]]) -> dict[str, Any]:
    source = {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "hide": 0,
        "skipUrlSync": False,
    }
    return {
        "uid": "rocdoctor-fleet",
        "title": "rocdoctor fleet",
        "description": "Which nodes to take out of service, and why: what rocdoctor fleet metrics writes, by "
        "Prometheus.",
        "tags": ["rocdoctor"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-2d", "to": "now"},
        "refresh": "1m",
        "schemaVersion": 36,
        "templating": {"list": [source]},
        "annotations": {"list": []},
        "links": [],
        "panels": panels,
    }


def _stats() -> list[dict[str, Any]]:
    """The row at the top, in the order in which it matters; a class of which there is none is 0."""
    rows: tuple[tuple[str, str, tuple[tuple[str, float], ...], str], ...] = (
        ("To drain", _count('proposal="drain"'), ((_RED, 1),), "short"),
        ("To test", _count('proposal="test"'), ((_YELLOW, 1),), "short"),
        ("Not known", 'sum(rocdoctor_fleet_nodes{class="unknown"})', ((_YELLOW, 1),), "short"),
        ("Findings about the fleet", "sum(rocdoctor_fleet_findings)", ((_YELLOW, 1),), "short"),
        ("Nodes", "sum(rocdoctor_fleet_nodes)", (), "short"),
        ("Last round", "time() - max(rocdoctor_fleet_round_timestamp_seconds)", ((_YELLOW, 900), (_RED, 1800)), "s"),
    )
    width = _WIDE // len(rows)
    return [
        _panel(
            "stat",
            title,
            (at * width, 0, width, _STAT_HEIGHT),
            [_query(expr)],
            options={
                "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
                "colorMode": "background",
                "graphMode": "area",
                "justifyMode": "auto",
                "orientation": "auto",
                "textMode": "auto",
            },
            steps=steps,
            unit=unit,
        )
        for at, (title, expr, steps, unit) in enumerate(rows)
    ]


def _count(matcher: str) -> str:
    return f"count(rocdoctor_node_verdict{{{matcher}}}) or vector(0)"


def _legend() -> dict[str, Any]:
    return {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}


def _query(expr: str, *, legend: str = "", table: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"datasource": _SOURCE, "expr": expr, "refId": "A"}
    if table:
        return {**found, "format": "table", "instant": True, "range": False}
    return {**found, "legendFormat": legend} if legend else found


def _panel(
    kind: str,
    title: str,
    place: tuple[int, int, int, int],
    targets: list[dict[str, Any]],
    *,
    options: dict[str, Any],
    custom: dict[str, Any] | None = None,
    steps: tuple[tuple[str, float], ...] = (),
    unit: str = "short",
    transformations: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """A panel at (x, y, width, height) of the grid of 24 columns; ``steps``: from which value on which colour."""
    x, y, wide, high = place
    colours = [{"color": _GREEN, "value": None}, *({"color": colour, "value": value} for colour, value in steps)]
    return {
        "type": kind,
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": wide, "h": high},
        "targets": targets,
        "options": options,
        "fieldConfig": {
            "defaults": {
                "unit": unit,
                "thresholds": {"mode": "absolute", "steps": colours},
                **({"custom": custom} if custom else {}),
            },
            "overrides": [],
        },
        "transformations": transformations or [],
    }
