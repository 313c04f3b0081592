"""Numbers, addresses and names of people where a kernel log, a job, a tracker or a letter holds them.

``LINES``: (a line, what must be gone from it), everything made up. ``CONTROLS``: lines that only look like these.
"""

from __future__ import annotations

LINES: tuple[tuple[str, str], ...] = (
    # parameters of the kernel
    ("[    0.0] Command line: ro ifname=bond0:3c:ec:ef:12:34:56 quiet", "3c:ec:ef"),
    ("BOOT_IMAGE=/vmlinuz BOOTIF=01-3c-ec-ef-12-34-56 ro", "3c-ec-ef"),
    ("root=/dev/sda ip=:::::eth1:dhcp:1500:3c:ec:ef:12:34:56 ro", "3c:ec:ef"),
    ("root=/dev/sda rd.iscsi.username=zroe ro", "zroe"),
    ("root=/dev/sda rd.iscsi.in.username=zroe ro", "zroe"),
    ("netroot=iscsi:zroe:hushhush1:@192.168.3.4::3260::iqn.2009-06.de.roe:disk", "zroe"),
    ("netroot=iscsi:zroe:hushhush1:@192.168.3.4::3260::iqn.2009-06.de.roe:disk", "hushhush1"),
    ("nvme nvme0: nqn.2014.08.org.nvmexpress:144d144dS5H9NX0N812345Z      SAMSUNG MZVL2", "S5H9NX0N812345Z"),
    ("nqn=nqn.2014.08.org.nvmexpress:1d0f1d0fvol05e860e733ce11280Elastic Block Store", "vol05e860e733ce11280"),
    ("subnqn nqn.2016-08.com.acme:nvme:nvm-subsystem-sn-21402E0A1B3C", "21402E0A1B3C"),
    ("input: Zara Roe's Keyboard as /devices/virtual/misc/uhid/input7", "Roe"),
    ("usb 1-2: Product: Zara's YubiKey", "Zara"),
    # wireless networks
    ("wlan0: associated to b8:27:eb:aa:bb:cc (SSID RoesAtHome)", "RoesAtHome"),
    ("device (wlp2s0): Activation: (wifi) access point 'RoesAtHome' has security", "RoesAtHome"),
    ('Activation: (wifi) Connected to wireless network "Roes at home"', "Roes at"),
    ('wpa_supplicant: SSID "RoesAtHome"', "RoesAtHome"),
    # comments of jobs
    ('#SBATCH --comment="run by Zara Roe for ACME"', "Roe"),
    ("sbatch --comment=zara_thesis --partition=gpu run.sh", "zara"),
    ("sbatch --comment zara_thesis run.sh", "zara"),
    ("   Comment=ticket from Zara Roe", "Roe"),
    ("JobId=7 JobName=x NodeList=(null) Comment=for Zara Roe Power=", "Roe"),
    ("   AdminComment=call Zara Roe", "Roe"),
    ("SLURM_JOB_COMMENT=for Zara", "Zara"),
    ("mount.cifs: username=zroe", "zroe"),
    # trackers
    ("opened by zara-roe 3 days ago", "zara-roe"),
    ("opened by zroe on Mar 3, 2025", "zroe"),
    ("#123 opened on Mar 3, 2025 by zroe", "zroe"),
    ("#1234 by zroe was closed on Mar 3", "zroe"),
    # addresses
    ("zara DOT roe AT roe-lab DOT de", "roe-lab"),
    ("zara.roe at roe-lab dot example dot org", "roe-lab"),
    ("write to zara.roe AT roe-lab.de please", "roe-lab"),
    ("zara.roe_at_roe-lab.de", "roe-lab"),
    # numbers
    ("Call me: +49 (0)171 2345678 (Roe)", "2345678"),
    ("reach us, +49 171 2345678", "2345678"),
    ("WhatsApp +1 415 555 0132", "555"),
    ("tel (415) 555-0132", "555"),
    ("mobil 0171-2345678", "2345678"),
    ("Telefon: 0049 171 2345678", "2345678"),
    ("phone +491712345678", "1712345678"),
    ("IBAN: DE89 3704 0044 0532 0130 00", "3704"),
    ("iban DE89370400440532013000", "DE8937"),
    ("SSN: 078-05-1120", "078-05"),
    ("credit card 4111 1111 1111 1111", "1111"),
    ("Personalausweis L01X00T47", "L01X00T47"),
)

CONTROLS: tuple[str, ...] = (
    "ifname=ib0 a0:00:02:20",
    "ip=dhcp rd.neednet=1",
    "nqn.2014-08.org.nvmexpress.discovery",
    "SSID broadcast is off",
    "sbatch --comment --help",
    "Comment=(null)",
    "# comment=a note in an ini file",
    "opened by the driver 3 seconds ago",
    "Connection closed by peer 3 minutes ago",
    "reset by amdgpu: GPU reset(1) succeeded!",
    "divided by 8 was 3.5, as planned",
    "look at the dot product of q and k",
    "failed at dot_product_attention",
    "FAILED AT train.py line 3",
    "warn_at_step.py",
    "clock +49 125 300 900 MHz",
    "+1 415 555 0132 a line of a diff",
    "sym+0x1a4/0x620 [amdgpu] +12 more",
    "offset: +1000 2000 3000 4000",
    "call trace: 0x00 0171",
    "cell 0 2048 4096 8192",
    "phone home disabled",
    "Card SKU: D7020100",
    "card number 1",
    "graphics card No 0",
    "passport.js 0.7.0",
    "tel 8 of 16",
    "vat ids are not read",
    "it's input: the user's choice",
    "input: AT Translated Set 2 keyboard as /devices/platform/i8042",
    "name='Llama's tokenizer",
    "git(username=username, login=False)",
)
