"""Code that settings of schedulers' commands name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocdoctor.host.live.settings_code import all_code_of, code_of, named_code


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("ClusterName=x\nplugindir = /usr/lib/slurm:/opt/ours\n#PluginDir=/no\n", ["/usr/lib/slurm", "/opt/ours"]),
        ("SlurmUser=slurm\nStateSaveLocation=/var/spool/slurm\n", []),
        ("include /etc/s.d/more.conf\nInclude here.conf\n", ["/etc/s.d/more.conf", "HERE/here.conf"]),
        ('Include "/etc/s.d/a b" x/*.conf\n', ["/etc/s.d/a b", "HERE/x"]),
        (
            "ClusterName=x PluginDir=/usr/lib\\\n:/opt/ours\nPlugStackConfig=p.conf",
            ["/usr/lib\\", "HERE/p.conf", "/usr/lib", "/opt/ours"],
        ),
        (
            '\f"ProxyCommand" exec /opt/p %h\n' + " " * 90 + "LocalCommand ~root/x\n",
            ["/opt/p", os.path.expanduser("~root/x")],
        ),
        (f"Match host {'a,' * 300} exec /opt/t\n", ["/opt/t"]),
        (
            "n1 ansible_ssh_common_args='-o ProxyCommand=\"/opt/p %h\" -o IdentityFile=/home/u/key'\n"
            "n2 ansible_host=10.0.0.1 ansible_ssh_executable=/opt/ssh ansible_ssh_private_key_file=/home/u/key\n"
            "all: {vars: {ansible_become_exe: /opt/su}}\nx: \"{{ lookup('ansible.builtin.pipe', '/opt/l a') }}\"\n",
            ["/opt/p", "/opt/ssh", "/opt/su", "/opt/l"],
        ),
        ("[mode:sudo]\ncommand_prefix: /opt/sudo -n\n", ["/opt/sudo"]),
        ("[defaults]\nlibrary=\n  # ours\n\n  /opt/a\n\t~root/b\n", ["/opt/a", os.path.expanduser("~root/b")]),
        ("library = ~/mine:~root/x\n", [os.path.expanduser("~root/x")]),
        ("x: \"{{ query('template', '/opt/t.j2') }}\"\nInclude /a#b /c # /no\n", ["/opt/t.j2", "/a#b", "/c"]),
        ("    cmd-path: /opt/gcloud\n", ["/opt/gcloud"]),
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
        ("Host *\n ControlPath /tmp/mux-%h\n ControlPath none\n ControlPath ~/.ssh/%C\n", ["/tmp/mux-%h"]),
        ('SmartcardDevice /opt/p.so\nHost x\n "controlpath" = "/run/m/%C"\n', ["/opt/p.so", "/run/m/%C"]),
        (
            "[ssh_connection]\nssh_args = -o ControlMaster=auto -o ControlPath=/tmp/a-%%h -S /tmp/b\n",
            ["/tmp/a-%%h", "/tmp/b"],
        ),
        ("control_path = /tmp/a-%%h\ncontrol_path_dir=~/.ansible/cp\ncontrol_path_dir=/tmp\n", ["/tmp/a-%%h", "/tmp"]),
        ("control_path = %(directory)s/%%h\nfact_caching_connection = /tmp/facts\n", []),
        ("plugin: cloud\ncache: true\ncache_connection: /tmp/hosts\n", ["/tmp/hosts"]),
        ("n1 ansible_control_path=/tmp/c1 ansible_ssh_control_path_dir=/tmp/c2\n", ["/tmp/c1", "/tmp/c2"]),
        ("[Main]\nconfdir: /opt/groups.d $CFGDIR/more.d\n", ["/opt/groups.d", "HERE/more.d"]),
        ("vault_identity_list = a@/opt/v, b@prompt\n", ["/opt/v"]),
        ("users:\n- user:\n    exec:\n      command: /opt/login\n      args: [/tmp/x]\n", ["/opt/login"]),
        ("users:\n- user:\n    exec:\n      command: ./login\n", ["HERE/./login"]),
        ("users:\n- user: {exec: {command: aws}, client-key: /home/u/key}\n", []),
        ('{"users": [{"user": {"exec": {"command": "/opt/login", "args": []}}}]}', ["/opt/login"]),
    ],
)
def test_what_runs_is_named_and_nothing_else(text: str, places: list[str], tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    found = [one.replace(str(tmp_path), "HERE") for one in code_of(str(tmp_path / "config"))]
    assert sorted(found) == sorted(places)


def test_the_first_weak_place_is_the_reason(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("PluginDir=/a:/b:/c\n")
    assert named_code(str(config), lambda path: f"{path} is weak" if path > "/a" else "") == "/b is weak"
    assert named_code(str(config), lambda _: "") == ""


def test_what_cannot_be_read_names_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "waits")
    assert [*code_of(str(tmp_path / "waits")), *code_of(str(tmp_path / "gone"))] == []


def test_what_included_settings_name_counts_too(tmp_path: Path) -> None:
    (tmp_path / "more.d").mkdir()
    (tmp_path / "config").write_text("Host *\n  Include more.d/*.conf\n")
    (tmp_path / "more.d" / "a.conf").write_text("ProxyCommand /opt/p\nInclude last ../config\n")
    (tmp_path / "last").write_text("KnownHostsCommand /opt/k\n")
    found = list(code_of(str(tmp_path / "config")))
    assert {"/opt/p", "/opt/k", str(tmp_path / "more.d" / "a.conf"), str(tmp_path / "more.d")} <= set(found)


def test_folders_that_wildcards_lead_to_are_named_before_a_file_is_there(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "config").write_text(f"Include {tmp_path}/?/*/x.conf\n")
    assert {str(tmp_path / "a"), str(tmp_path / "a" / "b")} < set(code_of(str(tmp_path / "config")))


def test_what_lies_in_a_folder_of_plug_ins_is_named_where_it_may_be_somebody_elses(tmp_path: Path) -> None:
    """As root unpacks it, an archive keeps its owners; a folder of data that a command names is not looked through."""
    for name in ("plugins", "data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.so").write_text("")
        (tmp_path / name / "x.so").chmod(0o666)
    config = tmp_path / "config"
    for line, named in ((f"PluginDir={tmp_path}/plugins", True), (f"map: grep x {tmp_path}/data", False)):
        config.write_text(f"{line}\n")
        assert any(one.endswith("x.so") for one in all_code_of(str(config))) is named, line
    config.write_text("library = plugins\n")
    assert named_code(str(config), lambda path: path if path.endswith("x.so") else "").endswith("plugins/x.so")


def test_further_folders_of_settings_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "more.d").mkdir()
    (tmp_path / "more.d" / "a.conf").write_text("[a]\nmap: /opt/upcall $GROUP\n")
    (tmp_path / "config").write_text("[Main]\nconfdir: $CFGDIR/more.d\n")
    assert "/opt/upcall" in list(code_of(str(tmp_path / "config")))
