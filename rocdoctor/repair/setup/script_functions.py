"""Functions of shell that a script of a plan may call, by their names: tests that look, and a command with its mark."""

from __future__ import annotations

_WHEELS = """
import sys
from importlib.metadata import version
for one in sys.argv[1:]:
    name, _, wanted = one.partition("==")
    if version(name) not in wanted.split("|"):
        sys.exit(1)
"""

FUNCTIONS = {
    "has_deb": (
        'has_deb() { for one in "$@"; do '
        'case "$one" in linux-modules-extra-*) apt show -- "$one" >/dev/null 2>&1 || continue ;; esac; '
        "dpkg-query -W -f='${Status}' \"$one\" 2>/dev/null | grep -q ' installed$' || return 1; done; }"
    ),
    "has_rpm": 'has_rpm() { rpm -q -- "$@" >/dev/null 2>&1; }',
    "has_pacman": 'has_pacman() { pacman -Q -- "$@" >/dev/null 2>&1; }',
    "file_is": """file_is() { file=$1; shift; printf '%s\\n' "$@" | cmp -s -- - "$file"; }""",
    "has_lines": (
        'has_lines() { file=$1; shift; for one in "$@"; do grep -qsxF -- "$one" "$file" || return 1; done; }'
    ),
    "sed_is_done": (
        'sed_is_done() { how=$1; shift; for one in "$@"; do sed -e "$how" -- "$one" | cmp -s -- - "$one" || return 1; '
        "done; }"
    ),
    "has_wheels": f'has_wheels() {{ python=$1; shift; "$python" -c \'{_WHEELS}\' "$@" 2>/dev/null; }}',
    # A command with its mark: after a long one sudo may ask for a password, and a mark apart would be lost.
    "as_root_until_restart": (
        'as_root_until_restart() { as_root sh -c "\\"\\$@\\" && touch -- \\"\\$0\\"" "$run/rocdoctor-restart" "$@"; }'
    ),
    # Copied once, so that a second run does not copy what the first one wrote.
    "keep": 'keep() { [ ! -e "$2" ] || [ -e "$2.rocdoctor.bak" ] || "$1" cp -p -- "$2" "$2.rocdoctor.bak"; }',
    "verified": """verified() {
    case "$pending" in *restart* | *login*) say "  to verify later: $*"; return ;; esac
    if ! command -v "$1" >/dev/null; then say "  to verify: $*"; return; fi
    if "$@" </dev/null; then say "  verified: $*"; else fail "Stopped: $at was done, and what verifies it fails: $*"; fi
}""",
    "shows": 'shows() { wanted=$1; shift; "$@" </dev/null 2>/dev/null | grep -qE -- "$wanted"; }',
    # The same for a command whose output tells: a line of it has the pattern.
    "shown": """shown() {
    wanted=$1; shift
    case "$pending" in *restart* | *login*) say "  to verify later: $*"; return ;; esac
    if ! command -v "$1" >/dev/null; then say "  to verify: $*"; return; fi
    if "$@" </dev/null 2>&1 | grep -qE -- "$wanted"; then say "  verified: $*"
    else fail "Stopped: $at was done, and $* does not show $wanted"; fi
}""",
    # The packages that follow each update of the kernel: without them the next update loses a module built here.
    "newest_headers": (
        "newest_headers() { dpkg-query -W -f='${Package} ${Status}\\n' 'linux-image-*' 2>/dev/null | "
        "sed -nE 's/^linux-image-([a-z][a-z0-9.-]*) install ok installed$/linux-headers-\\1/p'; }"
    ),
    # Newer kernels of Ubuntu have no such package, and after a restart a newer one may run.
    "extra_modules": (
        'extra_modules() { apt show -- "linux-modules-extra-$(uname -r)" >/dev/null 2>&1 && '
        'printf "%s\\n" "linux-modules-extra-$(uname -r)"; }'
    ),
    # What the group file grants, and what this session has: they differ until the next login.
    "may_enter": (
        'may_enter() { who=$1; shift; for one in "$@"; do '
        'id -nG -- "$who" | tr " " "\\n" | grep -qxF -- "$one" || return 1; done; }'
    ),
    "entered": 'entered() { for one in "$@"; do id -nG | tr " " "\\n" | grep -qxF -- "$one" || return 1; done; }',
}
