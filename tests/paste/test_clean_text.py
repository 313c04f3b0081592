"""What is taken off a pasted text, and that the numbers of its lines stay. All samples are constructed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.paste import open_text
from rocdoctor.paste.clean_text import clean


def test_quoting_fences_and_line_ends_are_taken_off_and_lines_keep_their_numbers() -> None:
    found = clean("> Hello\r\n>\r\n> ```bash\r\n> $ rocminfo\r\n> ```\r\n> uses `gfx1100` here\r\n")
    assert found.lines == ["Hello", "", "", "$ rocminfo", "", "uses gfx1100 here", ""]
    assert [bool(block) for block in found.blocks] == [False, False, False, True, False, False, False]
    assert set(found.quotes[:6]) == {0}, "a text that is quoted as a whole quotes nobody"


def test_a_quotation_within_a_text_is_one() -> None:
    found = clean("mine\n> yours\n> > theirs\n")
    assert found.lines[:3] == ["mine", "yours", "theirs"]
    assert found.quotes[:3] == [0, 1, 2]


def test_python_prompts_are_no_quotation() -> None:
    assert clean(">>> import torch\n>>> torch.__version__").lines[0] == ">>> import torch"
    assert clean("> >>> import torch").lines == [">>> import torch"]


def test_markup_of_web_pages_goes_and_other_markup_stays() -> None:
    text = '<details><summary>log</summary>\n<pre>\na &lt; b\n</pre>\n</details>\n<gpu id="0">\n<minor>1</minor>'
    assert clean(text).lines == ["log", "", "a < b", "", "", '<gpu id="0">', "<minor>1</minor>"]


def test_the_cells_of_a_row_come_together_on_its_first_line() -> None:
    found = clean("<table>\n<tr>\n<td>OS</td>\n<td>Debian 12</td>\n</tr>\n</table>\nend")
    assert found.lines == ["", "OS | Debian 12", "", "", "", "", "end"]


def test_escape_sequences_odd_blanks_and_progress_bars() -> None:
    assert clean("\x1b[31mred\x1b[0m\u00a0x\u200b").lines == ["red x"]
    assert clean("10%\r20%\nend").lines == ["10% 20%", "end"]


def test_words_of_programs_stand_apart_from_signs_of_scripts_without_blanks() -> None:
    assert clean("提示CUDA out of memory错误，共2张").lines == ["提示 CUDA out of memory 错误，共 2 张"]
    assert clean("报错 version mismatch，怎么办").lines == ["报错 version mismatch ，怎么办"]
    assert clean("the café of 3 GPUs").lines == ["the café of 3 GPUs"]


def test_a_lone_quote_sign_of_messages_stays() -> None:
    assert clean("version `GLIBC_2.14' not found").lines == ["version `GLIBC_2.14' not found"]


def test_wrapped_kernel_messages_and_table_rows_are_joined() -> None:
    text = (
        "[    7.218215] kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics\n494<509\n"
        "[    8.000001] usb 1-1: new device\nBut compute does not see it.\n"
        "    | NVIDIA-SMI 535.10                 Driver Version: 535.10     Version: 12.2\n|\n"
    )
    found = clean(text)
    assert found.lines[0].endswith("PCI rejects atomics 494<509")
    assert found.lines[1] == ""
    assert found.lines[3] == "But compute does not see it."
    assert found.lines[4].endswith("12.2 |")


def test_the_question_text_gives_the_whole_with_its_lines() -> None:
    host = open_text("> one\n> ```\n> two\n> ```\n> three", "x")
    answer = host.ask("text")
    assert answer.ok
    assert not answer.complete
    assert answer.text == "one\n\ntwo\n\nthree"


MARKS = st.sampled_from(
    [
        "\n",
        "> ",
        "```",
        "<tr>",
        "<td>",
        "</td>",
        "<pre>",
        "&lt;",
        "\x1b[31m",
        "\r",
        "`",
        "|",
        "$ rocminfo",
        "[ 1.000000] x",
        "a b",
    ]
)


@given(st.one_of(st.text(max_size=400), st.lists(MARKS, max_size=60).map("".join)))
def test_any_text_never_raises_and_keeps_its_lines(text: str) -> None:
    found = clean(text)
    assert len(found.lines) == len(found.blocks) == len(found.quotes)
    if "\r" not in text:
        assert len(found.lines) == text.count("\n") + 1


def test_lines_of_a_journal_and_of_lspci_are_joined_where_they_were_broken() -> None:
    text = (
        "Feb 21 03:11:09 n14 kernel: amdgpu 0000:83:00.0: amdgpu: 1 uncorrectable hardware\n"
        "errors detected in umc block\n"
        "Feb 21 03:11:10 n14 kernel: amdgpu 0000:83:00.0: amdgpu: GPU reset begin!\n"
    )
    assert clean(text).lines[0].endswith("1 uncorrectable hardware errors detected in umc block")
    listed = "0b:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi\n21 [Radeon RX 6800]\n"
    assert clean(listed).lines[0].endswith("Navi 21 [Radeon RX 6800]")
