#!/usr/bin/python3 -I
"""``/usr/bin/rocdoctor`` of the packages: the system's Python, the packaged modules, nothing of the user's environment.

Syntax of Python 3.6, so that where the system's Python is older than 3.10 a newer one beside it can be taken.
"""

import os
import sys

_OLDEST = (3, 10)
_MODULES = "/usr/share/rocdoctor"


def main():
    # type: () -> None
    if sys.version_info < _OLDEST:
        for minor in range(19, _OLDEST[1] - 1, -1):
            newer = f"/usr/bin/python3.{minor}"
            if os.access(newer, os.X_OK):
                os.execv(newer, [newer, "-I", *sys.argv])
        sys.exit("rocdoctor needs Python 3.10 or newer: install one (python3.12) beside the system's own.")
    sys.path.insert(0, _MODULES)
    from rocdoctor.__main__ import main as run

    run()


if __name__ == "__main__":
    main()
