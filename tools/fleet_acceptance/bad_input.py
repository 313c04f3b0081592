"""What a hostile or sick node may send in place of its record: each costs its own node's line and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Data = dict[str, Any]
VICTIM = "n07"


def _edit(**changes: Any) -> Callable[[Data], bytes]:
    return lambda data: json.dumps({**data, **changes}).encode()


def _finding(**changes: Any) -> Callable[[Data], bytes]:
    plain = {"check": "site-odd", "cause": "", "severity": "info", "confidence": "certain", "gpu": None, "message": "x"}
    return lambda data: json.dumps({**data, "findings": [{**plain, "looks": 1, **changes}]}).encode()


def _text(change: Callable[[str], str | bytes]) -> Callable[[Data], bytes]:
    def make(data: Data) -> bytes:
        found = change(json.dumps(data))
        return found.encode() if isinstance(found, str) else found

    return make


_SIGNS = "\x1b[2J\x1b]0;title\x07\u202e\u2066\x9b<script>alert(1)</script>\n# HELP x\n\r\x00\\\"'$(reboot)`id`"
LINES: Mapping[str, Callable[[Data], bytes]] = {
    "nothing": _text(lambda text: ""),
    "cut in the middle": _text(lambda text: text[: len(text) // 2]),
    "no JSON": _text(lambda text: "Segmentation fault (core dumped)"),
    "100,000 brackets": _text(lambda text: "{" + '"a":[' * 100_000),
    "deep objects": _text(lambda text: '{"a":' * 50_000 + "1" + "}" * 50_000),
    "NaN": _text(lambda text: text.replace('"figures": {', '"figures": {"a_tflops": [' + "NaN," * 7 + "NaN], ")),
    "Infinity": _text(lambda text: text.replace('"taken_at": ', '"taken_at": Infinity, "x": ')),
    "1e400": _text(lambda text: text.replace('"taken_at": ', '"taken_at": 1e400, "x": ')),
    "a number of 5,000 digits": _text(lambda text: text.replace('"taken_at": ', f'"taken_at": {"9" * 5000}, "x": ')),
    "another node's name": _edit(node="n03"),
    "two names": _text(lambda text: text[:-1] + ', "node": "n03"}'),
    "a path for a name": _edit(node="../../n03"),
    "signs of terminals, pages and shells": _finding(message=_SIGNS),
    "the same as the name of a check": _finding(check=_SIGNS),
    "the same as the name of a trait": lambda data: json.dumps(
        {**data, "traits": {**data["traits"], _SIGNS: "1"}}
    ).encode(),
    "the same as the value of a trait": lambda data: json.dumps(
        {**data, "traits": {**data["traits"], "kernel": _SIGNS}}
    ).encode(),
    "half of a surrogate": _text(lambda text: text.replace('"traits": {', '"traits": {"kernel ": "\\ud800", ')),
    "no UTF-8": _text(lambda text: text.encode().replace(b'"kernel": "', b'"kernel": "\xff\xfe')),
    "NUL bytes": _text(lambda text: text.encode()[:100] + b"\0" * 50 + text.encode()[100:]),
    "a mark of byte order": _text(lambda text: "\ufeff" + text),
    "1 MiB and a byte": _text(lambda text: text[:-1] + " " * (1 << 20) + "}"),
    "64 MiB": _text(lambda text: text[:-1] + " " * (64 << 20) + "}"),
    "a clock a day ahead": lambda data: json.dumps({**data, "taken_at": data["taken_at"] + 86400}).encode(),
    "a clock of 1970": _edit(taken_at=0),
    "a time below zero": _edit(taken_at=-5),
    "yes as a time": _edit(taken_at=True),
    "a schema to come": _edit(schema="rocdoctor.record/2"),
    "a list": _text(lambda text: f"[{text}]"),
    "300 GPUs": _edit(gpus=[{"bdf": None, "chip": None, "id": None}] * 300),
    "1,000 findings": lambda data: json.dumps({**data, "findings": data["findings"] + [None] * 1000}).encode(),
    "GPU number 10^9": _finding(gpu=10**9),
    "a severity of its own": _finding(severity="fatal"),
    "a message of 900 KB": _finding(message="x" * 900_000),
    "figures below zero": lambda data: json.dumps(
        {**data, "figures": {"a_tflops": [-1.0] * len(data["gpus"])}}
    ).encode(),
    "numbers for texts": _edit(traits={"kernel": 6.8}),
    "nothing for all": lambda data: json.dumps(dict.fromkeys(data)).encode(),
}


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 30)


FILES: Mapping[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a link to /etc/passwd": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a sparse GiB": _sparse,
}
