from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.finding import Diagnosis, Evidence, Fix
from rocdoctor.report import markdown
from rocdoctor.report.diagnosis.text import document
from tests.kit import amd_gpu, machine
from tests.report.made import FULL, HOSTILE, OVERRIDE, diagnosis, failed, unspelled


def render(diagnosis: Diagnosis) -> str:
    return markdown.render(document(diagnosis))


def test_the_report_has_headline_card_findings_and_counts() -> None:
    text = render(FULL)
    assert text.startswith(
        "## rocdoctor\n\n**Do first: Unset the variable**\n\n```sh\nunset HSA_OVERRIDE_GFX_VERSION\n```\n"
    )
    assert "```text\ngpu 0     AMD Instinct MI210, gfx90a, 64 GiB, driver amdgpu\n```\n" in text
    assert "### error: gfx-override-mismatch\n\ngpu 0 (0000:23:00.0): This GPU is gfx942, but" in text
    assert "- `gfx942` from `read /sys/class/kfd/kfd/topology/nodes/1/properties:2`\n" in text
    assert "\nfix (safe): Unset the variable\n" in text
    assert "\nverify: `" in text
    assert (
        "Verdicts: 1 passed, 1 unknown (not enough evidence; --verbose lists them), 1 not applicable, 1 crashed.\n"
        in text
    )


def test_fences_are_balanced_whatever_the_evidence_holds() -> None:
    bad = "`` ``` <img src=x> ![i](http://x) | a\n# head\n```\nafter"
    found = replace(OVERRIDE, message=bad, evidence=(Evidence(bad, bad),), fix=Fix(bad, command=bad))
    text = render(diagnosis([failed(found, bad)], machine(amd_gpu(name=bad))))
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert fences[0::2] == [one for one in fences[0::2] if one in ("```sh", "```text")]
    assert set(fences[1::2]) == {"```"}
    outside = [part for number, part in enumerate(text.split("```")) if number % 2 == 0]
    assert not any("<img" in part.replace("`", "\0").split("\0")[0] for part in outside)
    assert "\n# head" not in "".join(outside)
    assert "![" not in "".join(one for part in outside for one in part.split("`")[0::2])


def test_a_lone_backtick_opens_no_code() -> None:
    text = render(diagnosis([failed(replace(OVERRIDE, message="a `b and [c](d) *e*"), "gpu 0")]))
    assert "gpu 0: a 'b and \\[c\\](d) \\*e\\*\n" in text


def test_escape_sequences_never_reach_it() -> None:
    found = replace(
        OVERRIDE, message=HOSTILE, evidence=(Evidence(HOSTILE, HOSTILE),), fix=Fix(HOSTILE, command=HOSTILE)
    )
    text = render(diagnosis([failed(found, HOSTILE)], machine(amd_gpu(name=HOSTILE))))
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160]
    assert "ZXZpbA" not in unspelled(text)


def test_eight_equal_findings_are_one_section() -> None:
    text = render(diagnosis([failed(OVERRIDE, f"gpu {index}") for index in range(8)]))
    assert text.count("### error") == 1
    assert "gpu 0-7: Each of these GPUs is" in text
