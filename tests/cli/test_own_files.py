"""Under a umask of 0, as some services have it: nobody gets a place where code of ours is looked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import ROOT


@pytest.mark.skipif(os.name != "posix", reason="a umask of POSIX")
def test_nobody_else_may_write_byte_code_of_ours(tmp_path: Path) -> None:
    package = tmp_path / "rocdoctor"
    (package / "cli").mkdir(parents=True, mode=0o755)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "rocdoctor" / name, package / name)
    (package / "cli" / "__init__.py").touch(mode=0o644)
    code = "from rocdoctor import __main__ as ours; ours.keep_to_ourselves(); import rocdoctor.cli"
    subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        check=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        umask=0,
    )
    made = sorted(tmp_path.rglob("__pycache__"))
    assert [one.parent.name for one in made] == ["rocdoctor", "cli"]
    assert not any(one.stat().st_mode & 0o002 for one in (*made, *tmp_path.rglob("*.pyc")))


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="Python before 3.10.7 has no such limit")
def test_numbers_of_a_file_have_an_end_whatever_the_environment_says() -> None:
    """Reading one of three million digits took half a minute."""
    code = (
        "import sys\nfrom rocdoctor.__main__ import main\nsys.argv[1:] = ['--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(sys.get_int_max_str_digits())"
    )
    said = subprocess.run(
        [sys.executable, "-X", "int_max_str_digits=0", "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert said.stdout.split()[-1] == "4300"
