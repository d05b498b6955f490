# SPDX-License-Identifier: MIT
"""A Debian on Debian's own kernel, thrown away afterwards: qemu, without KVM.

It boots what machine.Machine would, from an image of it, on a disk that this kernel knows by itself
(NVMe, ext4): there is no initrd. Of its two serial lines one is the console; on the other a service
takes our commands, one at a time. Files leave it by way of a second disk, which is a tar: to a
serial line each byte is work. Its clock counts instructions, 8 ns each, much as in support/in-qemu,
so no timer is late because this host was busy: what fails there fails on a slow machine, not on a
loaded one. Unlike there it does not leap when there is nothing to do: what it waits for may be us.
"""
import base64
import os
import shlex
import socket
import subprocess
import tarfile
import time

from machine import PATH, Machine, must

IN_QEMU = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "in-qemu")
LINE = "/dev/ttyS1"
DISK = "/dev/nvme0n1"
OUT = "/dev/nvme0n2"
OUT_SIZE = 256 << 20
DISK_SIZE = "1500M"
MEMORY_MIB = 1024
# There is no udev: systemd would wait for the console to appear.
PARAMETERS = ("console=ttyS0", f"root={DISK}", "rw", "rootwait", "panic=-1", "nowatchdog",
              "systemd.getty_auto=no")
# A command is a line, in base 64; answered by status and lengths, then output and errors.
SERVANT = f"""#!/bin/sh
stty -F {LINE} raw -echo
exec 3<>{LINE}
echo ready >&3
while read -r line <&3; do
	sh -c "$(echo "$line" | base64 -d)" >out 2>errors </dev/null 3<&-
	echo $? $(stat -c %s out errors) >&3
	cat out errors >&3
done
"""
SERVICE = f"""[Unit]
Description=Takes commands from outside
[Service]
ExecStart=/usr/local/sbin/servant
RuntimeDirectory=servant
WorkingDirectory=/run/servant
Environment=PATH={PATH}
[Install]
WantedBy=multi-user.target
"""


class Line:
    """Our end of the servant's line."""

    def __init__(self, path, end):
        self.socket, self.pending = socket.socket(socket.AF_UNIX), b""
        while True:
            try:
                self.socket.connect(path)
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def until(self, end):
        self.socket.settimeout(max(end - time.monotonic(), 0.001))
        return self.socket

    def send(self, data, end):
        self.until(end).sendall(data)

    def receive(self, end):
        data = self.until(end).recv(1 << 16)
        if not data:
            raise ConnectionResetError("the machine is gone")
        self.pending += data

    def read(self, length, end):
        while len(self.pending) < length:
            self.receive(end)
        data, self.pending = self.pending[:length], self.pending[length:]
        return data

    def read_until(self, mark, end):
        """@mark included."""
        while mark not in self.pending:
            self.receive(end)
        return self.read(self.pending.index(mark) + len(mark), end)


class Emulated(Machine):
    """As Machine. What is written before boot() is on the disk; later, path() is what was."""

    patience = 10

    def __init__(self, build, base=None):
        super().__init__(build, base)
        self.qemu = self.line = None
        self.outlet = os.path.join(self.work, "out")
        self.fetched = os.path.join(self.work, "fetched")
        self.write("/usr/local/sbin/servant", SERVANT)
        os.chmod(self.path("/usr/local/sbin/servant"), 0o755)
        self.write("/etc/systemd/system/servant.service", SERVICE)
        wants = self.path("/etc/systemd/system/multi-user.target.wants")
        os.symlink("/etc/systemd/system/servant.service", f"{wants}/servant.service")

    def prepare(self, *command):
        """In the machine before it boots, at our speed."""
        must("chroot", self.root, "env", "-i", f"PATH={PATH}", *command)

    def boot(self, seconds=1000):
        disk, line = os.path.join(self.work, "disk"), os.path.join(self.work, "line")
        kernel = must(IN_QEMU, "--kernel").strip()
        with open(self.outlet, "wb") as f:
            f.truncate(OUT_SIZE)
        must("mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", self.root, "-E",
             "lazy_itable_init=1,lazy_journal_init=1", disk, DISK_SIZE)
        self.qemu = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg", "-icount", "shift=3", "-smp", "1",
             "-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none",
             "-no-reboot", "-kernel", kernel, "-append", " ".join(PARAMETERS),
             "-drive", f"file={disk},format=raw,if=none,id=disk,cache=unsafe",
             "-drive", f"file={self.outlet},format=raw,if=none,id=out,cache=unsafe",
             "-device", "nvme,id=nvme,serial=1",
             "-device", "nvme-ns,bus=nvme,nsid=1,drive=disk",
             "-device", "nvme-ns,bus=nvme,nsid=2,drive=out",
             "-chardev", f"file,id=console,path={self.log}", "-serial", "chardev:console",
             "-chardev", f"socket,id=line,path={line},server=on,wait=off",
             "-serial", "chardev:line"],
            stdin=subprocess.DEVNULL, preexec_fn=self.die_with_parent)
        end = time.monotonic() + seconds
        try:
            self.line = Line(line, end)
            while self.line.read_until(b"\n", end) != b"ready\n":
                pass
            while self.out("systemctl", "is-system-running") not in ("running", "degraded"):
                if time.monotonic() > end:
                    raise TimeoutError("systemd is not done")
                time.sleep(1)
        except OSError as error:
            raise RuntimeError(f"does not boot: {error}: {self.console()}") from error

    def run(self, *command, timeout=60):
        """As root in the machine, in the unit of its servant."""
        end = time.monotonic() + timeout * self.patience
        self.line.send(base64.b64encode(shlex.join(command).encode()) + b"\n", end)
        status, *lengths = map(int, self.line.read_until(b"\n", end).split())
        texts = (self.line.read(length, end).decode(errors="replace") for length in lengths)
        return subprocess.CompletedProcess(command, status, *texts)

    def files(self, pattern):
        return self.out("sh", "-c", f"ls -d {pattern}").split()

    def fetch(self, files):
        files = list(files)
        done = self.run("sh", "-c", f'tar -c -P -f {OUT} "$@" && sync {OUT}', "-", *files)
        if done.returncode:
            raise RuntimeError(f"tar: {done.stderr}")
        with tarfile.open(self.outlet, "r:") as archive:
            for member in archive:
                member.name = member.name.lstrip("/")
                archive.extract(member, self.fetched)
        return [self.fetched + file for file in files]

    def kernel_symbols(self):
        self.run("cp", "/proc/kallsyms", "/run/kallsyms")
        return self.fetch(["/run/kallsyms"])[0]

    def close(self):
        try:
            if self.qemu:
                self.qemu.kill()
                self.qemu.wait()
        finally:
            super().close()
