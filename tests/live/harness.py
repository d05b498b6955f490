# SPDX-License-Identifier: MIT
"""What the live tests share: a profd of their own, programs to profile, and what files say."""
import contextlib
import ctypes
import glob
import gzip
import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pinned

pinned.use()
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build"
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
KERNEL = 1 << 63
BACKGROUND, LEAST = 10, 19  # values of nice
STRANGER = 31000 + os.getpid() % 4000  # no process of this user but ours; not a service's
OTHER_USER = 1
KNOWN_WARNINGS = ("no usable cycle counter", "BPF programs loaded in")
BASE_CONF = {"flush": {"interval": "1h"}, "store": {"min_free": "0"},
             "sampling": {"max_cpu": "99%"}}


class Results:
    """Prints a line a check and remembers whether all were good."""

    def __init__(self):
        self.n, self.failed = 0, 0

    def __call__(self, good, name, detail=""):
        self.n += 1
        self.failed += not good
        detail = " | ".join(str(detail).strip().splitlines())[-600:]
        print(f"ok {name}" if good else f"not ok {name}: {detail or 'no'}", flush=True)
        return bool(good)

    def end(self):
        """The exit status."""
        print(f"{self.n} checks, {self.failed} failed")
        return 1 if self.failed else 0


# What support/musl-python has built.
MUSL_PYTHONS = os.path.join(os.path.dirname(pinned.CACHE), "musl-python")


def pythons():
    """Debian's; those that pyenv has installed, for no package has each version; and those with musl
    that support/musl-python has built. Or others, for a look by hand."""
    if "PYTHON" in os.environ:
        return os.environ["PYTHON"].split(":")
    others = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    return ["/usr/bin/python3",
            *sorted(path for path in others if os.path.realpath(path).rpartition(".")[2]
                    in ("8", "9", "10", "12", "13", "14")),
            *sorted(glob.glob(os.path.join(MUSL_PYTHONS, "*", "bin", "python3")))]


def as_user(uid, *command):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *command]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                          timeout=300, **options)


def wait_for(condition, seconds=60, pause=0.05):
    """What the condition says at last: nothing true if it does not come to that in time. A busy
    machine takes its time, which costs nothing where it is not needed."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(pause)
    return value


def of_format(paths, suffix=".pb.gz"):
    """Those of such files: a second one of a name ends in .1."""
    return [p for p in paths if re.search(re.escape(suffix) + r"(\.\d+)?$", p)]


def frames(raw):
    """What profctl top has drawn, line by line; the last picture, which may not be whole, left out.
    A terminal's own lines are never longer than it is wide."""
    plain = [re.sub(rb"\x1b\[[?\d;]*[A-Za-z]", b"", picture) for picture in raw.split(b"\x1b[H")]
    return [re.split("\r+\n", picture.decode(errors="replace")) for picture in plain[1:-1]]


def conf_text(*parts):
    merged = {}
    for part in (BASE_CONF, *parts):
        for section, keys in part.items():
            merged.setdefault(section, {}).update(keys)
    return "".join(f"[{section}]\n" + "".join(f"{k}={v}\n" for k, v in keys.items())
                   for section, keys in merged.items())


def end_from_outside(*_):
    """tests/run ends what takes too long by two signals, to the test and to its group."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("not ok ended from outside")


def cpu_ns(pid):
    """schedstat: time on a CPU (Documentation/scheduler/sched-stats.rst)."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0])


def flush_all(profd, pid, files=None):
    """Has everything written; a process's cpu_ns() before and after. A disk takes its time: what
    the process runs for meanwhile is in files or is not. @files: a set that gets their paths."""
    before = cpu_ns(pid)
    done = profd.call("flush")
    if done.returncode:
        raise RuntimeError(f"flush: {done.stderr}")
    if files is not None:
        files.update(done.stdout.splitlines())
    return before, cpu_ns(pid)


def check_all_written(check, name, profd, pid, begun, hz, count):
    """What a process has run for since then is in files, by count()'s samples. @begun: its cpu_ns()
    at the earliest and at the latest time that these may begin, as flush_all() tells it."""
    ended = flush_all(profd, pid)
    least, most = (hz * ns / 1e9 for ns in (ended[0] - begun[1], ended[1] - begun[0]))
    got = count()
    print(f"  {got} samples in files, {least:.0f} to {most:.0f} due")
    check(least - (3 * least ** 0.5 + 0.05 * least) <= got <= most + 3 * most ** 0.5 + 0.05 * most,
          name, f"{got} of {least:.0f} to {most:.0f}")


def samples_since(profd, pid, since, known):
    """Of the process, in services' windows that began at @since or later (the first 15 characters of
    their names) and are not @known; with their names."""
    n, names = 0, set()
    for path in of_format(profd.find("services/**/*")):
        if os.path.basename(path)[:15] >= since and path not in known:
            raw = Raw(path)
            n += raw.total(pid=pid)
            names |= raw.names()
    return n, names


def cpu_seconds(pid):
    """Of all its threads, and of the children that it has waited for, in ticks of the clock; None
    of a process that has ended. proc(5)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    """Those of all its threads; none of a process that has ended. proc_pid_children(5)."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(path, encoding="ascii") as f:
                found += map(int, f.read().split())
    return found


def resident_bytes(pid, parents_program=None):
    """Of the process and of all that descend from it, VmRSS; of a child that runs its parent's
    program, which has the same pages of files, what is no file's. What has ended has none."""
    program, own = None, 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        program = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            sizes = dict(line.split(":", 1) for line in f if line.startswith(("VmRSS:", "RssAnon:")))
        key = "RssAnon" if program == parents_program else "VmRSS"
        own = int(sizes[key].split()[0]) << 10 if sizes else 0
    return own + sum(resident_bytes(child, program) for child in children(pid))


def check_memory(check, when, profd):
    """Memory of all profd's processes, added up here, is within the budget and what status says it
    is; in status's own words at last."""
    seen = []

    def agrees():
        before = resident_bytes(profd.process.pid)
        memory = profd.status()["memory"]
        after = resident_bytes(profd.process.pid)
        seen[:] = [before, after, memory]
        return min(before, after) * 0.95 <= memory["rss_bytes"] <= max(before, after) * 1.05

    check(wait_for(agrees, pause=0.5), f"{when}: status counts the memory of all processes", seen)
    before, after, memory = seen
    used = max(before, after, memory["rss_bytes"]) + memory["bpf_bytes"]
    check(used <= memory["budget_bytes"], f"{when}: memory is in the budget", seen)
    return memory


def await_cpu(pids, seconds, limit=120, hold=()):
    """Until each process has had a CPU for that long from now on: how many samples there are of it
    is decided by that, not by the clock. Those that have ended keep nobody waiting. Of @hold, which
    lead groups that need no other's work, each that has had its time stands still until all have,
    which is all the sooner. False if the limit came first."""
    wanted = {pid: (cpu_seconds(pid) or 0) + seconds for pid in pids}
    waiting, held = set(pids), set()

    def all_had_it():
        for pid in list(waiting):
            now = cpu_seconds(pid)
            if now is not None and now < wanted[pid]:
                continue
            waiting.remove(pid)
            if now is not None and pid in hold:
                os.killpg(pid, signal.SIGSTOP)
                held.add(pid)
        return not waiting
    done = wait_for(all_had_it, limit)
    for pid in held:
        os.killpg(pid, signal.SIGCONT)
    return done


def refuse_perf_events():
    """As Debian's kernels do where the level is 3, which upstream does not know: seccomp(2)."""
    number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    eacces, allow = 0x50000 | 13, 0x7fff0000
    code = b"".join(struct.pack("HBBI", *i) for i in (
        (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x6, 0, 0, eacces), (0x6, 0, 0, allow)))
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HP", len(code) // 8,
                                                      ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(
            ctypes.addressof(program)), 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "no filter")


def stand_back(nice):
    """This session's programs give way: sched(7), "The autogroup feature"."""
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write(str(nice))
    except OSError:
        pass
    os.nice(nice)


class Workshop:
    """A temporary folder that everyone may pass through, and the processes that were started."""

    def __init__(self, name, gives_way=BACKGROUND):
        self.gives_way = gives_way
        # They are in sessions of their own: nobody else would end them.
        signal.signal(signal.SIGTERM, end_from_outside)
        # PR_SET_CHILD_SUBREAPER: the children of what is killed become ours, to be waited for.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        self.folder = tempfile.mkdtemp(prefix=f"profd-{name}-")
        os.chmod(self.folder, 0o755)
        self.children = []

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def compile(self, source, name, *flags):
        subprocess.check_call(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", *flags, "-o",
                               self.path(name),
                               os.path.join(PROGRAMS, source)])
        return self.path(name)

    def start(self, *command, in_front=False, **options):
        """In a session of its own, so that its children end with it; what it leaves behind where
        it runs goes with the folder. Unless it is @in_front, it gives way, as the workshop has it
        (a value of nice): where the kernel groups tasks by session, each busy program would have as
        much CPU time as all that judges them."""
        options.setdefault("cwd", self.folder)
        before = options.pop("preexec_fn", None)
        options["preexec_fn"] = lambda: (in_front or stand_back(self.gives_way),
                                         before and before())
        child = subprocess.Popen(command, start_new_session=True, **options)
        self.children.append(child)
        return child

    def start_as(self, uid, *command, **options):
        """A program that is the user's once this returns: until it is executed, whose process it is
        changes, and profd refuses sessions of his for it."""
        child = self.start(*as_user(uid, *command), **options)
        wait_for(lambda: child.poll() is not None or os.stat(f"/proc/{child.pid}/stat").st_uid == uid)
        return child

    @contextlib.contextmanager
    def at_rest(self, *children):
        """They stand still meanwhile, so that nobody waits for a CPU because of them."""
        for child in children:
            os.killpg(child.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for child in children:
                os.killpg(child.pid, signal.SIGCONT)

    def end(self, child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        try:
            while True:
                os.waitpid(-child.pid, 0)
        except ChildProcessError:
            pass
        if child in self.children:
            self.children.remove(child)

    def clean(self):
        for child in list(self.children):
            self.end(child)
        # Of a test that was ended from outside: what stays mounted would change the answers of others.
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
            points = [line.split(" ")[4] for line in f]
        for point in points:
            if point.startswith(self.folder + "/"):
                subprocess.call(["umount", "-l", point])
        subprocess.call(["rm", "-rf", self.folder])


class Profd:
    """profd over a state directory of its own, started and answering."""

    def __init__(self, shop, name, *conf, prefix=(), arguments=(), options=None):
        self.shop = shop
        self.state, self.runtime = shop.path(name), shop.path(name + ".run")
        self.socket = os.path.join(self.runtime, "control.sock")
        self.conf = shop.write(name + ".conf", conf_text(*conf))
        self.log = shop.path(name + ".log")
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = shop.start(*prefix, *self.command(), *arguments, stderr=log,
                                      in_front=True, **(options or {}))

    def command(self):
        return [f"{BUILD}/bin/profd", "-c", self.conf, "--state-directory", self.state,
                "--runtime-directory", self.runtime]

    def answers(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if self.call("status").returncode == 0:
                return True
            time.sleep(0.02)
        return False

    def call(self, *arguments, uid=0):
        command = [f"{BUILD}/bin/profctl", "--socket", self.socket, *map(str, arguments)]
        return run(*(as_user(uid, *command) if uid else command))

    def json(self, *arguments):
        done = self.call(*arguments, "--json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise ValueError(f"{arguments}: {done.returncode} {done.stderr}") from None

    def status(self):
        return self.json("status")

    def session(self, number):
        return next((s for s in self.status()["sessions"] if s["id"] == number), None)

    def messages(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def strange_messages(self):
        """Not what it does, or was asked for by a client that is named."""
        return [line for line in self.messages().splitlines()
                if not line.startswith("profd: sampling ")
                and not re.search(r" \(uid \d+, pid \d+\)$|: session s\d+ stopped: ", line)
                and not any(w in line for w in KNOWN_WARNINGS)]

    def stop(self, signal_number=signal.SIGTERM):
        self.process.send_signal(signal_number)
        code = self.process.wait(timeout=300)
        self.shop.end(self.process)
        return code

    def windows(self):
        """All profiles of services."""
        return of_format(self.find("services/**/*"))

    def find(self, pattern):
        return sorted(glob.glob(os.path.join(self.state, pattern), recursive=True))


class Raw:
    """What `go tool pprof -raw` says of a profile."""

    def __init__(self, path):
        done = run("pprof", "-symbolize=none", "-raw", path)
        self.error = done.stderr if done.returncode else ""
        self.samples, self.locations, self.header, self.weights = [], {}, {}, []
        part = ""
        for line in done.stdout.splitlines():
            if line in ("Samples:", "Locations", "Mappings"):
                part = line
            elif not part:
                key, _, value = line.partition(": ")
                self.header.setdefault(key, value)
            elif part == "Samples:":
                self.sample_line(line)
            elif part == "Locations":
                m = re.match(r"\s*(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?(\S*)", line)
                if m:
                    self.locations[m[1]] = (int(m[2], 16), m[4])

    def sample_line(self, line):
        m = re.match(r"\s*(\d+)\s+(\d+): ([\d ]*)$", line)
        if m:
            self.samples.append((int(m[1]), m[3].split(), {}))
            self.weights.append(int(m[2]))
        elif self.samples:
            self.samples[-1][2].update(re.findall(r"(\w+):\[([^]]*)\]", line))

    def total(self, **labels):
        return sum(count for count, _, have in self.samples
                   if all(have.get(k) == str(v) for k, v in labels.items()))

    def weight(self):
        """The sum of the other value, time or events."""
        return sum(self.weights)

    def values(self, label):
        return {labels.get(label) for _, _, labels in self.samples}

    def in_kernel(self):
        """Samples whose leaf is a kernel frame."""
        return sum(count for count, ids, _ in self.samples
                   if ids and self.locations[ids[0]][0] >= KERNEL)

    def kernel_addresses(self):
        return [hex(a) for a, _ in self.locations.values() if a >= KERNEL]

    def names(self):
        return {name for _, name in self.locations.values()}


def ledger_gap(status):
    """What does not add up in a status; empty if everything does."""
    ledger = status["ledger"]
    parts = (ledger["complete"] + ledger["guessed"] + ledger["no_user"]
             + sum(ledger["truncated"].values()) + sum(ledger["broken"].values())
             + sum(ledger["lost"].values()) - ledger["lost"]["skipped"] + ledger["in_flight"])
    gaps = []
    if ledger["expected"] != ledger["seen"] + ledger["lost"]["skipped"]:
        gaps.append(f"expected {ledger['expected']} seen {ledger['seen']} "
                    f"skipped {ledger['lost']['skipped']}")
    if ledger["seen"] != parts:
        gaps.append(f"seen {ledger['seen']} parts {parts}")
    for s in status["sessions"]:
        if s["routed"] != s["counted"] + s["filtered"] + sum(s["dropped"].values()):
            gaps.append(f"session {s}")
    return gaps


def user_total(path):
    """Samples of a legacy profile (FORMATS.md section 1); raises ValueError if it is not whole."""
    with open(path, "rb") as f:
        data = f.read()
    size = 8 if data[:16] == b"\0" * 8 + b"\3" + b"\0" * 7 else 4

    def slot(i):
        if (i + 1) * size > len(data):
            raise ValueError(f"{path} ends in slot {i}")
        return int.from_bytes(data[i * size:(i + 1) * size], "little")

    if [slot(0), slot(1), slot(2), slot(4)] != [0, 3, 0, 0]:
        raise ValueError(f"{path} has no header")
    at, total = 5, 0
    while slot(at):
        total += slot(at)
        at += 2 + slot(at + 1)
    if [slot(at), slot(at + 1), slot(at + 2)] != [0, 1, 0]:
        raise ValueError(f"{path} has no trailer")
    # Of a process that had ended before it was looked at, no mapping may be known.
    if not re.fullmatch(rb"([0-9a-f]+-[0-9a-f]+ ..x. [^\n]*\n)*(# profd [^\n]*\n)+",
                        data[(at + 3) * size:]):
        raise ValueError(f"{path} has no maps or no ledger behind them")
    return total


def image_total(path):
    """Samples of an image profile (FORMATS.md section 3); raises ValueError if it is not whole."""
    with open(path, "rb") as f:
        data = f.read()
    m = re.search(rb"(?m)^samples[ \t]*\n", data)
    if not m or (len(data) - m.end()) % 4 or m.end() % 4:
        raise ValueError(f"{path} has no header of whole words")
    words = [int.from_bytes(data[i:i + 4], "little") for i in range(m.end(), len(data), 4)]
    at, total, n = 0, 0, 0
    while at < len(words) - 2:
        counts = words[at + 2:at + 2 + words[at + 1]]
        total += sum(counts)
        n += sum(1 for c in counts if c)
        at += 2 + words[at + 1]
    if at != len(words) - 2 or words[-2:] != [n, total]:
        raise ValueError(f"{path}: footer {words[-2:]}, sums {[n, total]}")
    return total


def pprof_whole(path):
    """Raises ValueError unless the file is one whole gzip."""
    try:
        with gzip.open(path) as f:
            if not f.read():
                raise ValueError(f"{path} is empty")
    except (EOFError, OSError) as e:
        raise ValueError(f"{path}: {e}") from e


def check_store(state):
    """Every file that can be seen is whole, and nothing else lies there. Returns complaints."""
    complaints, pprofs = [], []
    for folder, _, names in os.walk(state):
        below = os.path.relpath(folder, state)
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith(".tmp-"):
                continue
            try:
                if re.search(r"\.pb\.gz(\.\d+)?$", name):
                    pprof_whole(path)
                    pprofs.append(path)
                elif re.search(r"\.prof(\.\d+)?$", name):
                    user_total(path)
                elif below.startswith("images/"):
                    image_total(path)
                else:
                    complaints.append(f"{path} does not belong here")
            except ValueError as e:
                complaints.append(str(e))
    return complaints, pprofs


def temporary_files(state):
    return [os.path.join(folder, n) for folder, _, names in os.walk(state)
            for n in names if n.startswith(".tmp-")]
