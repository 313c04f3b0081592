"""hwmon folders: transcribed from an idle discrete card and an APU; the Intel one is constructed from its driver."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel.hwmon import parse_hwmon

CARD = {
    "name": "amdgpu\n",
    "temp1_input": "56000\n",
    "temp1_label": "edge\n",
    "temp1_crit": "100000\n",
    "temp1_crit_hyst": "-273150\n",
    "temp1_emergency": "105000\n",
    "temp2_input": "59000\n",
    "temp2_label": "junction\n",
    "temp2_crit": "110000\n",
    "temp3_input": "54000\n",
    "temp3_label": "mem\n",
    "power1_average": "36000000\n",
    "power1_cap": "289000000\n",
    "power1_cap_default": "289000000\n",
    "power1_cap_max": "332000000\n",
    "power1_cap_min": "0\n",
    "power1_label": "PPT\n",
    "fan1_input": "0\n",
    "fan1_max": "3400\n",
    "fan1_enable": "0\n",
    "pwm1": "0\n",
    "pwm1_enable": "2\n",
    "pwm1_max": "255\n",
    "freq1_input": "500000000\n",
    "freq1_label": "sclk\n",
    "freq2_input": "1000000000\n",
    "freq2_label": "mclk\n",
    "in0_input": "775\n",
    "in0_label": "vddgfx\n",
    "uevent": "",
}


def test_a_discrete_card() -> None:
    found = parse_hwmon({f"/sys/class/drm/card0/device/hwmon/hwmon5/{name}": text for name, text in CARD.items()})
    assert [(one.label, one.temp_c) for one in found.temperatures] == [
        ("edge", 56.0),
        ("junction", 59.0),
        ("mem", 54.0),
    ]
    edge = found.temperatures[0]
    assert (edge.crit_c, edge.emergency_c) == (100.0, 105.0)
    (power,) = found.powers
    assert (power.average_w, power.input_w, power.power_w) == (36.0, None, 36.0)
    assert (power.cap_w, power.cap_default_w, power.cap_max_w) == (289.0, 289.0, 332.0)
    (fan,) = found.fans
    assert (fan.rpm, fan.max_rpm, fan.pwm, fan.pwm_enable) == (0, 3400, 0, 2)
    assert [(one.label, one.value) for one in found.clocks_mhz] == [("sclk", 500.0), ("mclk", 1000.0)]


def test_an_apu_with_two_limits_and_no_fan() -> None:
    found = parse_hwmon(
        {
            "power1_input": "4057000",
            "power1_average": "3218000",
            "power1_label": "slowPPT",
            "power2_label": "fastPPT",
            "power2_average": "3040000",
            "power2_cap": "15000000",
            "temp1_input": "56000",
        }
    )
    assert [(one.power_w, one.input_w) for one in found.powers] == [(3.218, 4.057), (3.04, None)]
    assert found.fans == ()
    assert found.temperatures[0].label is None


def test_intel() -> None:
    found = parse_hwmon(
        {
            "name": "xe",
            "energy1_input": "123456789",
            "energy1_label": "card",
            "power1_max": "190000000",
            "power1_crit": "380000000",
            "power1_label": "card",
            "temp2_input": "41000",
            "temp2_label": "pkg",
            "temp3_input": "44000",
            "temp3_label": "vram",
            "curr1_crit": "44000",
        }
    )
    assert found.powers == ()
    assert [(one.label, one.temp_c) for one in found.temperatures] == [("pkg", 41.0), ("vram", 44.0)]


def test_a_sensor_that_could_not_be_read() -> None:
    found = parse_hwmon({"temp1_input": "", "temp1_label": "edge", "power1_average": "N/A", "fan1_input": "x"})
    assert (found.temperatures, found.powers, found.fans) == ((), (), ())


@given(st.dictionaries(st.text() | st.sampled_from(sorted(CARD)), st.text() | st.integers().map(str)))
def test_any_files_never_raise(files: dict[str, str]) -> None:
    parse_hwmon(files)
