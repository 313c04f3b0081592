"""The code that settings name: plug-ins of Slurm and Ansible, commands of ssh and clush, what logs kubectl in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.host.live.trust import weak
from rocdoctor.model.lazy_re import regex

_MOST_BYTES = 4 << 20
# PluginDir and Include: slurm.conf(5) (manpages.ubuntu.com, slurm-client 17.11, read 2026-11-24). exec of a
# kubeconfig: kubernetes.io/blog of 2026-01-09; a command with a slash is looked for from the folder of the file
# (ManageIQ/kubeclient pull 375, both read 2026-11-24).
_FOLDERS = regex(r"(?im)^[ \t]{0,40}PluginDir[ \t]{0,40}=[ \t]{0,40}[\"']?([^\s\"'#]{1,4000})")
_INCLUDED = regex(r"(?im)^[ \t]{0,40}Include[ \t]{1,40}(/[^\s#]{1,4000})")
# What srun itself runs, and where its plug-ins stand: slurm.conf(5) of Slurm 22.05; a line of plugstack.conf, spank(7)
# (slurm.schedmd.com/spank.html, both read 2026-11-28).
_STARTED = regex(
    r"(?im)^[ \t]{0,40}(?:Srun(?:Prolog|Epilog)|PlugStackConfig)[ \t]{0,40}=[ \t]{0,40}[\"']?(/[^\s\"'#]{1,4000})"
)
_PLUGGED = regex(r"(?m)^[ \t]{0,40}(?:required|optional)[ \t]{1,40}(/[^\s#]{1,4000})")
# Keys of ansible.cfg that name folders of plug-ins, programs and inventories (ansible/ansible of core 2.19,
# lib/ansible/config/base.yml, types path, pathspec and pathlist, read 2026-11-28); ~ is root's home, which root alone
# can change.
_ANSIBLE = regex(
    r"(?im)^[ \t]{0,8}(?:library|module_utils|inventory|roles_path|collections_paths?|home|playbook_dir"
    r"|\w{0,40}(?:_plugins|_password_file|connection_path|executable))[ \t]{0,40}[=:][ \t]{0,40}"
    r"([^\s#;][^\n#;]{0,4000})"
)
# Lines of commands and of options of ssh: of ansible.cfg; of ssh_config (openssh/openssh-portable ssh_config.5); of
# clush.conf and groups.conf (cea-hpc/clustershell 1.9.1, CLI/Config.py and NodeUtils.py; all read 2026-11-28).
_ARGUMENTS = regex(
    r"(?im)^[ \t]{0,40}(?:(?:\w{0,40}_args|vault_identity_list|(?:ssh|scp|rsh|rcp)_(?:path|options)|confdir|autodir"
    r"|map|all|list|reverse)[ \t]{0,40}[=:]"
    r"|(?:ProxyCommand|KnownHostsCommand|LocalCommand|PKCS11Provider|SecurityKeyProvider|XAuthLocation)[ \t=]"
    r"|Match[ \t][^\n]{0,400}\bexec[ \t=])[ \t]{0,40}([^\n]{1,4000})"
)
_ABSOLUTE = regex(r"(?:(?<![\w.~%/-])|(?<=-F))/[\w.][^\s\"',;=]{0,4000}")
_WEAK = partial(weak, missing_ok=True)
_COMMAND = regex(r"[\"']?\bcommand[\"']?[ \t]{0,40}:[ \t]{0,40}[\"']?([^\s\"',}#]{1,4000})")


def code_of(path: str) -> Iterator[str]:
    """The places of code that a file of settings names; none where it cannot be read."""
    try:
        with open_regular(Path(path)) as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return
    for folders in _FOLDERS.findall(text):
        yield from (one for one in folders.split(":") if os.path.isabs(one))
    for pattern in (_INCLUDED, _STARTED, _PLUGGED):
        yield from pattern.findall(text)
    for value in _ARGUMENTS.findall(text):
        yield from (one for one in _ABSOLUTE.findall(value) if one != os.devnull)
    for value in _ANSIBLE.findall(text):
        for place in filter(None, (one.strip().strip("\"'") for part in value.split(":") for one in part.split(","))):
            if not place.startswith(("~", "{{")):
                yield os.path.join(os.path.dirname(path), place)
    for command in _COMMAND.findall(text):
        if "/" in command:
            yield os.path.join(os.path.dirname(path), command)


def named_code(path: str, judge: Callable[[str], str] = _WEAK) -> str:
    """Why the code that settings name is not root's alone, as ``judge`` words it; "" where it is, or names none.

    What is not there is nobody's code, as long as nobody else can make it.
    """
    return next((why for why in map(judge, code_of(path)) if why), "")
