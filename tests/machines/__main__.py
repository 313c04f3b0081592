"""Writes every machine, or the ones named, to ``fixtures/NAME.capture``."""

from __future__ import annotations

import sys

from rocdoctor.collect import collect
from rocdoctor.host.evidence.capture import write
from rocdoctor.host.recorder import Recorder
from tests.kit import ROOT
from tests.machines.catalogue import MACHINES
from tests.machines.files import Files, MachineHost


def capture_of(files: Files) -> str:
    """The capture that collecting the facts of this machine gives."""
    host = Recorder(MachineHost(files))
    collect(host)
    return write(host.answers.values(), {"origin": "constructed", "description": files.description})


def main(names: list[str]) -> int:
    for build in MACHINES:
        files = build()
        if not names or files.name in names:
            path = ROOT / "fixtures" / f"{files.name}.capture"
            path.write_text(capture_of(files), encoding="utf-8", newline="\n")
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
