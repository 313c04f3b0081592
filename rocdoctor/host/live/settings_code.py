"""The code that settings name: plug-ins of Slurm and Ansible, commands of ssh and clush, what logs kubectl in.

Sockets of connections that ssh shares count too: whoever holds one is handed what was meant for the node, and answers
in its place, since ssh does not look whose it is (muxclient in mux.c of openssh/openssh-portable, read 2026-11-29).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.folder_names import is_pattern, matching
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.host.live.trust import weak
from rocdoctor.host.live.trusted_content import doubtful_below
from rocdoctor.model.lazy_re import regex

_MOST_BYTES = 4 << 20
_MOST_FILES, _MOST_MATCHES = 2000, 2000
# Whole lines of comments: what begins another line is no setting, and what stands behind one may be.
_COMMENT = regex(r"^[#;]")
# Other files of settings. slurm.conf(5) and spank(7) (from the folder of the file; slurm.schedmd.com, read 2026-11-28),
# ssh_config(5) of OpenSSH: several, quoted, with wildcards, else from /etc/ssh (openssh/openssh-portable, ssh_config.5
# and misc.c, read 2026-11-28).
_INCLUDED = regex(r"(?im)^\"?Include\"?[ \t]{0,40}[ \t=]((?:[^\n#]|(?<=\S)#){1,4000})")
_WORD = regex(r"\"([^\"\n]{1,4000})\"|'([^'\n]{1,4000})'|([^\s\"']{1,4000})")
# PluginDir: slurm.conf(5) (manpages.ubuntu.com, slurm-client 17.11, read 2026-11-24). What srun itself runs, and where
# its plug-ins stand: slurm.conf(5) of Slurm 22.05; a line of plugstack.conf, spank(7) (slurm.schedmd.com/spank.html,
# both read 2026-11-28). Several settings may stand in a line.
_FOLDERS = regex(r"(?im)(?<![\w-])PluginDir[ \t]{0,40}=[ \t]{0,40}[\"']?([^\s\"'#]{1,4000})")
_STARTED = regex(
    r"(?im)(?<![\w-])(?:Srun(?:Prolog|Epilog)|PlugStackConfig)[ \t]{0,40}=[ \t]{0,40}[\"']?([^\s\"'#]{1,4000})"
)
_PLUGGED = regex(r"(?m)^(?:required|optional)[ \t]{1,40}(/[^\s#]{1,4000})")
# Folders of further settings: clush.conf and groups.conf (config_paths and confdir of ClusterShell 1.9.1, read
# 2026-11-29); $CFGDIR is that of the file.
_CONF_FOLDERS = regex(r"(?im)^confdir[ \t]{0,40}[=:][ \t]{0,40}([^\n]{1,4000})")
# Keys of ansible.cfg that name folders of plug-ins, programs and inventories (ansible/ansible of core 2.19,
# lib/ansible/config/base.yml, types path, pathspec and pathlist, read 2026-11-28); ~ is root's home, which root alone
# can change, but ~NAME is not. Sockets: control_path and control_path_dir (lib/ansible/plugins/connection/ssh.py); what
# an inventory in YAML keeps between runs, as hosts and variables: doc_fragments/inventory_cache.py (2026-11-29).
_ANSIBLE = regex(
    r"(?im)^(library|module_utils|inventory|roles_path|collections_paths?|home|playbook_dir|cache_connection"
    r"|control_path(?:_dir)?|\w{0,40}(?:_plugins|_password_file|connection_path|executable))[ \t]{0,40}[=:][ \t]{0,40}"
    r"([^\s#;][^\n#;]{0,4000})"
)
_OF_FOLDERS = regex(r"(?i)(?:library|module_utils|inventory|roles_path|collections_paths?|\w{0,40}_plugins)\Z")
# Variables of connections, which an inventory has behind a host or in a flow of YAML, and what a template starts (the
# plug-ins ssh, pipe and lines of the same, lib/ansible/plugins/connection and lookup), or a file of templates does.
_OF_HOST = regex(
    r"(?i)(?<![\w-])ansible_\w{0,40}(?:_args|_executable|_exe|_connection_path|control_path(?:_dir)?)[\"']?[ \t]{0,40}"
    r"(?::([^\n]{1,4000})|=[ \t]{0,40}(\"(?:[^\"\\\n]|\\.){1,4000}\"|'[^'\n]{1,4000}'|[^\s\"']{1,4000}))"
    r"|(?<![\w-])(?:lookup|query|q)[ \t]{0,8}\([ \t\n]{0,40}[\"'](?:\w{1,40}\.){0,4}"
    r"(?:pipe|lines|template)[\"']([^\n]{1,4000})"
)
# Lines of commands and of options of ssh: of ansible.cfg; of ssh_config (openssh/openssh-portable ssh_config.5); of
# clush.conf and groups.conf (cea-hpc/clustershell 1.9.1, CLI/Config.py and NodeUtils.py; all read 2026-11-28).
_ARGUMENTS = regex(
    r"(?im)^(?:(?:\w{0,40}_args|vault_identity_list|command_prefix|(?:ssh|scp|rsh|rcp)_(?:path|options)"
    r"|confdir|autodir|map|all|list|reverse)[ \t]{0,40}[=:]"
    r"|\"?(?:ProxyCommand|KnownHostsCommand|LocalCommand|PKCS11Provider|SmartcardDevice|SecurityKeyProvider"
    r"|XAuthLocation|ControlPath)\"?[ \t=]"
    r"|\"?Match\"?[ \t=][^\n]{0,4000}?\bexec[ \t=])[ \t]{0,40}([^\n]{1,4000})"
)
_ABSOLUTE = regex(r"(?:(?<![\w.~%/-])|(?<=-F))(?:/|~(?=[A-Za-z_]))[\w.][^\s\"',;=()}]{0,4000}")
# Options of ssh in the same lines whose files are no code: keys and lists of hosts may be a user's.
_NO_CODE = regex(r"(?i)\b(?:IdentityFile|CertificateFile|(?:User|Global)KnownHostsFile)[ =][^\s\"']{1,4000}")
_FURTHER_IN = regex(r"\n[ \t]+(?=\S)")
_WEAK = partial(weak, missing_ok=True)
# exec of a kubeconfig: kubernetes.io/blog of 2026-01-09; a command with a slash is looked for from the folder of the
# file (ManageIQ/kubeclient pull 375, both read 2026-11-24).
_COMMAND = regex(r"[\"']?\b(?:command|cmd-path)[\"']?[ \t]{0,40}:[ \t]{0,40}[\"']?([^\s\"',}#]{1,4000})")


def code_of(path: str) -> Iterator[str]:
    """The places of code that a file of settings names, each once; none where it cannot be read.

    The files that it includes, and what these name, are among them.
    """
    return (place for place, _ in _places_of(path))


def all_code_of(path: str) -> Iterator[str]:
    """The same, and what lies in the folders of code among them and may be somebody else's.

    Raises OSError where one holds more than can be looked through.
    """
    seen: set[str] = set()
    for place, folder in _places_of(path):
        yield place
        if folder and os.path.isdir(place):
            yield from doubtful_below(place, seen)


def _places_of(path: str) -> Iterator[tuple[str, bool]]:
    """(a place of code, whether all that lies in it runs)."""
    told: set[str] = set()
    todo, files = [path], {path}
    while todo:
        one = todo.pop(0)
        if (text := _text_of(one)) is None:
            continue
        for version in _versions(text):
            code = dict.fromkeys(_folders_in(one, version), True)
            places = [*code, *_code_in(one, version)]
            for place, found in _included(one, path, version):
                fresh = [each for each in found if each not in files][: _MOST_FILES - len(files)]
                files.update(fresh)
                todo += [each for each in fresh if not weak(each)]  # else that is reason enough, and others choose it
                places += [place, *found]
            yield from ((place, place in code) for place in dict.fromkeys(places) if place not in told)
            told.update(places)


def _text_of(path: str) -> str | None:
    """Its lines, without those of comments."""
    try:
        with open_regular(Path(path)) as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return None
    return "\n".join(line for line in text.split("\n") if (own := line.strip()) and not _COMMENT.match(own))


def _versions(text: str) -> Iterator[str]:
    """Lines without blanks around them: each by itself, and with those that go on joined, by each kind of settings."""
    own = "\n".join(map(str.strip, text.split("\n")))
    yield own
    yield own.replace("\\\n", "")  # Slurm goes on behind a backslash, ssh does not
    if own.startswith("[") or "\n[" in own:  # with sections: a line that is further in (configparser of Python)
        yield "\n".join(map(str.strip, _FURTHER_IN.sub(",", text).split("\n")))


def _included(path: str, first: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """(what is included, as it is named; the files that are there), from the folders of this file and of the first."""
    for value in _INCLUDED.findall(text):
        for word in map("".join, _WORD.findall(value)):
            if word.startswith("~"):
                word = expanded(word)
            for folder in dict.fromkeys(map(os.path.dirname, (path, first))):
                place = os.path.join(folder, word)
                files = matching(place)[:_MOST_MATCHES]
                if files or os.path.isabs(word) or folder == os.path.dirname(path):
                    yield (os.path.dirname(place) if is_pattern(place) else place), [*files, *_folders_of(place)]
    for value in _CONF_FOLDERS.findall(text):
        for word in map("".join, _WORD.findall(value.replace("$CFGDIR", os.path.dirname(path)))):
            if os.path.isabs(word):
                yield word, matching("*", word)[:_MOST_MATCHES]


def _folders_of(place: str) -> Iterator[str]:
    """The folders that wildcards lead to: whoever owns one of them may put a file there later."""
    while is_pattern(place := os.path.dirname(place)):
        yield from matching(place)[:_MOST_MATCHES]


def _folders_in(path: str, text: str) -> Iterator[str]:
    """Where plug-ins lie, and whatever else is looked up by name."""
    for folders in _FOLDERS.findall(text):
        yield from (one for one in folders.split(":") if os.path.isabs(one))
    for key, value in _ANSIBLE.findall(text):
        if _OF_FOLDERS.match(key):
            yield from _paths_in(path, value)


def _paths_in(path: str, value: str) -> Iterator[str]:
    """The paths of a list of Ansible, from the folder of the file; root's home and templates are left out."""
    for place in filter(None, (one.strip().strip("\"'") for part in value.split(":") for one in part.split(","))):
        if place != "~" and not place.startswith(("~/", "{{", "%(")):
            yield os.path.join(os.path.dirname(path), expanded(place))


def _code_in(path: str, text: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    yield from (os.path.join(folder, one) for one in _STARTED.findall(text))
    yield from _PLUGGED.findall(text)
    for value in (*_ARGUMENTS.findall(text), *map("".join, _OF_HOST.findall(text))):
        places = _ABSOLUTE.findall(_NO_CODE.sub("", value))
        yield from (expanded(one) for one in places if one != os.devnull)
    for key, value in _ANSIBLE.findall(text):
        if not _OF_FOLDERS.match(key):
            yield from _paths_in(path, value)
    for command in _COMMAND.findall(text):
        if "/" in command:
            yield os.path.join(folder, command)


def named_code(path: str, judge: Callable[[str], str] = _WEAK) -> str:
    """Why the code that settings name is not root's alone, as ``judge`` words it; "" where it is, or names none.

    What is not there is nobody's code, as long as nobody else can make it.
    """
    try:
        return next((why for why in map(judge, all_code_of(path)) if why), "")
    except OSError as error:
        return f"{error.filename or path}: {error.strerror or error}"
