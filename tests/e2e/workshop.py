# SPDX-License-Identifier: MIT
"""Another release of Debian than this host's, in which its packages are built: a chroot, thrown
away afterwards. What it begins with, a machine's base and what packaging/dependencies names, is
made once and kept. Its mounts are in this process' namespace (machine.enter_namespace).
"""
import glob
import hashlib
import os
import shutil
import tempfile

import machine
import packages
from machine import PATH, must

NO_QUESTIONS = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}


def enter(root, *command, timeout=120):
    """Runs @command in @root, with the network and the proxy of ours."""
    settings = {**NO_QUESTIONS, "PATH": PATH}
    settings |= {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
    return must("chroot", root, "env", "-i", *(f"{k}={v}" for k, v in settings.items()), *command,
                timeout=timeout)


def apt(root, *arguments, timeout=300):
    return enter(root, "apt-get", "--quiet", "--yes", "--no-install-recommends",
                 "-o", "Acquire::Retries=3", "-o", "APT::Sandbox::User=", *arguments,
                 timeout=timeout)


def tools(base):
    """A folder with @base and the packages that the build takes, made if it is not there."""
    lists = b""
    for name in ("build", "deb"):
        pattern = os.path.join(packages.ROOT, "packaging", f"dependencies-{name}*")
        for path in sorted(glob.glob(pattern)):
            with open(path, "rb") as f:
                lists += f.read()
    root = f"{base}.tools-{hashlib.sha256(lists).hexdigest()[:12]}"
    with machine.making(root) as half:
        if half:
            must("cp", "-a", f"{base}/.", half, timeout=300)
            for file in ("/etc/resolv.conf", "/etc/hosts"):
                shutil.copy(file, half + file)
            shutil.copytree(os.path.join(packages.ROOT, "packaging"), half + "/packaging")
            must("mount", "-t", "proc", "proc", f"{half}/proc")
            try:
                wanted = enter(half, "/packaging/dependencies", "build", "deb").split()
                apt(half, "update")
                apt(half, "install", *wanted, timeout=500)
            finally:
                must("umount", "--lazy", f"{half}/proc")
    return root


class Workshop:
    """Of the release whose machines start from @base."""

    def __init__(self, base):
        self.base = base
        lower = tools(base)
        self.work = tempfile.mkdtemp(prefix="profd-workshop-")
        self.root = os.path.join(self.work, "root")
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.work)
        for folder in ("root", "upper", "work"):
            os.mkdir(os.path.join(self.work, folder))
        must("mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={self.work}/upper,"
             f"workdir={self.work}/work", "overlay", self.root)
        must("mount", "-t", "proc", "proc", f"{self.root}/proc")
        os.mkdir(f"{self.root}/tree")
        must("mount", "--bind", packages.ROOT, f"{self.root}/tree")

    def make(self, folder):
        """Builds the packages of this tree into @folder."""
        enter(self.root, "/tree/packaging/build-deb", "--output", "/made", timeout=550)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(f"{self.root}/made", folder)

    def package(self, folder):
        """profd's in @folder, made unless it is there and up to date."""
        found = glob.glob(os.path.join(folder, "profd_*.deb"))
        if not found or os.stat(found[0]).st_ctime < packages.newest_source():
            self.make(folder)
            found = glob.glob(os.path.join(folder, "profd_*.deb"))
        return found[0]

    def dependencies(self, deb):
        """As packages.dependencies, by this release's apt."""
        shutil.copy(deb, f"{self.root}/profd.deb")
        shutil.copy(f"{self.base}/var/lib/dpkg/status", f"{self.root}/status")
        os.makedirs(f"{self.root}/depends/partial")
        apt(self.root, "--download-only", "-o", "Dir::State::status=/status",
            "-o", "Dir::Cache::archives=/depends", "install", "/profd.deb")
        return glob.glob(f"{self.root}/depends/*.deb")

    def close(self):
        must("umount", "--lazy", "--recursive", self.root)
        must("umount", "--lazy", self.work)
        os.rmdir(self.work)
