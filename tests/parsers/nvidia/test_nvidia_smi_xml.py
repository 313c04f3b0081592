"""nvidia-smi -q -x. Samples are constructed in the form of drivers 430 and 535 to 595, with values of real GPUs."""

from __future__ import annotations

from rocdoctor.parsers.nvidia.nvidia_smi import parse_nvidia_smi, parse_query_xml

MIB = 1024 * 1024

# Driver 430: no MIG, single and double bit counts, throttle reasons, one power section, a domain above 0.
OLD_XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v10.dtd">
<nvidia_smi_log>
	<timestamp>Tue Dec  3 05:27:00 2019</timestamp>
	<driver_version>430.26</driver_version>
	<cuda_version>Not Found</cuda_version>
	<attached_gpus>4</attached_gpus>
	<gpu id="00001580:00:00.0">
		<product_name>Tesla K80</product_name>
		<product_brand>Tesla</product_brand>
		<persistence_mode>Disabled</persistence_mode>
		<serial>0322416000000</serial>
		<uuid>GPU-c3b26f7a-0000-0000-0000-000000000001</uuid>
		<minor_number>1</minor_number>
		<vbios_version>80.21.1F.00.05</vbios_version>
		<gpu_virtualization_mode>
			<virtualization_mode>Pass-Through</virtualization_mode>
		</gpu_virtualization_mode>
		<pci>
			<pci_device_id>102D10DE</pci_device_id>
			<pci_bus_id>00001580:00:00.0</pci_bus_id>
			<pci_sub_system_id>106C10DE</pci_sub_system_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>3</max_link_gen>
					<current_link_gen>1</current_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>16x</max_link_width>
					<current_link_width>8x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<replay_counter>12</replay_counter>
			<tx_util>25000 KB/s</tx_util>
			<rx_util>N/A</rx_util>
		</pci>
		<fan_speed>N/A</fan_speed>
		<performance_state>P0</performance_state>
		<clocks_throttle_reasons>
			<clocks_throttle_reason_gpu_idle>Not Active</clocks_throttle_reason_gpu_idle>
			<clocks_throttle_reason_applications_clocks_setting>Active</clocks_throttle_reason_applications_clocks_setting>
			<clocks_throttle_reason_hw_slowdown>Active</clocks_throttle_reason_hw_slowdown>
			<clocks_throttle_reason_hw_thermal_slowdown>N/A</clocks_throttle_reason_hw_thermal_slowdown>
		</clocks_throttle_reasons>
		<fb_memory_usage>
			<total>11441 MiB</total>
			<used>587 MiB</used>
			<free>10854 MiB</free>
		</fb_memory_usage>
		<compute_mode>Default</compute_mode>
		<utilization><gpu_util>99 %</gpu_util><memory_util>29 %</memory_util></utilization>
		<ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Disabled</pending_ecc></ecc_mode>
		<ecc_errors>
			<volatile>
				<single_bit><device_memory>0</device_memory><total>0</total></single_bit>
				<double_bit><device_memory>2</device_memory><register_file>1</register_file><total>N/A</total></double_bit>
			</volatile>
			<aggregate>
				<single_bit><device_memory>7</device_memory><total>7</total></single_bit>
				<double_bit><device_memory>9</device_memory><total>9</total></double_bit>
			</aggregate>
		</ecc_errors>
		<retired_pages>
			<multiple_single_bit_retirement><retired_count>1</retired_count></multiple_single_bit_retirement>
			<double_bit_retirement><retired_count>3</retired_count></double_bit_retirement>
			<pending_retirement>Yes</pending_retirement>
		</retired_pages>
		<temperature>
			<gpu_temp>64 C</gpu_temp>
			<gpu_temp_max_threshold>110 C</gpu_temp_max_threshold>
			<gpu_temp_slow_threshold>88 C</gpu_temp_slow_threshold>
			<gpu_temp_max_gpu_threshold>N/A</gpu_temp_max_gpu_threshold>
		</temperature>
		<power_readings>
			<power_draw>135.72 W</power_draw>
			<power_limit>140.00 W</power_limit>
			<default_power_limit>149.00 W</default_power_limit>
			<enforced_power_limit>120.00 W</enforced_power_limit>
			<min_power_limit>100.00 W</min_power_limit>
			<max_power_limit>175.00 W</max_power_limit>
		</power_readings>
		<clocks><graphics_clock>810 MHz</graphics_clock><mem_clock>2505 MHz</mem_clock></clocks>
		<max_clocks><graphics_clock>875 MHz</graphics_clock><mem_clock>2505 MHz</mem_clock></max_clocks>
		<processes>
			<process_info>
				<pid>58813</pid>
				<type>C</type>
				<process_name>/home/someone/env/bin/python train.py</process_name>
				<used_memory>576 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
"""

# Driver 535 and later: MIG, event reasons, remapped rows, several power sections, fabric.
NEW_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
    <driver_version>535.54.03</driver_version>
    <cuda_version>12.2</cuda_version>
    <attached_gpus>2</attached_gpus>
    <gpu id="00000000:01:00.0">
        <product_name>NVIDIA A100-SXM4-80GB</product_name>
        <product_architecture>Ampere</product_architecture>
        <addressing_mode>None</addressing_mode>
        <mig_mode><current_mig>Enabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
        <mig_devices>
            <mig_device>
                <index>0</index>
                <gpu_instance_id>3</gpu_instance_id>
                <compute_instance_id>0</compute_instance_id>
                <device_attributes><shared><multiprocessor_count>14</multiprocessor_count></shared></device_attributes>
                <fb_memory_usage><total>19968 MiB</total><used>12 MiB</used></fb_memory_usage>
            </mig_device>
        </mig_devices>
        <gpu_module_id>4</gpu_module_id>
        <gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>
        <gpu_recovery_action>None</gpu_recovery_action>
        <pci>
            <pci_device_id>20B210DE</pci_device_id>
            <pci_sub_system_id>147F10DE</pci_sub_system_id>
            <pci_gpu_link_info>
                <pcie_gen>
                    <max_link_gen>4</max_link_gen>
                    <current_link_gen>3</current_link_gen>
                    <device_current_link_gen>3</device_current_link_gen>
                    <max_device_link_gen>4</max_device_link_gen>
                    <max_host_link_gen>5</max_host_link_gen>
                </pcie_gen>
                <link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>
            </pci_gpu_link_info>
        </pci>
        <clocks_event_reasons>
            <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
            <clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap>
        </clocks_event_reasons>
        <fb_memory_usage>
            <total>81920 MiB</total><reserved>869 MiB</reserved><used>50 MiB</used><free>80999 MiB</free>
        </fb_memory_usage>
        <ecc_errors>
            <volatile>
                <sram_correctable>1</sram_correctable>
                <sram_uncorrectable_parity>2</sram_uncorrectable_parity>
                <sram_uncorrectable_secded>3</sram_uncorrectable_secded>
                <dram_correctable>10</dram_correctable>
                <dram_uncorrectable>20</dram_uncorrectable>
            </volatile>
            <aggregate>
                <sram_correctable>N/A</sram_correctable>
                <sram_uncorrectable>N/A</sram_uncorrectable>
                <sram_threshold_exceeded>Yes</sram_threshold_exceeded>
            </aggregate>
            <channel_repair_pending>No</channel_repair_pending>
        </ecc_errors>
        <remapped_rows>
            <remapped_row_corr>4</remapped_row_corr>
            <remapped_row_unc>5</remapped_row_unc>
            <remapped_row_pending>Yes</remapped_row_pending>
            <remapped_row_failure>No</remapped_row_failure>
        </remapped_rows>
        <temperature>
            <gpu_temp>27 C</gpu_temp>
            <gpu_temp_tlimit>57 C</gpu_temp_tlimit>
            <gpu_temp_max_tlimit_threshold>-8 C</gpu_temp_max_tlimit_threshold>
            <memory_temp>44 C</memory_temp>
            <gpu_temp_max_mem_threshold>95 C</gpu_temp_max_mem_threshold>
        </temperature>
        <gpu_power_readings>
            <average_power_draw>139.62 W</average_power_draw>
            <instant_power_draw>142.33 W</instant_power_draw>
            <current_power_limit>400.00 W</current_power_limit>
            <requested_power_limit>450.00 W</requested_power_limit>
        </gpu_power_readings>
        <module_power_readings><power_draw>N/A</power_draw></module_power_readings>
        <applications_clocks>
            <graphics_clock>Requested functionality has been deprecated</graphics_clock>
        </applications_clocks>
        <fabric><state>Completed</state><status>Success</status><health><summary>Healthy</summary></health></fabric>
        <processes />
    </gpu>
    <gpu id="00000000:41:00.0">
        <product_name>NVIDIA A100-SXM4-80GB</product_name>
        <fan_speed>Unknown Error</fan_speed>
        <temperature><gpu_temp>GPU is lost</gpu_temp></temperature>
        <pci><pci_device_id>000000DE</pci_device_id></pci>
        <processes>N/A</processes>
    </gpu>
</nvidia_smi_log>
"""


def line_of(text: str, needle: str) -> int:
    return next(at for at, line in enumerate(text.split("\n"), 1) if needle in line)


def test_old_xml() -> None:
    smi = parse_nvidia_smi(OLD_XML)
    assert (smi.driver_version, smi.cuda_version, smi.attached_gpus) == ("430.26", None, 4)
    assert smi.lines == {"driver_version": 5, "attached_gpus": 7}
    assert not smi.truncated and smi.failures == ()
    (gpu,) = smi.gpus
    # One of four is listed: its place is not its number.
    assert gpu.index is None
    assert gpu.get("bdf") == "1580:00:00.0"
    assert (gpu.get("name"), gpu.get("unique_id")) == ("Tesla K80", "GPU-c3b26f7a-0000-0000-0000-000000000001")
    assert (gpu.get("pci_id"), gpu.get("subsystem_id"), gpu.get("vbios")) == (
        "10de:102d",
        "10de:106c",
        "80.21.1F.00.05",
    )
    assert (
        gpu.get("pcie.device.speed_gt_s"),
        gpu.get("pcie.device.max_speed_gt_s"),
        gpu.get("pcie.device.width"),
        gpu.get("pcie.device.max_width"),
    ) == (2.5, 8.0, 8, 16)
    assert gpu.get("pcie.replay_count") == 12
    assert (gpu.get("traffic.pcie_sent_kb_s"), gpu.get("traffic.pcie_received_kb_s")) == (25000, None)
    assert gpu.get("throttle") == ("applications_clocks_setting", "hw_slowdown")
    assert (gpu.get("vram_bytes"), gpu.get("vram_used_bytes")) == (11441 * MIB, 587 * MIB)
    assert (gpu.get("ecc_enabled"), gpu.get("ecc_pending")) == (True, False)
    assert (gpu.get("ecc_volatile_corrected"), gpu.get("ecc_volatile_uncorrected")) == (0, 3)
    assert (gpu.get("ecc_aggregate_corrected"), gpu.get("ecc_aggregate_uncorrected")) == (7, 9)
    assert (
        gpu.get("retired_pages_single_bit"),
        gpu.get("retired_pages_double_bit"),
        gpu.get("retired_pages_pending"),
    ) == (1, 3, True)
    assert (gpu.get("temp_c"), gpu.get("temp_shutdown_c"), gpu.get("temp_slowdown_c")) == (64, 110, 88)
    assert (gpu.get("power.now_w"), gpu.get("power.cap_w")) == (135.72, 120.0)
    assert (gpu.get("power.cap_default_w"), gpu.get("power.cap_max_w")) == (149.0, 175.0)
    assert (gpu.get("clocks_mhz.graphics"), gpu.get("max_clocks_mhz.graphics")) == (810, 875)
    assert (gpu.get("busy_percent"), gpu.get("mig")) == (99, None)
    assert gpu.get("process_list") is not None
    (process,) = gpu.get("process_list")
    assert process.used_bytes == 576 * MIB
    assert (gpu.lines["bdf"], gpu.lines["pcie.device.width"]) == (8, line_of(OLD_XML, "<current_link_width>"))
    assert "0322416000000" not in repr(smi)


def test_new_xml() -> None:
    smi = parse_query_xml(NEW_XML)
    assert (smi.driver_version, smi.cuda_version, smi.attached_gpus) == ("535.54.03", "12.2", 2)
    gpu, lost = smi.gpus
    assert (gpu.index, lost.index, gpu.get("bdf"), lost.get("bdf")) == (0, 1, "0000:01:00.0", "0000:41:00.0")
    assert gpu.get("mig") is True
    assert gpu.get("mig_instances") == 1
    # Not the memory of the MIG device, which stands first.
    assert gpu.get("vram_bytes") == 81920 * MIB
    assert gpu.get("throttle") == ()
    assert (gpu.get("ecc_volatile_corrected"), gpu.get("ecc_volatile_uncorrected")) == (11, 25)
    assert (gpu.get("ecc_aggregate_corrected"), gpu.get("ecc_aggregate_uncorrected")) == (None, None)
    assert (gpu.get("remapped_rows_pending"), gpu.get("remap_failure")) == (True, False)
    assert (gpu.get("temp_memory_c"), gpu.get("temp_memory_max_operating_c")) == (44, 95)
    assert gpu.get("temp_shutdown_c") is None
    assert gpu.get("power.now_w") == 142.33
    assert gpu.get("power.cap_w") == 400.0
    assert (gpu.get("fabric_state"), gpu.get("fabric_status")) == ("Completed", "Success")
    assert (gpu.get("reset_required"), gpu.get("recovery_action")) == (True, "None")
    assert gpu.get("process_list") == ()
    assert (lost.get("temp_c"), lost.get("process_list"), lost.get("pci_id")) == (None, None, None)


def test_reasons_that_the_gpu_does_not_report_are_unknown() -> None:
    text = NEW_XML.replace("Not Active", "N/A")
    assert parse_query_xml(text).gpus[0].get("throttle") is None


def test_cut_xml_says_so() -> None:
    smi = parse_query_xml(NEW_XML[: NEW_XML.index("<remapped_rows>")])
    assert smi.truncated and smi.gpus[0].get("ecc_volatile_uncorrected") == 25
    assert smi.gpus[0].get("remapped_rows_pending") is None
    assert smi.gpus[0].index is None
