# SPDX-License-Identifier: MIT
"""A Debian that boots systemd, thrown away afterwards: systemd-nspawn over an overlay.

What it boots from is made once by debootstrap and kept in a folder for all runs, CACHE. All mounts
lie in a mount namespace of this process and end with it; the cgroups, two of our own in which PID 1
finds itself, are removed by close(). The host's /proc lies in /hostproc. The machine has a pid
namespace of its own, which is all that its profd samples.
"""
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or "/var/cache", "profd-tests")
BASE = ["systemd", "systemd-sysv", "dbus", "procps", "python3-minimal"]
# Where the kernel's controllers are mounted apart (version 1), systemd has a tree of its own.
TREES = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def release(key):
    """What /etc/os-release says about this host."""
    with open("/etc/os-release", encoding="utf-8") as f:
        return re.search(rf'(?m)^{key}="?([^"\n]*)', f.read())[1]


SUITE = release("VERSION_CODENAME")


def enter_namespace(*more):
    """Starts this script again where mounts are its own, and what unshare(1) makes of @more."""
    before, here = os.environ.pop("E2E_NAMESPACE", None), os.readlink("/proc/self/ns/mnt")
    if before and before != here:
        return
    os.environ["E2E_NAMESPACE"] = here
    os.execvp("unshare", ["unshare", "--mount", "--fork", "--kill-child", "--propagation",
                          "private", *more, sys.executable, *sys.argv])


def call(*command, timeout=120, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                          timeout=timeout, **options)


def must(*command, **options):
    done = call(*command, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def mirror():
    """The one from which apt takes this host's SUITE. It has the others, too."""
    lines = must("apt-get", "indextargets", "--format", "$(CODENAME) $(SUITE) $(REPO_URI)",
                 "Created-By: Packages")
    for line in lines.splitlines():
        codename, _, uri = line.split()
        if codename == SUITE:
            return uri
    raise RuntimeError(f"apt takes no {SUITE} from anywhere: add it to its sources")


def libraries(build):
    """The packages of the libraries that the programs need."""
    files = set()
    for program in glob.glob(os.path.join(build, "bin", "*")):
        files |= set(re.findall(r"=> (/\S+)", must("ldd", program)))
    packages = set()
    for file in files:
        # dpkg knows some by their name before /lib became /usr/lib.
        for name in (file, os.path.realpath(file), file.removeprefix("/usr")):
            done = call("dpkg-query", "-S", name)
            if done.returncode == 0:
                packages.add(done.stdout.split(":")[0])
                break
        else:
            raise RuntimeError(f"no package has {file}")
    return sorted(packages)


def base_system(packages, suite=SUITE):
    """The folder of one with these packages and what BASE says, made if it is not there."""
    packages = BASE + packages
    number = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    return bootstrap(os.path.join(CACHE, f"{suite}-{number}"), packages, suite)


def slim_system():
    """The folder of one as Debian's images have it, made if it is not there: it does not boot."""
    return bootstrap(os.path.join(CACHE, f"{SUITE}-slim"), [], SUITE)


def bootstrap(root, packages, suite):
    include = [f"--include={','.join(packages)}"] if packages else []
    with making(root) as half:
        if half:
            must("debootstrap", "--variant=minbase", *include, suite, half, mirror(), timeout=500)
    return root


@contextlib.contextmanager
def making(folder):
    """Gives what becomes @folder, which is kept between runs, in the end; None: it is there.

    Tests that run at the same time make it once.
    """
    os.makedirs(CACHE, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder):
            yield None
            return
        print(f"making {folder}", flush=True)
        half = tempfile.mkdtemp(prefix="half-", dir=CACHE)
        try:
            yield half
            os.chmod(half, 0o755)
            os.rename(half, folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)


class Cgroups:
    """Cgroups of our own, entered by this process."""

    def __init__(self):
        self.before = {}
        if os.path.exists("/sys/fs/cgroup/cgroup.procs"):
            trees = TREES[2:]
        else:
            trees = [t for t in TREES[:2] if os.path.exists(f"{t}/cgroup.procs")]
        with open("/proc/self/cgroup", encoding="ascii") as f:
            lines = [line.strip().split(":", 2) for line in f]
        for tree in trees:
            mine = next(path for _, name, path in lines
                        if name == ("name=systemd" if tree == TREES[0] else ""))
            self.before[tree] = tree + mine
        self.folders = [f"{tree}/profd-e2e-{os.getpid()}" for tree in trees]
        for folder in self.folders:
            os.mkdir(folder)
            self.enter(folder)

    @staticmethod
    def enter(folder):
        with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(os.getpid()))

    def close(self):
        for folder in self.before.values():
            self.enter(folder)
        for folder in self.folders:
            for below, _, _ in os.walk(folder, topdown=False):
                self.remove(below)

    @staticmethod
    def remove(folder):
        """What ran there takes a moment to be gone."""
        for _ in range(50):
            try:
                os.rmdir(folder)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)
        print(f"{folder} stays", file=sys.stderr)


class Machine:
    """boot(), then run() and start(); close() in any case."""

    patience = 1  # how many times longer than here things take

    def __init__(self, build, base=None):
        """@base: of base_system(); without it one on which what @build has installed runs."""
        self.build, self.nspawn, self.leader, self.cgroups = build, None, None, None
        self.name = f"profd-e2e-{os.getpid()}"
        base = base or base_system(libraries(build))
        self.work = tempfile.mkdtemp(prefix="profd-e2e-")
        self.root = os.path.join(self.work, "root")
        self.log = os.path.join(self.work, "console")
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.work)
        for folder in ("root", "upper", "work"):
            os.mkdir(os.path.join(self.work, folder))
        must("mount", "-t", "overlay", "-o", f"lowerdir={base},upperdir={self.work}/upper,"
             f"workdir={self.work}/work", "overlay", self.root)
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")

    def install(self):
        must("cmake", "--install", self.build, env={**os.environ, "DESTDIR": self.root})

    def path(self, inside):
        """@inside, an absolute path of the machine's, from here."""
        return self.root + inside

    def files(self, pattern):
        """What there is in the machine of that name, in order."""
        return sorted(path.removeprefix(self.root) for path in glob.glob(self.path(pattern)))

    def fetch(self, files):
        """Those files of the machine's, from here."""
        return [self.path(file) for file in files]

    @staticmethod
    def kernel_symbols():
        """A file with what its kernel's /proc/kallsyms says."""
        return "/proc/kallsyms"

    def write(self, inside, text):
        os.makedirs(os.path.dirname(self.path(inside)), exist_ok=True)
        with open(self.path(inside), "w", encoding="utf-8") as f:
            f.write(text)

    @staticmethod
    def die_with_parent():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG

    def boot(self, seconds=60):
        self.cgroups = Cgroups()
        variables = {"SYSTEMD_SECCOMP": "0", "PATH": PATH}  # its filter has no bpf(2)
        if len(self.cgroups.folders) > 1:
            variables["SYSTEMD_NSPAWN_UNIFIED_HIERARCHY"] = "1"
        with open(self.log, "w", encoding="utf-8") as log:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", self.root, "--boot", "--console=read-only",
                 "--register=no", "--keep-unit", f"--machine={self.name}", "--capability=all",
                 "--bind-ro=/proc:/hostproc"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables,
                preexec_fn=self.die_with_parent)
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.nspawn.poll() is None:
            if self.find_leader() and self.run("systemctl", "is-system-running").stdout.strip() in (
                    "running", "degraded"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"does not boot: {self.console()}")

    def find_leader(self):
        """nspawn's child that has become PID 1."""
        pid = self.nspawn.pid
        for file in glob.glob(f"/proc/{pid}/task/*/children"):
            with open(file, encoding="ascii") as f:
                for child in f.read().split():
                    try:
                        program = os.readlink(f"/proc/{child}/exe")
                    except OSError:
                        continue
                    if program.endswith("/lib/systemd/systemd"):
                        self.leader = child
                        return True
        return False

    def console(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def run(self, *command, timeout=60):
        """As root in the machine, outside of all its units."""
        return call("nsenter", "--target", self.leader, "--all", "env", "-i", f"PATH={PATH}",
                    *command, timeout=timeout)

    def out(self, *command, timeout=60):
        return self.run(*command, timeout=timeout).stdout.strip()

    def show(self, unit, *properties):
        """What systemd says of a unit, one text for each property."""
        values = {}
        for line in self.out("systemctl", "show", unit).splitlines():
            key, _, value = line.partition("=")
            values[key] = value
        return [values.get(p, "") for p in properties]

    def start(self, unit, *command, options=()):
        """As a service of this name."""
        must_run = self.run("systemd-run", f"--unit={unit}", "--collect", *options, *command)
        if must_run.returncode:
            raise RuntimeError(must_run.stderr)

    def host_pid(self, inside):
        """Of a process of the machine, the pid that we see."""
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{folder}/status", encoding="utf-8", errors="replace") as f:
                    numbers = re.search(r"^NSpid:\s*(.*)$", f.read(), re.M)[1].split()
                same = os.stat(f"{folder}/ns/pid").st_ino == os.stat(
                    f"/proc/{self.leader}/ns/pid").st_ino
            except (OSError, TypeError):
                continue
            if same and numbers[-1] == str(inside):
                return int(os.path.basename(folder))
        return 0

    def close(self):
        try:
            if self.nspawn and self.nspawn.poll() is None:
                self.nspawn.send_signal(signal.SIGTERM)  # powers off
                try:
                    self.nspawn.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    self.nspawn.kill()
                    self.nspawn.wait()
        finally:
            if self.cgroups:
                self.cgroups.close()
            call("umount", "--lazy", self.root)
            call("umount", "--lazy", self.work)
            os.rmdir(self.work)
