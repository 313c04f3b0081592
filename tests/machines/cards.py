"""Models of AMD GPUs: the figures that the driver would print for them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Card:
    """One model. ``link`` is its best link (GT/s, lanes); ``hot`` are (label, now, critical, emergency) in C."""

    name: str
    device: str
    revision: str
    subsystem: str
    gfx_version: int
    compute_units: int
    simd_per_cu: int
    vram_gib: float
    link: tuple[str, int]
    hot: tuple[tuple[str, int, int, int], ...]
    power_w: tuple[int, int]
    vbios: str
    fan_max_rpm: int = 0
    fan_rpm: int = 0
    pci_class: str = "30000"
    sclk_mhz: tuple[int, ...] = (500, 2400)
    mclk_mhz: tuple[int, ...] = (96, 456, 772, 1249)
    xccs: int = 1
    apu: bool = False
    gtt_gib: float = 0.0
    shared_gib: float = 0.0
    ras: bool = False
    unique: bool = True
    on_card_switch: bool = False
    large_bar: bool = True
    driver: str = "amdgpu"
    kfd: bool = True
    features: str = ""
    firmware: dict[str, str] = field(default_factory=dict)

    @property
    def gfx(self) -> str:
        """The architecture's name: minor and stepping are hexadecimal digits."""
        version = self.gfx_version
        return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"

    @property
    def compute_bytes(self) -> int:
        """The memory that KFD lists: of an APU what it may use of main memory."""
        return int((self.shared_gib or self.gtt_gib) * 2**30) if self.apu else self.vram_bytes

    @property
    def vram_bytes(self) -> int:
        return int(self.vram_gib * 2**30)


def _radeon_heat(edge: int) -> tuple[tuple[str, int, int, int], ...]:
    return (("edge", edge, 100, 105), ("junction", edge + 7, 110, 115), ("mem", edge + 14, 108, 113))


def _instinct_heat(hot: int) -> tuple[tuple[str, int, int, int], ...]:
    return (("junction", hot, 100, 105), ("mem", hot - 3, 105, 110))


_FIRMWARE = {"mec_fw_version": "0x000000b6", "smc_fw_version": "0x00557300", "rlc_fw_version": "0x00000021"}

MI300X = Card(
    "AMD Instinct MI300X",
    "74A1",
    "00",
    "1002:74A1",
    90402,
    304,
    4,
    191.98,
    ("32.0", 16),
    _instinct_heat(41),
    (141, 750),
    "113-M3000100-103",
    pci_class="120000",
    sclk_mhz=(132, 2100),
    mclk_mhz=(900, 1100, 1200, 1300),
    xccs=8,
    ras=True,
    features="sramecc+:xnack-",
    firmware=_FIRMWARE,
)
MI300X_VF = Card(
    "AMD Instinct MI300X VF",
    "74B5",
    "00",
    "1002:74A1",
    90402,
    304,
    4,
    191.98,
    ("32.0", 16),
    _instinct_heat(44),
    (148, 750),
    "113-M3000100-102",
    pci_class="120000",
    sclk_mhz=(132, 2100),
    mclk_mhz=(900, 1300),
    xccs=8,
    features="sramecc+:xnack-",
)
MI350X = Card(
    "AMD Instinct MI350X",
    "75A0",
    "00",
    "1002:75A0",
    90500,
    256,
    4,
    287.98,
    ("32.0", 16),
    _instinct_heat(46),
    (187, 1000),
    "113-M350-01-1K0-921",
    pci_class="120000",
    sclk_mhz=(123, 2200),
    mclk_mhz=(900, 1500, 2000),
    xccs=8,
    ras=True,
    features="sramecc+:xnack-",
    firmware=_FIRMWARE,
)
MI300A = Card(
    "AMD Instinct MI300A",
    "74A0",
    "00",
    "1002:74A0",
    90402,
    228,
    4,
    0.0,
    ("32.0", 16),
    _instinct_heat(38),
    (118, 550),
    "113-MI3SRIOV-077",
    pci_class="120000",
    sclk_mhz=(111, 2100),
    mclk_mhz=(900, 1300),
    xccs=6,
    apu=True,
    gtt_gib=0.5,
    shared_gib=125.6,
    unique=False,
    ras=True,
    features="sramecc+:xnack-",
    firmware=_FIRMWARE,
)
MI250 = Card(
    "AMD Instinct MI250X / MI250",
    "740C",
    "01",
    "1002:0B0C",
    90010,
    104,
    4,
    63.98,
    ("16.0", 16),
    (("edge", 37, 100, 105), ("junction", 40, 110, 115), ("mem", 42, 106, 111)),
    (91, 500),
    "113-D65209-072",
    pci_class="38000",
    sclk_mhz=(500, 800, 1700),
    mclk_mhz=(400, 700, 1200, 1600),
    ras=True,
    features="sramecc+:xnack-",
    firmware=_FIRMWARE,
)
MI210 = Card(
    "AMD Instinct MI210",
    "740F",
    "02",
    "1002:0C34",
    90010,
    104,
    4,
    63.98,
    ("16.0", 16),
    (("edge", 39, 100, 105), ("junction", 42, 110, 115), ("mem", 44, 106, 111)),
    (43, 300),
    "113-D67301-059",
    pci_class="38000",
    sclk_mhz=(500, 800, 1700),
    mclk_mhz=(400, 700, 1200, 1600),
    ras=True,
    features="sramecc+:xnack-",
    firmware=_FIRMWARE,
)
RX_7900_XTX = Card(
    "AMD Radeon RX 7900 XTX",
    "744C",
    "C8",
    "1EAE:7901",
    110000,
    96,
    2,
    23.98,
    ("16.0", 16),
    _radeon_heat(46),
    (38, 327),
    "113-31XFSHBS1-L02",
    fan_max_rpm=3200,
    fan_rpm=612,
    sclk_mhz=(500, 74, 2526),
    on_card_switch=True,
    firmware=_FIRMWARE,
)
RX_9070_XT = Card(
    "AMD Radeon RX 9070 XT",
    "7550",
    "C0",
    "1DA2:E489",
    120001,
    64,
    2,
    15.92,
    ("32.0", 16),
    _radeon_heat(43),
    (27, 304),
    "113-4E489AU-O4L",
    fan_max_rpm=3300,
    fan_rpm=540,
    sclk_mhz=(500, 141, 3450),
    mclk_mhz=(96, 456, 772, 1258),
    on_card_switch=True,
    firmware=_FIRMWARE,
)
RX_6700_XT = Card(
    "AMD Radeon RX 6700 XT",
    "73DF",
    "C1",
    "1458:2330",
    100301,
    40,
    2,
    11.98,
    ("16.0", 16),
    _radeon_heat(44),
    (31, 203),
    "113-D5121100-102",
    fan_max_rpm=3100,
    fan_rpm=0,
    sclk_mhz=(500, 2725),
    mclk_mhz=(96, 456, 673, 1000),
    on_card_switch=True,
    firmware=_FIRMWARE,
)
RX_6600 = Card(
    "AMD Radeon RX 6600",
    "73FF",
    "C7",
    "148C:2412",
    100302,
    28,
    2,
    7.98,
    ("16.0", 8),
    _radeon_heat(40),
    (9, 100),
    "113-V502MECH-U01",
    fan_max_rpm=3700,
    fan_rpm=0,
    sclk_mhz=(500, 2750),
    mclk_mhz=(96, 456, 673, 875),
    on_card_switch=True,
    firmware=_FIRMWARE,
)
RX_7600S = Card(
    "AMD Radeon RX 7600S",
    "7480",
    "C3",
    "1043:19AE",
    110002,
    28,
    2,
    7.98,
    ("16.0", 8),
    _radeon_heat(45),
    (11, 95),
    "113-BRT120211.001",
    sclk_mhz=(500, 2200),
    mclk_mhz=(96, 456, 772, 1000),
    on_card_switch=True,
    firmware=_FIRMWARE,
)
RADEON_VII = Card(
    "AMD Radeon VII",
    "66AF",
    "C1",
    "1002:081E",
    90006,
    60,
    4,
    15.98,
    ("8.0", 16),
    (("edge", 36, 100, 105), ("junction", 37, 110, 115), ("mem", 39, 105, 110)),
    (24, 250),
    "113-D3600200-106",
    fan_max_rpm=3850,
    fan_rpm=834,
    sclk_mhz=(701, 808, 1801),
    mclk_mhz=(351, 800, 1000),
    large_bar=False,
    on_card_switch=True,
)
RX_580 = Card(
    "AMD Radeon RX 580",
    "67DF",
    "E7",
    "1DA2:E366",
    80003,
    36,
    4,
    8.0,
    ("8.0", 16),
    (("edge", 41, 94, 99),),
    (33, 145),
    "113-1E3660EU-O54",
    fan_max_rpm=3200,
    fan_rpm=987,
    sclk_mhz=(300, 600, 1366),
    mclk_mhz=(300, 1000, 2000),
    large_bar=False,
    unique=False,
)
R7_240 = Card(
    "AMD Radeon R7 240",
    "6613",
    "00",
    "1043:0468",
    0,
    0,
    4,
    1.0,
    ("8.0", 8),
    (("temp1", 38, 120, 90),),
    (0, 0),
    "113-C55201",
    kfd=False,
    large_bar=False,
    unique=False,
    driver="radeon",
)
RAPHAEL = Card(
    "AMD Radeon Graphics",
    "164E",
    "C9",
    "1043:8877",
    100306,
    2,
    2,
    0.5,
    ("16.0", 16),
    (("edge", 41, 0, 0),),
    (18, 0),
    "102-RAPHAEL-008",
    sclk_mhz=(400, 600, 2200),
    mclk_mhz=(1000, 2400),
    apu=True,
    gtt_gib=31.2,
    unique=False,
)
PHOENIX = Card(
    "AMD Radeon 780M Graphics",
    "15BF",
    "C8",
    "17AA:50D9",
    110003,
    12,
    2,
    4.0,
    ("16.0", 16),
    (("edge", 39, 0, 0),),
    (6, 0),
    "113-PHXGENERIC-001",
    sclk_mhz=(800, 1100, 2700),
    mclk_mhz=(400, 800),
    apu=True,
    gtt_gib=13.6,
    unique=False,
)
STRIX_HALO = Card(
    "AMD Radeon 8060S Graphics",
    "1586",
    "C1",
    "F111:000A",
    110501,
    40,
    2,
    0.5,
    ("16.0", 16),
    (("edge", 36, 0, 0),),
    (12, 0),
    "113-STRXLGEN-001",
    sclk_mhz=(600, 1100, 2900),
    mclk_mhz=(400, 1000),
    apu=True,
    gtt_gib=62.3,
    unique=False,
)
