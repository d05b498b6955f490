# SPDX-License-Identifier: MIT
"""Writes a .pb.gz as a session with waiting time has it: types samples, cpu and off_cpu, and the
labels of profd's samples."""
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from made_profile import part  # pylint: disable=wrong-import-position

AT, SECONDS = 1795251600, 10
MS = 10 ** 6
KERNEL, LIBC, PROGRAM = "[kernel.kallsyms]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/pool"
TYPES = {"samples": "count", "cpu": "nanoseconds", "off_cpu": "nanoseconds"}


def base(obj, i):
    return 0xffffffff80000000 if obj == KERNEL else i << 32


class Waits:
    """Frames are "name" of the program, or (name, object) or (name, object, file); leaf first."""

    def __init__(self, types=tuple(TYPES), default="cpu"):
        self.types, self.default = types, default
        self.texts, self.objects, self.functions, self.samples = [""], {}, {}, []

    def text(self, value):
        if value not in self.texts:
            self.texts.append(value)
        return self.texts.index(value)

    def location(self, frame):
        name, obj, file = (frame if isinstance(frame, tuple) else (frame,)) + (PROGRAM, "")[
            (len(frame) if isinstance(frame, tuple) else 1) - 1:]
        self.objects.setdefault(obj, len(self.objects) + 1)
        return self.functions.setdefault((name, obj, file), len(self.functions) + 1)

    def add(self, stack, n=1, cpu=0, off=0, **labels):
        """@n samples of @cpu and @off ms altogether; labels that are 0 or "" are left out."""
        values = {"samples": n, "cpu": cpu * MS, "off_cpu": off * MS}
        body = b"".join(part(1, self.location(f)) for f in stack)
        body += b"".join(part(2, values.get(t, 0) & (1 << 64) - 1) for t in self.types)
        for key, value in labels.items():
            if value:
                body += part(3, part(1, self.text(key)) + (part(3, value) if isinstance(value, int)
                                                           else part(2, self.text(value))))
        self.samples.append(part(2, body))

    def write(self, path):
        body = b"".join(part(1, part(1, self.text(t)) + part(2, self.text(TYPES.get(t, "count"))))
                        for t in self.types)
        body += b"".join(self.samples)
        for obj, i in self.objects.items():
            body += part(3, part(1, i) + part(2, base(obj, i)) +
                         part(3, base(obj, i) + (1 << 20)) + part(5, self.text(obj)) + part(7, 1))
        for (name, obj, file), i in self.functions.items():
            body += part(4, part(1, i) + part(2, self.objects[obj]) +
                         part(3, base(obj, self.objects[obj]) + i) + part(4, part(1, i) + part(2, 1)))
            body += part(5, part(1, i) + part(2, self.text(name)) + part(4, self.text(file)))
        body += part(9, AT * 10 ** 9) + part(10, SECONDS * 10 ** 9)
        body += part(14, self.text(self.default)) if self.default else b""
        with open(path, "wb") as f:
            f.write(gzip.compress(body + b"".join(part(6, t.encode()) for t in self.texts)))


COND = [("futex_do_wait", KERNEL), ("__futex_abstimed_wait_common", LIBC),
        ("pthread_cond_wait", LIBC), "queue_pop", "worker", ("start_thread", LIBC)]
LOCK = [("futex_do_wait", KERNEL), ("__lll_lock_wait", LIBC), ("pthread_mutex_lock", LIBC),
        "cache_put", "worker", ("start_thread", LIBC)]
LOOP = [("ep_poll", KERNEL), ("epoll_wait", LIBC), "serve", "main"]
READ = [("pipe_read", KERNEL), ("read", LIBC), "read_request", "serve", "main"]


def service():
    """A pool: one worker that fights for a lock, three that were never run, and a thread that only
    ever waits for events."""
    w = Waits()
    own = {"pid": 7, "comm": "pool", "service": "pool.service"}
    w.add(["compress", "worker", ("start_thread", LIBC)], 300, cpu=3000, thread="busy", **own)
    w.add(LOCK, 200, off=2000, thread="busy", state="sleep", wait="futex", waker="busy2", **own)
    w.add(LOCK, 20, off=200, thread="busy", state="runnable", **own)
    w.add(COND, 100, off=1000, thread="busy", state="sleep", wait="futex", **own)
    w.add(READ, 50, off=500, thread="busy", state="sleep", wait="read", **own)
    for i in range(3):
        w.add(COND, 1000, off=10000, thread=f"idle{i}", state="sleep", wait="futex", **own)
    w.add(LOOP, 1000, off=10000, thread="loop", state="sleep", wait="epoll_wait", **own)
    return w


if __name__ == "__main__":
    service().write(sys.argv[1])
