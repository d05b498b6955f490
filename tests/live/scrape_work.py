# SPDX-License-Identifier: MIT
"""What the tests of scrapers share: programs that work when they are told to, in services of their
own, so that scrapes and a range have the same samples; and what is read of profiles."""
import gzip
import os
import signal
import subprocess
import time

from harness import Raw, cpu_seconds, run, wait_for
from pprof_file import fields

TURNS = 150000  # of a loop: some tenths of a second
# Enters its group, and works when it is told to.
WORKER = ('echo 0 >"$0"/cgroup.procs && echo ready && while read -r n; do '
          'while [ "$n" -gt 0 ]; do n=$((n - 1)); done; echo done; done')
SERVICES = ("scraped.service", r"scraped:1@a\x2db.service")


class Worker:
    """A shell in a service of its own."""

    def __init__(self, shop, root, name):
        self.name, self.folder = name, os.path.join(root, name)
        os.makedirs(self.folder)
        self.child = shop.start("sh", "-c", WORKER, self.folder, text=True, bufsize=1, in_front=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid, self.ready = self.child.pid, self.child.stdout.readline() == "ready\n"

    def begin(self):
        self.child.stdin.write(f"{TURNS}\n")

    def await_done(self):
        return self.child.stdout.readline() == "done\n"


class LoopWorker:
    """A compiled loop in a service of its own, which stands still but when it is to work."""
    SECONDS = .4  # of CPU time

    def __init__(self, shop, root, name):
        self.name, self.folder = name, os.path.join(root, name)
        os.makedirs(self.folder)
        # Where there are no pids, each is found by functions of its own, which lie at other addresses.
        number = SERVICES.index(name) + 1
        self.functions = [f"{of}_{number}" for of in ("inner", "middle", "outer")]
        self.program = shop.compile("hotloop.c", f"hotloop-{number}",
                                    f"-falign-functions={64 << 4 * number}",
                                    *(f"-D{of[:-2]}={of}" for of in self.functions))
        self.child = shop.start("sh", "-c", 'echo 0 >"$0"/cgroup.procs && kill -STOP $$ && exec "$1"',
                                self.folder, self.program, in_front=True)
        self.pid, self.had = self.child.pid, 0
        self.ready = self.stands()

    def stands(self):
        """Until it does: a signal may take a while."""
        def state():
            with open(f"/proc/{self.pid}/stat", encoding="ascii") as f:
                return f.read().rpartition(") ")[2][0]
        return wait_for(lambda: state() == "T")

    def begin(self):
        self.had = cpu_seconds(self.pid)
        os.kill(self.pid, signal.SIGCONT)

    def await_done(self):
        wait_for(lambda: cpu_seconds(self.pid) >= self.had + self.SECONDS, pause=.01)
        os.kill(self.pid, signal.SIGSTOP)
        return self.stands()


def start_workers(shop, kind):
    root = next(p for p in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup") if
                os.path.exists(p + "/cgroup.procs"))
    root = f"{root}/profd-scrapers-{os.getpid()}"
    return root, [kind(shop, root, name) for name in SERVICES]


def remove_groups(root):
    for folder, _, _ in os.walk(root, topdown=False):
        wait_for(lambda path=folder: run("rmdir", path).returncode == 0)


def sessions(profd):
    return {s["id"] for s in profd.status()["sessions"] if s["id"] != "system"}


def moment(s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(s))


class Work:
    """What the workers do, each time in a window of its own, by whole seconds, too, as ranges are."""

    def __init__(self, profd, workers):
        self.profd, self.workers, self.flushed = profd, workers, 0

    def once(self):
        """When they began and were done."""
        wait_for(lambda: time.time() > self.flushed + 2)
        self.profd.call("flush")
        since = time.time_ns()
        for worker in self.workers:
            worker.begin()
        for worker in self.workers:
            worker.await_done()
        until = time.time_ns()
        self.profd.call("flush")
        self.flushed = time.time()
        return since, until


def is_within(result, span):
    return (result["start_ns"] <= span[0] and
            span[1] <= result["start_ns"] + result["duration_ns"])


def collected(shop, profd, span, *selector):
    """Ranges have whole seconds: a window that begins at the very end of one and is shorter than the
    next half is in that second only. Nobody worked in the two before."""
    path = shop.path("collected.pb.gz")
    done = profd.call("collect", *selector, "--since", moment(span[0] // 10**9 - 1),
                      "--until", moment(span[1] // 10**9 + 1), "-o", path)
    raw = Raw(path)
    if done.returncode or raw.error:
        raise RuntimeError(f"collect: {done.stderr}{raw.error}")
    return raw


def disorder(path):
    """What is not as Parca's store wants it, which is stricter than pprof: ids count from 1 in the
    order of the file, the first text is empty, labels have keys, samples have locations that are."""
    with gzip.open(path) as f:
        parts = list(fields(f.read()))
    texts = [v for k, v in parts if k == 6]
    faults = [] if texts[:1] == [b""] else ["the first text"]
    for number, name in ((3, "mapping"), (4, "location"), (5, "function")):
        ids = [dict(fields(v)).get(1, 0) for k, v in parts if k == number]
        if ids != list(range(1, len(ids) + 1)):
            faults.append(f"ids of {name}s")
    for number, value in parts:
        for k, v in fields(value) if number == 2 else ():
            if k == 3 and not 0 < dict(fields(v)).get(1, 0) < len(texts):
                faults.append("a label without a key")
    return faults


def numbers(raw, worker):
    """Samples, nanoseconds and functions of a worker in a profile."""
    return (raw.total(pid=worker.pid), sum(ns for ns, (_, _, labels) in zip(raw.weights, raw.samples)
                                           if labels.get("pid") == str(worker.pid)))
