"""Code that settings of schedulers' commands name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocdoctor.host.live.settings_code import code_of, named_code


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("ClusterName=x\nplugindir = /usr/lib/slurm:/opt/ours\n#PluginDir=/no\n", ["/usr/lib/slurm", "/opt/ours"]),
        ("SlurmUser=slurm\nStateSaveLocation=/var/spool/slurm\n", []),
        ("include /etc/s.d/more.conf\nInclude here.conf\n", ["/etc/s.d/more.conf"]),
        ("SrunProlog=/opt/p\nTaskProlog=/no\nPlugStackConfig = /opt/plugs.conf\n", ["/opt/p", "/opt/plugs.conf"]),
        ("optional /opt/x.so a=/no\nrequired y.so\n# required /no.so\n", ["/opt/x.so"]),
        (
            "ssh_args = -F /opt/c -o ProxyCommand='/opt/p %h' -o UserKnownHostsFile=/dev/null -o ControlPath=~/.a/%h\n",
            ["/opt/c", "/opt/p"],
        ),
        ("Host *\n ProxyCommand /opt/p %h\n#LocalCommand /no\n UserKnownHostsFile /dev/null\n", ["/opt/p"]),
        ('Match host x exec "/opt/t %h"\n PKCS11Provider=/opt/x.so\n Port 22\n', ["/opt/t", "/opt/x.so"]),
        (
            "ssh_path: /opt/ssh\nssh_options: -F/opt/c -oProxyCommand=/opt/p\nfanout: 64\n",
            ["/opt/ssh", "/opt/c", "/opt/p"],
        ),
        ("[local]\nmap: /opt/g $GROUP\nlist: f=x; sed -n 's/^\\(.*\\):/\\1/p' $f\n#all: /no\n", ["/opt/g"]),
        ("vault_identity_list = a@/opt/v, b@prompt\n", ["/opt/v"]),
        ("users:\n- user:\n    exec:\n      command: /opt/login\n      args: [/tmp/x]\n", ["/opt/login"]),
        ("users:\n- user:\n    exec:\n      command: ./login\n", ["HERE/./login"]),
        ("users:\n- user: {exec: {command: aws}, client-key: /home/u/key}\n", []),
        ('{"users": [{"user": {"exec": {"command": "/opt/login", "args": []}}}]}', ["/opt/login"]),
    ],
)
def test_what_runs_is_named_and_nothing_else(text: str, places: list[str], tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    assert list(code_of(str(tmp_path / "config"))) == [one.replace("HERE", str(tmp_path)) for one in places]


def test_the_first_weak_place_is_the_reason(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("PluginDir=/a:/b:/c\n")
    assert named_code(str(config), lambda path: f"{path} is weak" if path > "/a" else "") == "/b is weak"
    assert named_code(str(config), lambda _: "") == ""


def test_what_cannot_be_read_names_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "waits")
    assert [*code_of(str(tmp_path / "waits")), *code_of(str(tmp_path / "gone"))] == []
