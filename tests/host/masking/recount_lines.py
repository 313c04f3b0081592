"""What a recount of unusual secrets and identities found left, by a list made afresh; every value is made up.

Each row of LINES and BLOCKS: (a text, what must be gone from it). CONTROLS tell of nobody and nothing.
"""

from __future__ import annotations

_WORD = "Wint" + "erfell9"
_LETTERS = "gandalf" + "grau"
_TOKEN = "k3Jq" + "9ZxT4vLm8Rw2"
_USER = "kowal" + "czykj"
_NAME = "Jadwiga Kowalczyk"
_HOST = "bor" + "suk17"

LINES: tuple[tuple[str, str], ...] = (
    (f"tmate: web session: https://tmate.io/t/{_TOKEN}", _TOKEN),
    (f"ilorest login 10.0.0.9 -u admin -p {_LETTERS}", _LETTERS),
    (f'type=EXECVE msg=audit(17.1:12): argc=4 a0="curl" a1="-u" a2="u:{_LETTERS}" a3="http://h"', _LETTERS),
    (f'argc=3 a0="/usr/bin/mysql" a1="-uroot" a2="-p{_LETTERS}"', _LETTERS),
    (f"WIFI:T:WPA;S:lab;P:{_LETTERS};;", _LETTERS),
    (f"the login for the node is root / {_WORD}", _WORD),
    (f"creds for the BMC: admin/{_WORD}", _WORD),
    (f"user admin pass {_WORD}", _WORD),
    (f'the passphrase of the disk is "{_LETTERS} {_WORD}"', _WORD),
    (f"events.out.tfevents.1690000000.{_HOST}.4711.0", _HOST),
    (f"clush: {_HOST}: exited with exit code 1", _HOST),
    (f"sosreport-{_HOST}-2026-01-02-abcdefg.tar.xz", _HOST),
    (f"mount.nfs: access denied by server while mounting {_HOST}-nas:/export/home", _HOST),
    (f"subject=C = PL, O = Inst X, CN = {_NAME}", _NAME),
    (f"Modified-by: {_NAME}", _NAME),
    (f"Owner: {_NAME} ({_USER})", _NAME),
    (f"cc @{_USER} who owns this node", _USER),
    (f"the fault was reported by {_NAME} from the Warsaw site", _NAME),
    (f"Reported by {_USER} from our storage team", _USER),
    (f"Reported by: {_USER} from our storage team", _USER),
    (f"raised by {_NAME} from the Warsaw site", _NAME),
    (f"creds -> root:{_TOKEN}", _TOKEN),
    (f"login -> root / {_TOKEN}", _TOKEN),
    (f"In March our key was {_TOKEN}.", _TOKEN),
    (f"our key was {_TOKEN}, now it is another", _TOKEN),
    (f"bug reported by: {_NAME}", _NAME.split()[1]),
    (f"bug reported by: {_NAME} of ACME", _NAME.split()[1]),
    (f"Process 12 started by {_NAME} is gone", _NAME),
    (f"1234.{_HOST}     train_job    {_USER}    00:10:11 R gpuq", _USER),
    (f"1235[].{_HOST}     train_job2    {_USER}    0 Q gpuq", _HOST),
    (f"  12345 0.55500 train      {_USER}      r     11/24/2025 10:20:30 gpu.q@c1       8", _USER),
)
BLOCKS: tuple[tuple[str, str], ...] = (
    (f"password:\n{_LETTERS}", _LETTERS),
    (f"username:\nadmin\npassword:\n{_LETTERS}\nhost:\nx", _LETTERS),
    (f"Password:\n\n  {_LETTERS}\n\nthen run it", _LETTERS),
    ("Password:\ncorrect horse\n\nWelcome", "correct horse"),
    ("wifi password:\nTulip Garden22", "Tulip Garden22"),
    ("Passphrase:\nvelvet harbour anchor lamp\nPort:\n22", "velvet harbour anchor lamp"),
)
CONTROLS: tuple[str, ...] = (
    "Owner: team",
    "owner: ML Platform",
    '"owner": "infra"',
    "the fault is reported by Fabric Manager from node 3",
    "Process 4711 started by Fabric Manager on node 3",
    "an interrupt is raised by Graphics Engine Server from ring 3",
    "the line was raised by the driver from our platform",
    "my key is model.layers.0.weight.",
    "power as reported by amd-smi from the SMU, at 700 W",
    "as reported by Device Plugin from the kubelet",
    "login -> gpu07:22",
    "my key is model.layers.0.weight",
    "our key is sharded_optimizer_state_8",
    "12.conv relu 3x3 00:10 R fp16",
    "1.5 epoch loss 0:10 R x",
    "secret: not set",
    "password: not found",
    "events.out.tfevents",
    "exited with exit code 1",
    "clush: command timeout",
    "Subject: CN=DKMS Module Signing",
    "Issuer: CN = Fedora Secure Boot",
    "the node is root / worker",
    "user admin pass rate 90 %",
    "creds: none",
    "CN = DigiCert Global Root CA",
    "CN=ISRG Root X1",
    "login for the node is over ssh / console",
    'a0="ls" a1="-l" a2="/dev/kfd"',
    "cc -O3 -o x x.c",
    "while mounting /dev/sda1",
)
CONTROL_BLOCKS: tuple[str, ...] = (
    "Password:\nPermission denied, please try again.",
    "Password:\naccess denied",
    "Password:\nlogin shell changed",
    "password:\nkeyring backend uses dbus\n",
    "Passphrase:\nmin length 12\n",
    "Passphrase:\nhas expired",
    "password:\n",
    "Password:\nVerified\n$ ls",
    "password:\nroot@localhost:~# rocm-smi",
    "password:\n  required",
    "Password:\n\nGPU 0 is on PCIe x8",
    "secret:\nenabled",
    "Password:\namdgpu\n\nkernel: amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!",
)
