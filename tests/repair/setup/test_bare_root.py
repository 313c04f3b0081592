"""A plan carried out for real, unattended: a bare Debian, torch for the CPU, by the script and by the playbook."""

from __future__ import annotations

import http.server
import os
import platform
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tools.pyz import build

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a root and enters it"),
    pytest.mark.skipif(shutil.which("debootstrap") is None, reason="debootstrap is not installed"),
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the wheels are fetched for the Python of Debian 12"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the wheels are those of x86_64"),
]
_HOST, _ADDRESS = "download.pytorch.org", "127.77.0.1"
_TORCH, _VISION = "2.13.0", "0.28.0"
_SELF = "/root/rocdoctor.pyz"
# Mounts and processes of its own; what this machine has in its environment stays outside.
_ENTER = """cd "$1"; mount -t proc proc proc; mount -t tmpfs tmpfs tmp; mount --rbind /sys sys
exec chroot . /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "$2" """


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot be fetched here: {done.stderr[-300:] or done.stdout[-300:]}")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A stand-in for the index of torch on a loopback address, with the wheels of PyPI; gives its certificate."""
    folder = tmp_path_factory.mktemp("index")
    wheels, pages = folder / "wheels", folder / "pages" / "whl" / "cpu"
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", str(wheels)]
    _run([*pip, f"torch=={_TORCH}", f"torchvision=={_VISION}"])
    for wheel in wheels.iterdir():
        place = pages / wheel.name.partition("-")[0].lower().replace("_", "-")
        place.mkdir(parents=True, exist_ok=True)
        wheel.rename(place / wheel.name)
        (place / "index.html").write_text(f'<!DOCTYPE html><html><body><a href="{wheel.name}">{wheel.name}</a>')
    key, certificate = folder / "key.pem", folder / "cert.pem"
    named = ["-subj", f"/CN={_HOST}", "-addext", f"subjectAltName=DNS:{_HOST}"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *named]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(
        (_ADDRESS, 443), partial(http.server.SimpleHTTPRequestHandler, directory=str(folder / "pages"))
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield certificate
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture
def root(tmp_path: Path, index: Path) -> Path:
    """A minimal Debian 12 with Python, this program as one file, and nothing else."""
    made = tmp_path / "root"
    _run(["debootstrap", "--variant=minbase", "--include=ca-certificates,python3", "bookworm", str(made)])
    build.write(made / _SELF[1:])
    shutil.copyfile("/etc/resolv.conf", made / "etc" / "resolv.conf")
    shutil.copyfile(index, made / "etc" / "index.pem")
    (made / "etc" / "hosts").write_text(f"127.0.0.1 localhost\n{_ADDRESS} {_HOST}\n")
    (made / "etc" / "pip.conf").write_text("[global]\ncert = /etc/index.pem\n")
    return made


def _inside(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    words = ["unshare", "--mount", "--pid", "--fork", "--uts", "bash", "-ec", _ENTER, "_", str(root), command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_script_ends_and_set_up_finds_nothing_left(root: Path) -> None:
    plan = f"python3 {_SELF} setup --wheels-only --torch {_TORCH}"
    wrote = _inside(root, f"{plan} --script /root/setup.sh")
    assert wrote.returncode == 1, wrote.stderr  # steps are left
    first = _inside(root, "bash /root/setup.sh")
    assert first.returncode == 0 and "All that this script can do is done." in first.stdout, first.stdout + first.stderr
    again = _inside(root, "bash /root/setup.sh")
    assert again.returncode == 0 and "done already" in again.stdout, again.stdout + again.stderr
    left = _inside(root, plan)
    needed = ("Nothing is left", "Training with PyTorch needs nothing more")
    assert left.returncode == 0 and left.stdout.startswith(needed), left.stdout + left.stderr
    judged = _inside(root, f"python3 {_SELF} check")
    assert judged.returncode == 0 and f"torch     {_TORCH}" in judged.stdout, judged.stdout + judged.stderr


def test_the_playbook_ends_and_changes_nothing_the_second_time(root: Path, tmp_path: Path) -> None:
    _run([sys.executable, "-m", "pip", "download", "-q", "-d", str(root / "root" / "wheels"), "ansible-core"])
    tool = "python3 -m venv /opt/tool && /opt/tool/bin/pip install -q --no-index --find-links /root/wheels ansible-core"
    venv = "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install python3-venv >/dev/null"
    made = _inside(root, f"{venv} && {tool} && apt-get -qq -y remove python3-venv >/dev/null")
    assert made.returncode == 0, made.stderr
    wrote = _inside(root, f"python3 {_SELF} setup --wheels-only --torch {_TORCH} --format ansible > /root/play.yml")
    assert wrote.returncode == 1, wrote.stderr  # steps are left
    (root / "root" / "hosts.ini").write_text(
        "[rocdoctor]\nlocalhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"
    )
    play = "/opt/tool/bin/ansible-playbook -i /root/hosts.ini /root/play.yml"
    first, second = _inside(root, play), _inside(root, play)
    assert first.returncode == 0 and "failed=0" in first.stdout, first.stdout + first.stderr
    assert second.returncode == 0 and "changed=0" in second.stdout, second.stdout + second.stderr
