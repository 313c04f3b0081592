"""File systems of users: what they claim of owners is not believed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rocdoctor.host.live.fstab_users import SOMEBODY, allowed_by_fstab
from rocdoctor.host.live.user_mounts import UserMounts, may_hang, mounted_by_users

_LINES = """\
21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
40 21 0:39 / /tmp/x rw,nosuid,nodev,relatime - fuse.sshfs x rw,user_id=1000,group_id=1000,allow_other
41 21 0:40 / /mnt/x rw,relatime shared:4 - fuse.glusterfs h:/v rw,user_id=0,group_id=0,allow_other
42 21 8:17 / /mnt/win rw,relatime - fuseblk /dev/sdb1 rw,user_id=1001,group_id=0
43 21 7:3 / /run/media/ann/disk rw,nosuid,nodev,relatime shared:9 - ext4 /dev/loop3 rw
44 21 8:33 / /media/data rw,relatime shared:9 - ext4 /dev/sdc1 rw
45 21 0:41 / /home rw,nosuid,relatime - nfs4 h:/home rw,user_id=7
46 21 0:42 /a\\040b /y rw - fuse z rw,user_id=1002,x
"""


def test_who_mounted_what_is_read_from_mountinfo() -> None:
    found = mounted_by_users(_LINES)
    assert found == {
        os.makedev(0, 39): 1000,
        os.makedev(8, 17): 1001,
        os.makedev(7, 3): SOMEBODY,
        os.makedev(0, 42): 1002,
    }


_FSTAB = """\
# /dev/sdz1 /mnt/note ext4 noauto,users 0 0
/dev/sdb1 /mnt/stick ext4 noauto,users,exec 0 2
/dev/sdc1 /mnt/data/ ext4 users,exec 0 2
/dev/sdd1 /mnt/own\\040disk/ ext4 noauto,owner 0 2
/img /mnt/image ext4 loop,user,noauto,suid 0 0
/dev/sde1 /mnt/any ext4 noauto,users,suid 0 0
"""
_UTAB = "SRC=/dev/loop1 TARGET=/mnt/image ROOT=/ OPTS=loop=/img,user=root2\nSRC=x TARGET=/mnt/log ROOT=/ ATTRS=x\n"


def test_what_fstab_lets_users_mount_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")
    monkeypatch.setattr(pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", 1004, 1, "", "/", "/")))
    allowed = allowed_by_fstab(_UTAB, _FSTAB)
    assert {point: how.user for point, how in allowed.points.items() if not how.movable} == {
        "/mnt/stick": SOMEBODY,
        "/mnt/own disk": SOMEBODY,
        "/mnt/image": 1004,
        "/mnt/any": SOMEBODY,
    }
    lines = "".join(
        f"{50 + at} 21 8:{at} / {point} rw,{options} - ext4 /dev/x rw\n"
        for at, (point, options) in enumerate(
            [
                ("/mnt/stick", "nosuid,nodev"),
                ("/mnt/data", "nosuid,nodev"),  # root mounts it when the machine starts
                ("/mnt/own\\040disk", "nosuid"),
                ("/mnt/image", "relatime"),  # with "suid" in fstab
                ("/mnt/log", "nosuid"),
                ("/mnt/stick", "relatime"),  # by root itself, with options of its own
                ("/mnt/any", "relatime"),
            ]
        )
    )
    found = mounted_by_users(lines, allowed, "/nonexistent")
    share = "60 21 0:60 / /mnt/image rw,relatime - cifs //s/x rw\n"
    assert mounted_by_users(share, allowed) == {}, "mounted by root, with the login at the server"
    somebody = [os.makedev(8, at) for at in (0, 2, 6)]
    assert found == {**dict.fromkeys(somebody, SOMEBODY), os.makedev(8, 3): 1004}


def _sysfs(folder: Path, number: str, place: str, **told: str) -> str:
    """What the kernel tells of a block device; ``told``: text by file, a slash as two underscores."""
    real = folder / place
    for name, text in told.items():
        path = real / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    real.mkdir(parents=True, exist_ok=True)
    (folder / "block").mkdir(exist_ok=True)
    (folder / "block" / number).symlink_to(real)
    return str(folder / "block")


def test_what_root_mounts_too_is_a_users_where_users_can_exchange_it(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.touch()
    image.chmod(0o666)
    for number, place, told in (
        ("8:1", "pci/usb3/3-1/sda/sda1", {}),
        ("8:2", "pci/host1/sdb", {"removable": "0"}),
        ("8:3", "pci/host2/sdc", {"removable": "1"}),
        ("7:1", "virtual/loop1", {"loop__backing_file": str(image)}),
        ("7:2", "virtual/loop2", {"loop__backing_file": "/etc/passwd"}),
        ("179:1", "mmc/mmc0:1/block/mmcblk0/mmcblk0p1", {"../../../type": "SD"}),
        ("253:1", "virtual/dm-1", {}),
    ):
        devices = _sysfs(tmp_path, number, place, **told)
    (tmp_path / "virtual/dm-1/slaves").mkdir()
    (tmp_path / "virtual/dm-1/slaves/sda1").symlink_to(tmp_path / "pci/usb3/3-1/sda/sda1")
    numbers = [tuple(map(int, one.name.split(":"))) for one in Path(devices).iterdir()]
    lines = "".join(
        f"5{at} 21 {one[0]}:{one[1]} / /m/{one[0]}-{one[1]} rw,nosuid - ext4 d rw\n" for at, one in enumerate(numbers)
    )
    fstab = "".join(f"d /m/{one[0]}-{one[1]} ext4 users 0 0\n" for one in numbers)
    found = mounted_by_users(lines, allowed_by_fstab("", fstab), devices)
    theirs = [(8, 1), (8, 3), (7, 1), (179, 1), (253, 1)]
    assert found == {os.makedev(*one): SOMEBODY for one in theirs}
    assert mounted_by_users(lines.replace(",nosuid", ""), allowed_by_fstab("", fstab), devices) == {}


def test_a_mount_counts_by_its_source_when_its_link_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "by-label").mkdir()
    (tmp_path / "by-label" / "my\\x20disk").symlink_to("/dev/sdq1")
    devices = _sysfs(tmp_path, "7:9", "virtual/loop9", loop__backing_file="/srv/img")
    lines = (
        "50 21 8:9 / /opt/a rw,nosuid - ext4 /dev/sdq1 rw\n51 21 7:9 / /opt/b rw,nosuid - ext4 /dev/loop9 rw\n"
        "52 21 8:8 / /opt/c rw,nosuid - ext4 /dev/sdr1 rw\n"
    )
    fstab = (
        'LABEL="my\\040disk" /home/u/a ext4 noauto,users\n/srv/img /home/u/b ext4 loop,noauto,users\n'
        "/dev/sdr1 /home/u/c ext4 noauto,users\n/dev/sdr1 /opt/c ext4 nosuid\n"
    )
    found = mounted_by_users(lines, allowed_by_fstab("", fstab, str(tmp_path)), devices)
    assert found == dict.fromkeys((os.makedev(8, 9), os.makedev(7, 9)), SOMEBODY)


def test_names_of_a_source_are_not_kept_from_telling_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of the device mapper; a file that was renamed once it was mounted; a server's share."""
    names = {"/dev/mapper/usb": "/dev/dm-7"}
    monkeypatch.setattr(os.path, "realpath", lambda path, real=os.path.realpath: names.get(path) or real(path))
    devices = _sysfs(tmp_path, "7:9", "virtual/loop9", loop__backing_file=f"{tmp_path}/gone (deleted)")
    _sysfs(tmp_path, "7:8", "virtual/loop8", loop__backing_file="/etc/passwd")
    lines = "".join(
        f"5{at} 21 {number} / /opt/{at} rw,nosuid - {kind} {source} rw\n"
        for at, (number, kind, source) in enumerate(
            (
                ("253:7", "ext4", "/dev/mapper/usb"),
                ("7:9", "ext4", "/dev/loop9"),
                ("7:8", "ext4", "/dev/loop8"),
                ("0:50", "nfs4", "srv:/x"),
            )
        )
    )
    fstab = "".join(f"{one} /home/u/{one[-1]} ext4 noauto,users\n" for one in ("/dev/mapper/usb", "/u/img", "srv:/x/"))
    found = mounted_by_users(lines, allowed_by_fstab("", fstab, str(tmp_path)), devices)
    assert found == dict.fromkeys(map(os.makedev, (253, 7, 0), (7, 9, 50)), SOMEBODY)


def test_who_mounted_is_read_with_the_mounts(tmp_path: Path) -> None:
    for name, text in (("mountinfo", "50 21 8:9 / /mnt/x rw,nosuid - ext4 d rw\n"), ("utab", _UTAB), ("fstab", "")):
        (tmp_path / name).write_text(text)
    mounts = UserMounts(*(str(tmp_path / name) for name in ("mountinfo", "utab", "fstab")))
    assert mounts.user(_status(os.makedev(8, 9)), "/") is None
    (tmp_path / "fstab").write_text("d /mnt/x ext4 group,noauto\n")
    mounts = UserMounts(*(str(tmp_path / name) for name in ("mountinfo", "utab", "fstab")))
    assert mounts.user(_status(os.makedev(8, 9)), "/") == SOMEBODY


def test_nothing_is_read_that_may_not_answer(tmp_path: Path) -> None:
    points = {
        "/": "nfs4",
        "/run": "fuse.stuck",
        "/run/mount": "tmpfs",
        "/srv": "nfs4",
        "/ntfs": "fuseblk",
        "/x": "ext4",
    }
    paths = ("/etc/fstab", "/run/utab", "/run/mount/utab", "/srv/a/b", "/ntfs/a", "/x/a", "/")
    assert [may_hang(path, points) for path in paths] == [False, True, True, True, True, False, False]
    os.mkfifo(tmp_path / "utab")
    (tmp_path / "fstab").write_text(f"d {tmp_path} ext4 group,noauto\n")
    for kind, user in (("fuse.stuck", None), ("ext4", SOMEBODY)):
        (tmp_path / "mountinfo").write_text(f"50 21 8:9 / {tmp_path} rw,nosuid - {kind} d rw,user_id=0\n")
        mounts = UserMounts(*(str(tmp_path / name) for name in ("mountinfo", "utab", "fstab")))
        assert mounts.user(_status(os.makedev(8, 9)), "/") == user


def test_who_ends_mount_before_it_notes_his_name_gains_nothing() -> None:
    """Tried: killed between mount(2) and its line in utab, nothing tells the user's mount from one of root."""
    fstab, line = "d /mnt/x ext4 noauto,user,exec\n", "50 21 8:9 / /mnt/x rw,nosuid - ext4 d rw\n"
    assert mounted_by_users(line, allowed_by_fstab("", fstab)) == {os.makedev(8, 9): SOMEBODY}
    by_root = "SRC=d TARGET=/mnt/x ROOT=/ OPTS=user\n"
    assert mounted_by_users(line, allowed_by_fstab(by_root, fstab)) == {}


def test_links_in_fstab_lead_to_the_mount_point(tmp_path: Path) -> None:
    for link, to in (("folder", "real"), ("disk", "real/disk")):
        (tmp_path / link).symlink_to(to)
    (tmp_path / "real" / "disk").mkdir(parents=True)
    line = f"50 21 8:9 / {tmp_path.resolve()}/real/disk rw,nosuid - ext4 d rw\n"
    for place in ("folder/disk", "disk", "real/disk"):
        allowed = allowed_by_fstab("", f"d {tmp_path}/{place} ext4 noauto,users\n")
        assert mounted_by_users(line, allowed) == {os.makedev(8, 9): SOMEBODY}


def test_no_link_is_followed_to_what_may_hang(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / "real" / "disk").mkdir(parents=True)
    (home / "link").symlink_to("real")
    (home / "round").symlink_to("round")
    disk = f"50 21 8:9 / {home}/real/disk rw,nosuid - ext4 d rw\n"
    for kind, expected in (("nfs4", {}), ("ext4", {os.makedev(8, 9): SOMEBODY})):
        lines = f"40 21 0:9 / {home}/real rw - {kind} d rw\n{disk}"
        allowed = allowed_by_fstab(
            "", f"d {home}/link/../link/disk ext4 noauto,users\nd {home}/round ext4 noauto,users\n"
        )
        assert mounted_by_users(lines, allowed) == {os.makedev(8, 9): SOMEBODY}, "a mount point is not looked at"
        allowed = allowed_by_fstab("", f"d {home}/link/./x/../disk ext4 noauto,users\n")
        assert mounted_by_users(lines, allowed) == expected, kind


def test_what_everything_is_on_is_nobodys_in_particular() -> None:
    """A rootless container: the file system of its root folder is a program of the user whose container it is."""
    line = "1 0 0:50 / / rw - fuse.fuse-overlayfs o rw,user_id=1000,group_id=1000,default_permissions\n"
    assert mounted_by_users(line) == mounted_by_users(line + line.replace(" / / ", " /x /y ")) == {}


@pytest.mark.parametrize("sign", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_the_kernels_end_of_a_line_is_one(tmp_path: Path, sign: str) -> None:
    told = tmp_path / "mountinfo"
    told.write_bytes(_LINES.replace("/tmp/x", f"/tmp/a{sign}b").encode())
    assert UserMounts(str(told)).user(_status(os.makedev(0, 39)), "/") == 1000


@pytest.mark.parametrize("line", ["", "a b", "1 2 x:y / /m rw - fuse f user_id=5", "1 2 0:9 / /m rw - fuse"])
def test_a_line_of_no_form_is_none(line: str) -> None:
    assert mounted_by_users(line) == {}


def test_a_system_without_the_file_has_none() -> None:
    assert UserMounts("/nonexistent").user(_status(5), "/") is None


def _status(device: int, mode: int = 0o100644) -> os.stat_result:
    return os.stat_result((mode, 1, device, 1, 0, 0, 0, 0, 0, 0))


_SUBVOLUMES = """\
21 1 0:99930 /@ / rw,relatime shared:1 - btrfs /dev/sda2 rw
22 21 0:99930 /@home /home rw,relatime shared:2 - btrfs /dev/sda2 rw
43 21 0:99940 / /run/media/ann/a\\040disk rw,nosuid,nodev,relatime shared:9 - btrfs /dev/loop3 rw
44 43 8:33 / /run/media/ann/a\\040disk/ours rw,relatime shared:9 - ext4 /dev/sdc1 rw
45 21 0:99940 /lib /opt/lib rw,relatime - btrfs /dev/loop3 rw
46 21 0:99939 / /srv/x rw,nosuid - fuse.x x rw,user_id=1000
"""


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/run/media/ann/a disk", SOMEBODY),
        ("/run/media/ann/a disk/sub/lib.so", SOMEBODY),
        ("/run/media/ann/a disk/ours/lib.so", None),
        ("/run/media/ann/a disks", None),
        ("/opt/lib/lib.so", SOMEBODY),
        ("/home/ann/lib.so", None),
        ("/usr/lib/lib.so", None),
    ],
)
def test_a_subvolume_is_of_the_mount_that_holds_it(tmp_path: Path, place: str, expected: int | None) -> None:
    """Its number stands nowhere in mountinfo: 42 in the report of Red Hat 711881."""
    told = tmp_path / "mountinfo"
    told.write_text(_SUBVOLUMES)
    mounts = UserMounts(str(told))
    assert mounts.user(_status(99942), place) == expected
    assert mounts.user(_status(os.makedev(8, 33)), place) is None, "a number that mountinfo tells needs no look"


def test_the_mount_is_asked_before_the_path(tmp_path: Path) -> None:
    """What a path leads to is on another mount than its words say, behind links and where one covers another."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        number = re.search(r"^mnt_id:\s+(\d+)", Path(f"/proc/self/fdinfo/{descriptor}").read_text(), re.MULTILINE)
        if number is None:
            pytest.skip("a kernel that does not tell")
        told = tmp_path / "mountinfo"
        told.write_text(f"{_SUBVOLUMES}{number[1]} 21 0:99940 / /run/media/ann/b rw,nosuid - btrfs /dev/loop3 rw\n")
        mounts = UserMounts(str(told))
        assert mounts.user(_status(1 << 40), descriptor) == SOMEBODY
        status = os.stat(tmp_path)
        assert mounts.user(status, tmp_path) == SOMEBODY
        (tmp_path / "link").symlink_to("/proc/self")
        assert mounts.user(os.lstat(tmp_path / "link"), tmp_path / "link") == SOMEBODY
        told.write_text(f"{_SUBVOLUMES}{number[1]} 21 0:99977 / /srv/y rw - btrfs /dev/loop4 rw\n")
        assert UserMounts(str(told)).user(status, tmp_path) is None
    finally:
        os.close(descriptor)


def test_what_is_mounted_in_a_folder_is_named(tmp_path: Path) -> None:
    told = tmp_path / "mountinfo"
    (tmp_path / "link").symlink_to("/run/media/ann")
    told.write_text(_SUBVOLUMES)
    mounts = UserMounts(str(told))
    assert mounts.names_in(str(tmp_path / "link")) == {"a disk"}
    assert mounts.names_in("/srv") == {"x"}
    assert mounts.names_in("/run/media/ann/a disk") == frozenset()


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mkfs.btrfs"), reason="root mounts an image of btrfs")
def test_the_subvolumes_of_a_users_image_are_not_roots(shared: Path) -> None:
    """As udisks mounts it, in a name space of its own: root's by its owners, and by the numbers on no mount at all."""
    program = """
import os, subprocess, sys
from rocdoctor.host.live import trust
from rocdoctor.host.live.trusted_content import doubtful_below, doubtful_in
def run(*words):
    done = subprocess.run(words, capture_output=True)
    if done.returncode:
        sys.exit(77)
image, real = sys.argv[1:]
run("mount", "--make-rprivate", "/")
run("mount", "-t", "tmpfs", "none", "/media")
folder = "/media/disk"
os.mkdir(folder)
run("mount", "-o", "loop,nosuid,nodev", image, folder)
run("btrfs", "subvolume", "create", folder + "/sub")
file = folder + "/sub/module.py"
open(file, "w").close()
os.mkdir(real + "/packages")
run("mount", "--bind", folder + "/sub", real + "/packages")
descriptor = os.open(file, os.O_RDONLY)
print(*trust.weaknesses(file)[-1:], sep=";")
print(trust.owner_of(os.fstat(descriptor), descriptor), trust.owner_of(os.stat(file), file))
print(*doubtful_below(real, set()), *doubtful_in(real))
"""
    image = shared / "image"
    with image.open("wb") as stream:
        stream.truncate(128 << 20)
    (shared / "real").mkdir()
    subprocess.run(["mkfs.btrfs", "-q", str(image)], capture_output=True, check=True, timeout=60)
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", program, str(image), str(shared / "real")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 77:
        pytest.skip("no btrfs here")
    words = "/media/disk/sub/module.py is on a disk that a user may have mounted"
    inside = shared / "real" / "packages"
    assert done.stdout.splitlines() == [words, "-1 -1", f"{inside} {inside}"], done.stderr


_CLAIMED = """
import ctypes, os, sys
from rocdoctor.host.live import trust
library = ctypes.CDLL(None, use_errno=True)
folder = sys.argv[1]
assert trust.weaknesses(folder) == [], trust.weaknesses(folder)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=65534,group_id=65534,allow_other".encode()
if library.mount(b"none", b"/", None, 0x4000 | 0x40000, None) or library.mount(
    b"claimed", folder.encode(), b"fuse.claimed", 0, options
):
    sys.exit(77)
for pid in [os.fork()]:
    if not pid:  # a program of the user that claims to have files of root
        import struct
        while True:
            asked = os.read(fuse, 1 << 17)
            operation, number = struct.unpack("<4xIQ", asked[:16])
            if operation == 26:
                answer = struct.pack("<IIIIHHI", 7, 19, 65536, 0, 12, 10, 65536)
            elif operation in (1, 3):
                one = struct.pack("<QQQQQQIIIIIIIIII", 1, 0, 0, *[0] * 6, 0o40755, 2, 0, 0, 0, 4096, 0)
                head = struct.pack("<QQQQII", 2, 0, 1, 1, 0, 0) if operation == 1 else struct.pack("<QII", 1, 0, 0)
                answer = head + one
            else:
                answer = b""
            if operation not in (2, 42):
                os.write(fuse, struct.pack("<IiQ", 16 + len(answer), 0 if answer else -38, number) + answer)
    import signal
    signal.alarm(30)
    print(os.lstat(folder).st_uid, *trust.weaknesses(folder))
    os.kill(pid, signal.SIGKILL)
"""


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="root mounts in a name space of its own")
def test_a_file_system_that_claims_to_be_roots_is_its_users(shared: Path) -> None:
    folder = shared / "mounted"
    folder.mkdir()
    program = textwrap.dedent(_CLAIMED)
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", program, str(folder)], capture_output=True, text=True, timeout=60
    )
    if done.returncode == 77 or "/dev/fuse" in done.stderr:
        pytest.skip("no FUSE here")
    assert done.stdout.strip() == f"0 {folder} is on a file system that user 65534 mounted", done.stderr
