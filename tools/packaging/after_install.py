"""Run once as root after a package is installed: keeps byte code and parsed tables for all users."""

import compileall
import sys
from pathlib import Path

MODULES = Path(__file__).resolve().parent
sys.path.insert(0, str(MODULES))

from rocdoctor.knowledge.load import knowledge_folder, profiles_folder, read_table  # noqa: E402

compileall.compile_dir(str(MODULES), quiet=2)
for folder in (knowledge_folder(), profiles_folder()):
    for path in sorted(folder.glob("*.yaml")):
        read_table(path)
