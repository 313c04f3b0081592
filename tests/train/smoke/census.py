"""``python -m tests.train.smoke.census``: how many planted faults the smoke tests catch, and whose rank they name.

Runs all tests of the folder, heavy ones too, and counts every planted run that they make; with paths, those tests alone
(and what else pytest takes). That the layer is right is asserted by each test: failed ones are counted. What
is right is what the tests say here; ``python -m tools.smoke_census`` compares with what each fault does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Print the counts and every row that is not as it should be."""
    handle, name = tempfile.mkstemp(prefix="census-")
    os.close(handle)
    paths = [] if any(Path(one.partition("::")[0]).exists() for one in sys.argv[1:]) else ["tests/train/smoke"]
    command = [sys.executable, "-m", "pytest", *paths, "-q", "-m", "heavy or not heavy", *sys.argv[1:]]
    status = subprocess.call(command, env={**os.environ, "ROCDOCTOR_CENSUS": name})
    rows = [json.loads(line) for line in Path(name).read_text().splitlines()]
    Path(name).unlink()
    caught = [row for row in rows if row["state"] in ("fail", "crashed")]
    single = [row for row in caught if row["rank"] != "all"]
    right = [row for row in single if int(row["rank"]) in row["named"] and len(row["named"]) < max(2, row["world"])]
    alone = [row for row in right if row["named"] == [int(row["rank"])]]
    # Both ends of a way that brings something wrong may be named; a rank that has nothing to do with it never.
    accused = [row for row in single if row["named"] and int(row["rank"]) not in row["named"]]
    late = [row for row in rows if row["over_s"] > 2.0]
    left = [row for row in rows if row["left"]]
    kinds = {(row["fault"], row["mode"]) for row in rows}
    print(f"{len(rows)} planted runs of {len(kinds)} faults in modes ({len({row['fault'] for row in rows})} faults)")
    print(f"caught: {len(caught)} of {len(rows)}")
    print(f"at one rank: {len(single)}; that rank named: {len(right)}, and it alone: {len(alone)}")
    print(f"healthy ranks accused instead: {len(accused)}")
    print(f"more than 2 s over the deadline: {len(late)}; processes left: {len(left)}")
    for row in rows:
        if row not in caught or (row in single and row not in right) or row in late or row in left:
            print("  ", json.dumps(row))
    return status


if __name__ == "__main__":
    sys.exit(main())
