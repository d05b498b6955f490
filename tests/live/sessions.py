# SPDX-License-Identifier: MIT
"""Starting and stopping sessions in the live tests, and programs for them to look at."""
import os
import re
import signal
import subprocess
import time

from harness import OTHER_USER, STRANGER, Results, of_format, wait_for

check = Results()


def refused(name, done, status, *words):
    """One clear line on standard error, nothing on standard output, the right exit status."""
    lines = done.stderr.strip().splitlines()
    good = (done.returncode == status and len(lines) == 1 and not done.stdout
            and all(w in lines[0] for w in words))
    check(good, name, f"exit {done.returncode} for {status}: {done.stderr} {done.stdout}")


def began(name, done):
    """The id of a started session, which must stand alone on a line."""
    good = done.returncode == 0 and re.fullmatch(r"s\d+\n", done.stdout)
    check(good, f"start: {name}", f"exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def gather(profd, *numbers, wanted=100, seconds=60):
    """Waits until sessions have counted enough; the machine may be busy with other things."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        counted = {s["id"]: s["counted"] for s in profd.status()["sessions"]}
        if all(counted.get(n, 0) >= wanted for n in numbers):
            return True
        time.sleep(0.1)
    return False


def ended(profd, name, number, uid=0):
    """Stops a session; its files by suffix, all of which exist and hold something."""
    done = profd.call("stop", number, uid=uid)
    files = done.stdout.splitlines()
    good = done.returncode == 0 and files and all(os.path.getsize(f) > 0 for f in files)
    check(good, f"stop: {name} prints files that exist", f"{done.returncode} {files} {done.stderr}")
    check(all(f"/sessions/{number}-" in f for f in files), f"stop: {name} prints its own files",
          files)
    return of_format(files), of_format(files, ".prof")


def children_of(pid):
    """Of its first thread."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(child) for child in f.read().split()]


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""  # it has ended


class Programs:
    """What runs during the test: known names on known CPUs, of two users."""

    def __init__(self, shop):
        self.shop = shop
        for name in ("hotloop", "of-stranger", "early", "late", "in-group"):
            shop.compile("hotloop.c", name, "-no-pie")
        shop.compile("threads.c", "threads", "-pthread")
        self.hot = shop.start("taskset", "-c", "0", shop.path("hotloop")).pid
        self.kernel = shop.start("taskset", "-c", "1", "dd", "if=/dev/zero", "of=/dev/null",
                                 "bs=1M",
                                 stderr=subprocess.DEVNULL).pid
        self.stranger = shop.start_as(STRANGER, shop.path("of-stranger")).pid
        self.other = shop.start_as(OTHER_USER, "sleep", "1000").pid
        threads = shop.start(shop.path("threads"), stdout=subprocess.PIPE, text=True)
        self.threads, self.tids = threads.pid, threads.stdout.readline().split()
        script = 'trap "\\"$0\\"/late &" USR1; "$0"/early & while :; do wait; done'
        self.family = shop.start("sh", "-c", script, shop.folder).pid
        self.group = None
        # The shell minds its signals as soon as it has a child.
        if not wait_for(lambda: [comm_of(pid) for pid in (self.hot, self.kernel, self.stranger)]
                        == ["hotloop", "dd", "of-stranger"] and self.family_has("early")):
            raise RuntimeError("the programs do not start")

    def family_has(self, *comms):
        """The ids of the family's programs, if all these are among them."""
        pids = {comm_of(pid): pid for pid in children_of(self.family)}
        return set(comms) <= set(pids) and list(pids.values())

    def rest(self):
        """All but the hot loop stand still, so that nobody else waits for a CPU because of them."""
        self._signal(signal.SIGSTOP)

    def go_on(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        for pid in (self.kernel, self.stranger, self.threads, self.family,
                    *([self.member.pid] if self.group else [])):
            os.killpg(pid, number)

    def enter_group(self):
        """Starts a program in a control group of its own, as systemd would."""
        name = f"profd-control-{os.getpid()}.service"
        for root in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup"):
            if not os.path.exists(root + "/cgroup.procs"):
                continue
            self.folder = f"{root}/{name}"
            os.mkdir(self.folder)
            member = self.shop.start("sh", "-c", 'echo $$ >"$1"/cgroup.procs && exec "$0"',
                                     self.shop.path("in-group"), self.folder)
            self.member, self.group = member, name
            return

    def leave_group(self):
        if not self.group:
            return
        self.shop.end(self.member)
        for _ in range(200):
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.05)
