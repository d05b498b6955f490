# SPDX-License-Identifier: MIT
"""What an ordinary user can do to a profd that samples the machine, each a class whose object is at
it until its end()."""
import glob
import os
import subprocess
import sys

from harness import BUILD, PROGRAMS, STRANGER, as_user, run, wait_for

# Threads that each send REQUEST again and again; "end" on the input ends them. Prints how many were
# answered with an error, and otherwise.
ATTACK = """
import socket, struct, sys, threading
path, n, requests = sys.argv[1], int(sys.argv[2]), [bytes.fromhex(r) for r in sys.argv[3:]]
done, errors, answers = threading.Event(), [0], [0]
def whole(s, size):
    data = b""
    while len(data) < size:
        more = s.recv(min(size - len(data), 1 << 16))
        if not more:
            raise OSError
        data += more
    return data
def loop():
    while not done.is_set():
        try:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(100)
            s.connect(path)
            for request in requests:
                s.sendall(struct.pack(">I", len(request)) + request)
                answer = whole(s, struct.unpack(">I", whole(s, 4))[0])
                (errors if answer[:1] == b"\\x12" else answers)[0] += 1
            s.close()
        except OSError:
            pass
for _ in range(n):
    threading.Thread(target=loop, daemon=True).start()
sys.stdin.readline()
done.set()
print(errors[0], answers[0], flush=True)
"""


def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


# common/control.proto
STATUS = field(5, b"")


def start_and_stop(pid):
    return (start(pid), field(2, b"\x10" + varint(pid)))


def start(pid):
    return field(1, b"\x08\x01\x10" + varint(pid))


def flushes(pid, n):
    """A session, and what there is of it written again and again."""
    return (start(pid), *([field(6, b"")] * n), field(2, b"\x10" + varint(pid)))


def collect(pid):
    return field(11, b"\x18" + varint(pid))


CODE = bytes.fromhex("b9204e0000ffc975fcc39090")  # programs/names_runner.c's
CODE_AT = 1024


def give_code(path):
    """Something to do for a file, where its section .text is."""
    with open(path, "r+b") as f:
        if os.path.getsize(path) >= CODE_AT + len(CODE):
            f.seek(CODE_AT)
            f.write(CODE)


def compile_ring_writer(shop):
    """What writes rings as libprofd does not."""
    return shop.compile("../../integration/programs/ring_writer.c", "ring_writer", "-D_GNU_SOURCE",
                        f"-I{PROGRAMS}/../../..")


class Requests:
    """@requests, the texts of messages, on @n connections as fast as they are answered."""

    def __init__(self, shop, profd, n, *requests):
        self.child = shop.start(*as_user(STRANGER, "/usr/bin/python3", "-c", ATTACK, profd.socket,
                                         str(n), *(r.hex() for r in requests)),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self, shop):
        """How many requests failed, and how many did not."""
        errors, answers = map(int, self.child.communicate("end\n", timeout=100)[0].split())
        shop.end(self.child)
        return errors, answers


class Crowd(Requests):
    """Sessions of @pid until no more are given, and then still."""

    def __init__(self, shop, profd, n, pid):
        super().__init__(shop, profd, n, start(pid))
        self.profd = profd

    def end(self, shop):
        counts = super().end(shop)
        self.profd.call("stop", "--all", uid=STRANGER)
        return counts


class Pests:
    """programs/pest.c, some at a time."""

    def __init__(self, shop, mode, n=2):
        if not os.path.exists(shop.path("pest")):
            shop.compile("pest.c", "pest", "-pthread")
        self.children = [shop.start(*as_user(STRANGER, shop.path("pest"), mode)) for _ in range(n)]

    def end(self, shop):
        for child in self.children:
            shop.end(child)
            for path in glob.glob(f"/tmp/perf-{child.pid}.map"):
                os.unlink(path)


class Files:
    """Programs that no compiler has made, mapped and called by one that goes through them."""

    def __init__(self, shop):
        folder = shop.path("files")
        if not os.path.exists(folder):
            shop.compile("names_runner.c", "runner")
            run(f"{BUILD}/tests/hostile_elf", folder)
            run(f"{BUILD}/tests/hostile_elf", "-k", shop.path("killers"))
            for path in glob.glob(folder + "/*") + glob.glob(shop.path("killers") + "/*"):
                give_code(path)
        files = sorted(glob.glob(folder + "/*") + glob.glob(shop.path("killers") + "/*"))
        self.child = shop.start(*as_user(STRANGER, shop.path("runner"), *files),
                                stdout=subprocess.DEVNULL)

    def end(self, shop):
        shop.end(self.child)


class Rings:
    """Programs with libprofd that ask for one ring after the other, and write what is none."""

    MODES = ("crowd", "scribble", "lie", "vanish")

    def __init__(self, shop, profd):
        tool = compile_ring_writer(shop)
        self.children = [shop.start(*as_user(STRANGER, tool, profd.socket, "1000", mode, "700"),
                                    stdout=subprocess.DEVNULL) for mode in self.MODES]

    def end(self, shop):
        for child in self.children:
            shop.end(child)


class Held:
    """Processes that hold up whoever looks at them in /proc (programs/held.c): they execute a program
    while a file is closed whose server does not answer, or map one that is being read."""

    FLUSH, READ = 25, 15

    def __init__(self, shop, uid=STRANGER):
        self.shop, self.folder, self.log = shop, shop.path("mount"), shop.path("requests")
        self.uid, self.file = uid, os.path.join(self.folder, "file")
        self.program = shop.compile("held.c", "holder", "-pthread", "-D_GNU_SOURCE")
        os.makedirs(self.folder, exist_ok=True)
        server = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuse_server.py")
        with open(self.log, "w", encoding="ascii") as log:
            self.server = shop.start(sys.executable, server, self.folder, shop.write("file", "x\n"),
                                     "held", stdout=log)
        wait_for(lambda: "ready" in self.requests())
        self.processes, self.pids, self.modes = [], [], []

    def requests(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def hold(self, *modes):
        """What is not held up, of as many processes as there are @modes: "exec", "thread" or, once,
        "memory"."""
        self.processes += [self.shop.start(*as_user(self.uid, self.program, mode, self.file))
                           for mode in modes]
        self.modes += modes
        self.pids = [process.pid for process in self.processes]
        wait_for(lambda: self.is_hung(self.READ, "memory")
                 and self.is_hung(self.FLUSH, "exec", "thread"))
        return [pid for pid, mode in zip(self.pids, self.modes)
                if not wait_for(lambda p=pid, m=mode: self.blocks(p, m), 10)]

    def is_hung(self, opcode, *modes):
        n = sum(mode in modes for mode in self.modes)
        return self.requests().count(f"hung {opcode} ") >= n

    def blocks(self, pid, mode):
        name = "maps" if mode == "memory" else "stat"
        reader = self.shop.start("cat", f"/proc/{pid}/{name}", stdout=subprocess.DEVNULL)
        try:
            reader.wait(0.5)
            return False
        except subprocess.TimeoutExpired:
            reader.kill()
            return True

    def end(self, shop):
        for process in [self.server, *self.processes]:
            shop.end(process)
        # As soon as the last one that has mapped the file, or looked at it, has ended.
        wait_for(lambda: subprocess.call(["umount", self.folder], stderr=subprocess.DEVNULL) == 0)
