"""The program's entry: arguments in, exit code out."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the exit code is the process's."""
    from rocdoctor.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
