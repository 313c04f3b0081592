"""What a shell script sets, and where it holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.lint.env_files import read_sheet
from rocdoctor.parsers.shell.script import read_shell
from rocdoctor.parsers.shell.settings import Sheet, View, views


def _views(text: str, path: str = "a.sh") -> list[View]:
    sheet = Sheet(path, "shell")
    read_shell(sheet, text)
    return list(views(sheet))


def _file(text: str) -> dict[str, str | None]:
    """What holds in the whole file."""
    return {name: one.value for view in _views(text)[:1] for name, one in view.variables.items() if view.sure}


def test_exports_with_quotes_comments_and_continued_lines_keep_their_lines() -> None:
    (view,) = _views("# export Z=1\nexport A=1 \\\n  B='x y' # export Q=2\nexport C=\"a b\"; declare -x D=4\n")
    assert {name: (one.value, one.line) for name, one in view.variables.items()} == {
        "A": ("1", 2),
        "B": ("x y", 3),
        "C": ("a b", 4),
        "D": ("4", 4),
    }


def test_the_last_assignment_wins_and_unset_takes_away() -> None:
    assert _file("export A=1\nexport A=2\nexport B=1\nunset B\n") == {"A": "2"}


def test_only_exported_names_reach_programs() -> None:
    assert _file("A=1\nB=2\nexport B\n") == {"B": "2"}
    assert _file("set -a\nA=1\n") == {"A": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "if false; then\n export A=1\nfi\n",
        "cat <<EOF\nexport A=1\nEOF\n",
        "cat <<-'EOF' > x\n\texport A=1\n\tEOF\n",
        "echo 'export A=1'\n",
        'echo "usage:\nexport A=1\n"\n',
        "ssh host 'export A=1'\n",
        "exit 0\nexport A=1\n",
        "# export A=1\n",
        "x=$(export A=1; true)\n",
        "export A=1; unset A\n",
    ],
)
def test_what_is_not_set_is_not_seen(text: str) -> None:
    assert _views(text) == []


@pytest.mark.parametrize(
    "text",
    [
        'if [ -n "$X" ]; then\n export A=1\nfi\n',
        "case $X in\n a|b) export A=1 ;;\nesac\n",
        "setup() {\n export A=1\n}\n",
        "for i in 1 2; do export A=1; done\n",
        '[ -z "$A" ] && export A=1\n',
        "export A=${A:-1}\n",
        "echo 'export A=1' >> ~/.bashrc\n",
    ],
)
def test_what_depends_on_something_is_not_sure(text: str) -> None:
    (view,) = _views(text)
    assert view.sure is False
    assert view.variables["A"].value == "1"


def test_branches_do_not_mix() -> None:
    found = _views("export B=0\nif [ x ]; then export A=1; else export A=2 B=1; fi\n")
    assert [{name: one.value for name, one in view.variables.items()} for view in found] == [
        {"B": "0"},
        {"B": "0", "A": "1"},
        {"A": "2", "B": "1"},
    ]


def test_a_later_setting_of_the_file_replaces_that_of_a_branch() -> None:
    assert [view.sure for view in _views("if [ x ]; then export A=1; fi\nexport A=2\n")] == [True]


def test_settings_of_one_command_see_what_came_before() -> None:
    (first, second) = _views("A=1 python a.py\nexport B=2\nA=3 sudo -E env C=4 python b.py\n")[1:]
    assert {name: one.value for name, one in first.variables.items()} == {"A": "1"}
    assert {name: one.value for name, one in second.variables.items()} == {"B": "2", "A": "3", "C": "4"}
    assert first.passing


def test_a_container_inherits_nothing() -> None:
    (_, container) = _views("export A=1\ndocker run -e B=2 --env=C=3 -eD=4 image bash -c 'export E=5'\n")
    assert {name: one.value for name, one in container.variables.items()} == {"B": "2", "C": "3", "D": "4", "E": "5"}


def test_launchers_pass_variables_on() -> None:
    found = _views("mpirun -np 2 -x A=1 -genv B 2 ./x\nsrun --export=ALL,C=3 ./y\n")
    assert [{name: one.value for name, one in view.variables.items()} for view in found] == [
        {"A": "1", "B": "2"},
        {"C": "3"},
    ]


def test_values_that_only_the_shell_knows_are_left_out() -> None:
    assert _file("X=3\nexport A=$X B=$Y C=$(nproc) D=`x` E=${X}4 F='$X'\n") == {"A": "3", "E": "34", "F": "$X"}
    assert _file("export LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH\n") == {"LD_LIBRARY_PATH": "/opt/a"}


@given(st.text(alphabet="aA=1 \n\t'\"\\$`(){};&|<>#-[]:xEOF", max_size=300))
def test_no_text_raises(text: str) -> None:
    for path in ("a.sh", "Dockerfile", "a.yaml", ".env", "job", "x.service"):
        sheet = read_sheet(path, text + "\n#SBATCH --export=A=1\n")
        if sheet is not None:
            list(views(sheet))


@pytest.mark.parametrize("unit", ["export A=1 && ", "$(", "${", "if x; then ", "{ ", "'", "a() {\n", "case x in a) "])
def test_long_hostile_texts_end(unit: str) -> None:
    sheet = read_sheet("a.sh", unit * 20_000)
    assert sheet is not None
    assert sum(1 for _ in views(sheet)) < 5000
