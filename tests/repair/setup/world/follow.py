"""A person who follows a plan: each command of a step changes the state as it would change a real machine.

A command that this person does not know fails the test: no step may pass because nobody looked at its commands.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

from rocdoctor.repair.setup.plan import Action, Step
from tests.machines.python import CPU_TORCH, CUDA_ARCHES, ROCM_ARCHES, Torch
from tests.repair.setup.world.box import GIDS, Box, State

# Commands that prepare others, look, or take something away that nothing here depends on.
_WITHOUT_EFFECT = (
    ("apt", "update"),
    ("apt-get", "update"),
    ("apt", "clean"),
    ("dnf", "clean"),
    ("zypper", "refresh"),
    ("curl",),
    ("gpg",),
    ("install", "-d"),
    ("rpm", "--import"),
    ("subscription-manager",),
    ("crb",),
    ("SUSEConnect",),
    ("dnf", "config-manager"),
    ("update-initramfs",),
    ("dracut",),
    ("depmod",),
    ("ldconfig",),
    ("rocdoctor",),
    ("mkdir",),
    ("udevadm",),
    ("dpkg", "--configure"),
    ("wget",),
    ("chmod",),
    ("usermod", "--help"),
    ("systemctl", "daemon-reload"),
)
# What meta packages of kernels bring: the kernel that the next start takes.
_KERNELS = {
    "linux-generic-hwe-24.04": "7.0.0-29-generic",
    "linux-generic-hwe-22.04": "6.8.0-71-generic",
    "linux-image-generic-hwe-22.04": "6.8.0-71-generic",
    "linux-oem-24.04": "6.11.0-1020-oem",
    "linux-oem-24.04c": "6.14.0-1010-oem",
    "linux-image-generic-hwe-24.04": "7.0.0-29-generic",
    "linux-image-amd64 of backports": "7.3.4+deb13-amd64",
    "kernel of fedora": "6.19.14-100.fc42.x86_64",
    "linux of arch": "7.1.2-arch1-1",
}
_AKMODS_KEY = "/etc/pki/akmods/certs/public_key.der"
# Packages whose program is what a plan looks for.
_PROGRAMS = {
    "podman": "/usr/bin/podman",
    "docker.io": "/usr/bin/docker",
    "nvidia-container-toolkit": "/usr/bin/nvidia-ctk",
    "ibverbs-utils": "/usr/bin/ibv_devinfo",
    "libibverbs-utils": "/usr/bin/ibv_devinfo",
}


class Person:
    """Someone at the machine; ``state`` is what they have done so far."""

    def __init__(self, box: Box, state: State) -> None:
        self.box = box
        self.state = state.copy()
        self._key_asked = False
        self.restarted = False  # since something was last done
        if box.os.id in ("ubuntu", "debian", "linuxmint"):
            line = f'GRUB_CMDLINE_LINUX_DEFAULT="{state.cmdline or "quiet splash"}"\n'
            self.state.texts.setdefault("/etc/default/grub", line)

    def do(self, step: Step) -> None:
        """All commands of a step, then the login that it asks for (a restart is a step of its own)."""
        self.restarted = False
        for action in step.actions:
            self.act(action)
        if not step.actions:
            self._by_hand(step)
        if step.effective == "new-login":
            self.login()

    def _by_hand(self, step: Step) -> None:
        """What a step asks of a person in words: here only to take a variable out of the file that sets it."""
        name = step.id.removeprefix("unset-").replace("-", "_").upper()
        assert step.risk == "manual" and name in self.state.env, f"nobody here knows how to do: {step.title}"
        for path in self.state.texts:
            lines = self.state.texts[path].splitlines(keepends=True)
            self.state.texts[path] = "".join(line for line in lines if f"{name}=" not in line)

    def login(self) -> None:
        """A new session, with the environment of the interpreter activated: groups and variables are read anew."""
        self.state.session = self.state.member
        settings = re.compile(r"^(?:export )?([A-Z_]+)=(\S*)$", re.MULTILINE)
        places = (".bashrc", ".profile", "/etc/environment", "/bin/activate", "environment.d/", "/etc/profile.d/")
        texts = [text for path, text in self.state.texts.items() if any(place in path for place in places)]
        self.state.env = {name: value for text in texts for name, value in settings.findall(text)}

    def restart(self) -> None:
        """The next start: its kernel, its parameters, the modules that it finds, and a new session."""
        state = self.state
        self.restarted = True
        if "ppfeaturemask" not in (state.next_cmdline or state.cmdline):  # for which newer kernels mark themselves
            state.texts.pop("/proc/sys/kernel/tainted", None)
        state.kernel = state.next_kernel or state.kernel
        state.cmdline = state.next_cmdline or state.cmdline
        state.key_enrolled = state.key_enrolled or self._key_asked
        signed = not state.secure_boot or state.key_enrolled
        mine = {"amdgpu", "nvidia"} & set(state.built)
        if mine and state.built_for == state.kernel:
            state.driver = signed
            state.driver_release = state.built[mine.pop()] if signed else ""
        elif any(
            name.startswith("akmod-nvidia") for name in state.packages
        ):  # its service builds where no module is there
            assert not state.secure_boot or _AKMODS_KEY in state.texts, "the module has no signature"
            state.driver, state.driver_release = signed, "580.142" if signed else ""
        elif not state.built and self.box.amd:
            state.driver = kernel_has(state.kernel)
        self.login()

    def act(self, action: Action) -> None:
        """One command or file."""
        if action.file:
            self._write(action)
            return
        words = list(action.words)
        self._program = words[0]
        while words and re.fullmatch(r"(sudo|env|[A-Z_]+=\S*)", words[0]):
            words.pop(0)
        if any(tuple(words[: len(known)]) == known for known in _WITHOUT_EFFECT):
            return
        effect = getattr(self, "_" + re.sub(r"[^a-z]", "_", words[0].rsplit("/", 1)[-1].rstrip("0123456789.")), None)
        assert effect is not None, f"nobody here knows the command: {action.command}"
        effect(words[1:])

    # -- files

    def _write(self, action: Action) -> None:
        text = "\n".join(action.lines) + "\n"
        before = self.state.texts.get(action.file, "") if action.append else ""
        self.state.texts[action.file] = before + text

    def _sed(self, words: list[str]) -> None:
        """The real program, on the text of the file."""
        assert words[0] == "-i" and len(words) == 3, words
        text = self.state.texts[words[2]]
        done = subprocess.run(["sed", words[1]], input=text, capture_output=True, text=True, check=True)
        self.state.texts[words[2]] = done.stdout

    def _rm(self, words: list[str]) -> None:
        for path in words:
            if not path.startswith("-"):
                self.state.texts.pop(path, None)

    def _update_grub(self, words: list[str]) -> None:
        """The boot menu as its scripts make it: the settings are shell, and drop-in files follow the main one."""
        paths = ["/etc/default/grub", *sorted(path for path in self.state.texts if "/etc/default/grub.d/" in path)]
        script = "\n".join(self.state.texts[path] for path in paths) + '\nprintf %s "$GRUB_CMDLINE_LINUX_DEFAULT"'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        self.state.next_cmdline = done.stdout.strip() or "quiet"

    def _grubby(self, words: list[str]) -> None:
        before = (self.state.next_cmdline or self.state.cmdline or "quiet").split()
        for word in words:
            if word.startswith("--args="):
                before.append(word.removeprefix("--args="))
            elif word.startswith("--remove-args="):
                gone = word.removeprefix("--remove-args=")
                before = [one for one in before if one != gone and one.split("=")[0] != gone]
        self.state.next_cmdline = " ".join(before)

    def _sysctl(self, words: list[str]) -> None:
        lines = self.state.texts[words[1]].splitlines() if words[0] == "-p" else words[1:]
        for line in lines:
            name, value = (part.strip() for part in line.split("="))
            self.state.texts["/proc/sys/" + name.replace(".", "/")] = value

    # -- accounts

    def _usermod(self, words: list[str]) -> None:
        groups = words[words.index("-G") + 1] if "-G" in words else words[words.index("-aG") + 1]
        assert "-a" in words or "-aG" in words, "without -a the user would lose all other groups"
        assert set(groups.split(",")) <= set(GIDS), f"no such group: {groups}"
        assert not self.state.directory, "usermod: the user does not exist in /etc/passwd"
        self.state.member |= set(groups.split(","))

    # -- packages

    def _apt(self, words: list[str]) -> None:
        verb, *names = [word for word in words if not word.startswith("-")]
        if "--target-release=trixie-backports" in words:
            names = [f"{name} of backports" if name == "linux-image-amd64" else name for name in names]
        if verb == "upgrade" and names == ["kernel"]:
            verb, names = "install", ["kernel of fedora"]
        if verb == "refresh":
            return
        if verb == "module":  # dnf: a stream of a module names its packages
            verb, *names = names
            if verb in ("enable", "reset"):  # which stream counts from now on
                return
        if verb == "install":
            for name in names:
                self._installed(name)
        else:
            assert verb in ("remove", "purge", "autoremove"), words
            for name in names:
                self.state.packages.pop(name, None)

    _apt_get = _dnf = _zypper = _apt

    def _pacman(self, words: list[str]) -> None:
        assert words[0].startswith("-S"), words
        if "u" in words[0]:
            self._installed("linux of arch")
        for name in words[1:]:
            if not name.startswith("-"):
                self._installed(name)

    def _installed(self, name: str) -> None:
        state = self.state
        state.packages[name] = "1.0-1"
        if name in _PROGRAMS:
            state.texts[_PROGRAMS[name]] = ""
        if name in _KERNELS:
            state.next_kernel = _KERNELS[name]
        elif name == "amdgpu-dkms":
            kernel = state.next_kernel or state.kernel
            self._build("amdgpu", "6.16.13", kernel)
        elif name.startswith("nvidia-driver-pinning"):  # a preference of apt
            return
        elif name.endswith("-kmp-meta") or (self.box.os.id == "arch" and re.match(r"nvidia-open(-lts)?$", name)):
            # made by the distribution, for the kernel that starts next
            state.built, state.built_for = {"nvidia": "595.58.03"}, state.next_kernel or state.kernel
            state.key_enrolled = state.key_enrolled or "-signed-" in name
        elif re.match(r"nvidia-(open|driver|dkms)|cuda-drivers|kmod-nvidia", name):
            self._build("nvidia", "580.82.07", state.next_kernel or state.kernel)
        elif found := re.match(r"amdrocm(\d+\.\d+)", name):
            state.rocm = f"{found[1]}.0"
        elif name in ("rocm", "rocm-hip-libraries", "rocm-hip-sdk", "rocm-hip-runtime", "rocm-dev"):
            state.rocm = state.rocm or "7.2.0"

    def _build(self, module: str, release: str, kernel: str) -> None:
        """What DKMS does: it needs the headers of that very kernel, or a package that always has the newest."""
        headers = {f"{name}-{kernel}" for name in ("linux-headers", "kernel-devel", "kernel-headers")}
        headers |= {"linux-headers-generic", "kernel-devel-matched"}
        packages = set(self.state.packages)
        # these are of the newest kernel of the archive, which has to be there to start next
        pairs = (("linux-image-amd64", "linux-headers-amd64"), ("kernel-default", "kernel-default-devel"))
        headers |= {devel for image, devel in pairs if image in packages}
        assert headers & packages, f"the module cannot be built: no headers of {kernel}"
        self.state.built, self.state.built_for = {module: release}, kernel

    def _ubuntu_drivers(self, words: list[str]) -> None:
        """Ubuntu's own choice: a driver whose modules the archive has built and signed."""
        assert words == ["install"] or words[:2] == ["install", "--gpgpu"], words
        assert not words[2:] or re.fullmatch(r"nvidia:\d{3}-server(-open)?", words[2]), words
        self.state.built, self.state.built_for = {"nvidia": "580.82.07"}, self.state.kernel
        self.state.key_enrolled = True

    # -- the kernel

    def _modprobe(self, words: list[str]) -> None:
        if words[0] != "-r":
            state = self.state
            assert kernel_has(state.kernel), f"{state.kernel} has no such module"
            if words[0] in state.built:
                assert state.built_for == state.kernel, f"{words[0]} was built for {state.built_for}"
                assert not state.secure_boot or state.key_enrolled, "Secure Boot refuses the module: its key is missing"
                state.driver_release = state.built[words[0]]
            state.driver = True

    def _kmodgenca(self, words: list[str]) -> None:
        assert words == ["-a"] and "akmods" in self.state.packages, words
        self.state.texts[_AKMODS_KEY] = ""

    def _mokutil(self, words: list[str]) -> None:
        assert words[0] == "--import"
        assert "akmods" not in words[1] or words[1] in self.state.texts, f"no key at {words[1]}"
        self._key_asked = True

    def _systemctl(self, words: list[str]) -> None:
        if words == ["reboot"]:
            self.restart()

    def _reboot(self, words: list[str]) -> None:
        self.restart()

    # -- Python

    def _python(self, words: list[str]) -> None:
        if words[:2] == ["-m", "venv"]:
            path = words[-1].replace("~", "/home/user").replace("$HOME", "/home/user")
            if found := re.search(r"python(3\.\d+)", self._program):
                self.state.python = f"{found[1]}.9"
            self.state.venv, self.state.torch = path if path.startswith("/") else f"/home/user/{path}", None
            return
        assert words[:2] == ["-m", "pip"], words
        self._pip(words[2:])

    def _pip(self, words: list[str]) -> None:
        names = [re.split(r"[=<>\[]", word)[0] for word in words[1:] if not word.startswith("-")]
        if words[0] == "uninstall":
            if "torch" in names:
                self.state.torch = None
            return
        assert words[0] == "install", words
        if "torch" not in names:
            return
        index = words[words.index("--index-url") + 1] if "--index-url" in words else ""
        self.state.torch = torch_from(index, " ".join(words))


def kernel_has(kernel: str) -> bool:
    """Whether the package of the kernel, as these machines have it, holds a module of its own."""
    return not kernel.endswith("-minimal")


def torch_from(index: str, words: str) -> Torch:
    """The build that an index gives for what pip was told."""
    if "/cpu" in index:
        return CPU_TORCH
    if found := re.search(r"/cu(\d+)(\d)\b", index):
        older = found[0] == "/cu126"  # the last flavour with code for GPUs before Turing
        arches = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90") if older else CUDA_ARCHES
        return Torch(f"2.11.0+cu{found[1]}{found[2]}", None, f"{found[1]}.{found[2]}", arches)
    if "repo.amd.com/rocm/whl" in index:
        # AMD's index has a package of device code for each target
        version = re.search(r"torch\[[^]]*\]==([^ ]+)", words)
        targets = re.findall(r"device-(gfx\w+)", words)
        assert version is not None and targets, words
        return Torch(version[1], "7.15.26333-0000000", None, tuple(dict.fromkeys(targets)))
    if found := re.search(r"/rocm(\d+\.\d+)", index):
        return Torch(
            f"2.11.0+rocm{found[1]}",
            f"{found[1]}.53211-e1a6bc5663",
            None,
            (*ROCM_ARCHES, "gfx1103") if found[1] == "7.2" else ROCM_ARCHES,
            (("torchvision", f"0.26.0+rocm{found[1]}"), ("triton-rocm", "3.6.0")),
        )
    raise AssertionError(f"nobody knows the index: {index}")


def finished(person: Person) -> State:
    """What the person has made of the machine."""
    return replace(person.state)
