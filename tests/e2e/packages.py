# SPDX-License-Identifier: MIT
"""The package as packaging/build-deb makes it, a later version of it, and an archive of packages."""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

import machine
from machine import must

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SOURCES = ("CMakeLists.txt", "README.md", "bpf", "common", "daemon", "client", "systemd", "packaging")


def newest_source():
    newest = 0
    for top in SOURCES:
        path = os.path.join(ROOT, top)
        newest = max(newest, os.stat(path).st_mtime)
        for folder, _, files in os.walk(path):
            newest = max([newest, *(os.lstat(os.path.join(folder, f)).st_mtime for f in files)])
    return newest


@contextlib.contextmanager
def lock_folder(folder):
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def cached(temporary):
    """Has cmake take from ccache what was compiled below another such folder. debhelper gives the
    build another home, where no cache is."""
    return {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": os.path.realpath(temporary),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_DIR": must("ccache", "--get-config", "cache_dir").strip()}


def build_deb(folder, temporary, anew=False):
    """Returns what it prints."""
    shutil.rmtree(folder, ignore_errors=True)
    return must(os.path.join(ROOT, "packaging", "build-deb"), "--output", folder, timeout=500,
                env={**os.environ, **({} if anew else cached(temporary)), "TMPDIR": temporary})


def make(folder, temporary, anew=False):
    """Builds into @folder, by way of a folder below @temporary, with all compiled @anew or not.
    Returns all that came of it, and what was printed."""
    with lock_folder(folder):
        printed = build_deb(folder, temporary, anew)
    return sorted(glob.glob(os.path.join(folder, "*.deb"))), printed


def package(build):
    """The package of this tree, below the folder @build; made unless it is there and up to date, or
    being made."""
    folder = os.path.join(build, "deb")
    with lock_folder(folder):
        found = glob.glob(os.path.join(folder, "profd_*.deb"))
        if not found or os.stat(found[0]).st_ctime < newest_source():
            with tempfile.TemporaryDirectory() as temporary:
                build_deb(folder, temporary)
            found = glob.glob(os.path.join(folder, "profd_*.deb"))
    return found[0]


def library(deb):
    """The library's packages, which lie beside @deb."""
    return sorted(glob.glob(os.path.join(os.path.dirname(deb), "libprofd[-0]*_*.deb")))


def field(deb, name):
    return must("dpkg-deb", "--field", deb, name).strip()


def later(deb, folder):
    """Its next version, in which the configuration as shipped differs. Returns its path."""
    version = field(deb, "Version") + "+1"
    work = os.path.join(folder, "unpacked")
    must("dpkg-deb", "--raw-extract", deb, work)
    control = os.path.join(work, "DEBIAN", "control")
    with open(control, encoding="utf-8") as f:
        text = re.sub(r"(?m)^Version: .*$", f"Version: {version}", f.read())
    with open(control, "w", encoding="utf-8") as f:
        f.write(text)
    with open(os.path.join(work, "etc/profd/profd.conf"), "a", encoding="utf-8") as f:
        f.write("# A later version.\n")
    path = os.path.join(folder, f"profd_{version}_{field(deb, 'Architecture')}.deb")
    must("dpkg-deb", "--root-owner-group", "--build", work, path)
    shutil.rmtree(work)
    return path


def dependencies(deb, base, *more):
    """A folder with the packages that apt would install with @deb, and @more, in @base; kept between
    runs."""
    key = hashlib.sha256(" ".join([field(deb, "Depends"), *more]).encode()).hexdigest()[:12]
    folder = f"{base}.debs-{key}"
    with machine.making(folder) as half:
        if half:
            os.mkdir(os.path.join(half, "partial"))
            must("apt-get", "--quiet", "--yes", "--download-only", "--no-install-recommends",
                 "-o", f"Dir::State::status={base}/var/lib/dpkg/status",
                 "-o", f"Dir::Cache::archives={half}", "-o", "APT::Sandbox::User=",
                 "-o", "Acquire::Retries=3", "install", deb, *more, timeout=300)
    return folder


def archive(folder, files):
    """Makes @folder one of apt's, with these packages."""
    os.makedirs(folder, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)
    with open(os.path.join(folder, "Packages"), "w", encoding="utf-8") as f:
        subprocess.check_call(["dpkg-scanpackages", "--multiversion", "."], cwd=folder, stdout=f,
                              stderr=subprocess.DEVNULL)
