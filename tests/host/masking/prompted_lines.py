"""What commands and expressions at a prompt print below themselves.

Each row of BLOCKS: (a text with its secret or name, that). CONTROLS tell nothing and stay as they are.
"""

from __future__ import annotations

_WORD = "hun" + "ter2x"
_SECRETS = (
    "bea@zeus17:~$ cat /run/secrets/db_password\n{}",
    "$ echo $DB_PASSWORD\n{}\n$ ls",
    '$ echo "${{DB_PASSWORD}}"\n{}',
    "# printenv HF_TOKEN\n\n{}",
    "[bea@zeus17 dir]$ sudo cat password.txt\n{}",
    "$ gh auth token\n{}",
    "$ gcloud auth print-access-token\n{}",
    "$ aws configure get aws_secret_access_key\n{}",
    ">>> os.environ['WANDB_API_KEY']\n'{}'",
    ">>> print(os.getenv('DB_PASSWORD'))\n{}",
    "In [2]: token\nOut[2]: '{}'",
    "PS C:\\> $env:DB_PASSWORD\n{}",
    "$ cat ~/.netrc\nmachine h\n  x {}\n$ ls",
    "gh auth login --with-token <<< {}",
)
_NAMES = (
    ("$ cat /etc/hostname\nzeusbox\n$ ping zeusbox", "zeusbox"),
    ("$ hostnamectl --static\nzeusbox\n$ ping zeusbox", "zeusbox"),
    ("$ git config user.name\nBea Roe", "Bea Roe"),
    ("$ echo $USER\nbeatroe\n$ ls", "beatroe"),
    ("$ sudo dmidecode -s system-serial-number\nABC1234X", "ABC1234X"),
)
BLOCKS = (*((one.format(_WORD), _WORD) for one in _SECRETS), *_NAMES)
CONTROLS = (
    "$ cat token\ncat: token: No such file or directory",
    "$ echo $NCCL_DEBUG\nINFO",
    "$ echo $HF_TOKEN\n\n$ ls",
    "$ cat tokenizer_config.json\n{",
    ">>> token\n4711",
    ">>> model\nLinear(in_features=8)",
    "$ cat /proc/driver/nvidia/version\nNVRM version: 550.54.15",
    "x --api-key --verbose",
)
