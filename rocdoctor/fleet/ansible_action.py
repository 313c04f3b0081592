"""What Ansible takes of a node, bounded: an action of ours beside the play, in the place of its module ``raw``.

A process of Ansible's holds what a node sends until it ends, several times, and hands all to the one that started it:
fifteen nodes that sent 20 to 160 MB took 1.8 GB (ansible-core 2.19 over OpenSSH 9.2, 2026-11-29). The file belongs to
one run alone. How ``raw`` runs a command, and that the folder ``action_plugins`` beside a play is looked at:
lib/ansible/plugins/action/raw.py and lib/ansible/plugins/loader.py of ansible/ansible, read 2026-11-29.
"""

from __future__ import annotations

from rocdoctor.fleet.node_side import TOO_LARGE
from rocdoctor.fleet.record import MOST_BYTES

ACTION = "rocdoctor_record"
PLACE = f"action_plugins/{ACTION}.py"
# Many times a record: what is sent is held as bytes and as text, whole and in lines.
_MORE_BYTES = 32 << 20

_TEXT = '''\
"""Written by rocdoctor: runs a command on a node, and takes no more of it than a record may have."""

import contextlib

from ansible.plugins.action import ActionBase

MOST, MORE_BYTES, TOO_LARGE = {most}, {more}, "{long}"


class ActionModule(ActionBase):
    """As the module raw of Ansible, whose command is a word of its own."""

    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        """What the node said; that it was too much, where it was."""
        found = super().run(tmp, task_vars or dict())
        command = self._task.args.get("command")
        said = bounded(lambda: self._low_level_execute_command(command, executable=False))
        if said is None or any(len(said.get(name) or "") > MOST for name in ("stdout", "stderr")):
            said = dict(rc=1, stdout="", stdout_lines=[], stderr=TOO_LARGE, stderr_lines=[TOO_LARGE])
        found.update(said, changed=True)
        return found


def bounded(work):
    """What is worked out with so much more memory than this process has now; None where that is not enough."""
    try:
        import resource

        with open("/proc/self/statm") as told:
            has = int(told.read().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        least = min([has + MORE_BYTES] + [one for one in (soft, hard) if one != resource.RLIM_INFINITY])
        resource.setrlimit(resource.RLIMIT_AS, (least, hard))
    except (ImportError, OSError, ValueError, IndexError):
        return work()
    try:
        return work()
    except MemoryError:
        return None
    finally:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
'''


def text() -> str:
    """The action, as Python that Ansible reads."""
    return _TEXT.format(most=MOST_BYTES + 1, more=_MORE_BYTES, long=TOO_LARGE)
