# SPDX-License-Identifier: MIT
"""Programs with written waits (programs/waits.c), what they did by their own clocks, and whether a
profile of waiting time says the same.

A profile is judged by shares: of the time that the threads of a way had, how much did they wait in
this function? It may be off by 2 points, or by 3 sigma of what sampling makes of it, if that is more.
A thread's ticks lie in cells of P, one in each: of N ticks those in a function whose share is p have a
variance of N p (1 - p) at most. Nothing is compared with the times that were asked for.
"""
import collections
import functools
import json
import os
import re
import signal
import subprocess

from harness import wait_for

POINTS = 0.02
SIGMA = 3
EXACT = 0.02         # of sums over all functions of a way: a session ends while threads wait for a CPU
COMPLETE = 0.97      # of stacks; on a CPU it is the same
RARE = 0.005         # of what may be odd: a thread that is just born, a signal on its way
MOVED_UNSEEN = 0.7  # of what threads waited for a CPU, on a machine that moves them
FEW_THREADS = 50
QUEUED_POINTS = 0.05  # what is preempted counts as queued from there on, in schedstat a little later
FEW = 20             # samples; of fewer nothing is said
N_WAYS = 12
FUNCTIONS = ("work wait_nap wait_futex wait_pipe wait_epoll wait_poll wait_disk wait_sync wait_vfork "
             "wait_birth ask wait_request wait_delay wake wait_line wait_go wait_join enter").split()
STATES = ("runnable", "sleep", "disk", "stopped")
# What each waits with, and how. What has no row only waits for a CPU.
SLEEPS = {
    "wait_nap": ("sleep", {"clock_nanosleep"}),
    "wait_delay": ("sleep", {"clock_nanosleep"}),
    "wait_futex": ("sleep", {"futex"}),
    "wait_request": ("sleep", {"futex"}),
    "wait_go": ("sleep", {"futex"}),
    "wait_pipe": ("sleep", {"read"}),
    "wait_line": ("sleep", {"read"}),
    "wait_epoll": ("sleep", {"epoll_wait", "epoll_pwait"}),
    "wait_poll": ("sleep", {"poll", "ppoll"}),
    "wait_disk": ("disk", {"pread64"}),
    "wait_sync": ("disk", {"fdatasync", "pwrite64"}),
    "wait_vfork": ("disk", {"vfork", "clone", "wait4"}),
    "wait_birth": ("sleep", {"futex", "clone3", "clone", "mmap", "munmap", "mprotect"}),
    "wait_join": ("sleep", {"futex", "munmap", "madvise"}),
}
# Those in which a thread may wait for a lock, or both ways.
EITHER = ("enter", "wait_birth", "ask", "wake", "wait_sync", "wait_vfork", "wait_disk", "")
SCHEDULER = re.compile(
    r"_*(schedule|schedule_(timeout|hrtimeout)\w*|preempt_schedule\w*|io_schedule\w*|switch_to\w*"
    r"|context_switch|finish_task_switch|pick_next_task\w*|schedule_tail|schedule_idle"
    r"|traceiter_\w+|bpf_\w+|irq_work_\w+|perf_\w+|sysvec_irq_work)(\.\w+)*$")
# The kernel's function that waits, or one that it calls: of what is known by its name.
PLACES = {
    "wait_nap": r"(hrtimer_nanosleep|do_nanosleep|common_nsleep)",
    "wait_futex": r"(futex_do_wait|futex_wait_queue|__futex_wait|futex_wait)",
    "wait_pipe": r"(anon_pipe_read|pipe_read|pipe_wait_readable)",
    "wait_epoll": r"(ep_poll|do_epoll_wait)",
    "wait_poll": r"(poll_schedule_timeout|do_sys_poll|do_poll)",
    "wait_disk": r"(blk_io_schedule|__iomap_dio_rw|iomap_dio\w*|bio_await\w*|submit_bio_wait|blkdev_\w+)",
}
# The C library's names may be on their way.
BEGINS = re.compile(r"(main|start_thread|(__GI_)?_*clone3?|libc\.so\.6\+0x[0-9a-f]+)$")
KERNEL = 1 << 63

Sum = collections.namedtuple("Sum", "n wall_ns cpu_ns off_ns")


class Look:
    """What a program said that it did up to a moment."""

    def __init__(self, lines=(), looked_ns=0):
        self.looked_ns, self.sums, self.threads = looked_ns, {}, {}
        for line in lines:
            if "function" in line:
                self.sums[line["way"], line["function"]] = Sum(
                    line["n"], line["wall_ns"], line["cpu_ns"], line["off_ns"])
            else:
                self.threads[line["tid"], line["begun_ns"]] = line

    def since(self, before):
        """What is between two looks."""
        found = Look(looked_ns=self.looked_ns - before.looked_ns)
        nothing = Sum(0, 0, 0, 0)
        found.sums = {key: Sum(*(a - b for a, b in zip(sum_, before.sums.get(key, nothing))))
                      for key, sum_ in self.sums.items()}
        for key, thread in self.threads.items():
            old = before.threads.get(key, {})
            found.threads[key] = thread | {name: thread[name] - old.get(name, 0) for name in (
                "wall_ns", "cpu_ns", "off_ns", "delay_ns", "slices", "waits")}
        return found

    def plus(self, other):
        found = Look(looked_ns=max(self.looked_ns, other.looked_ns))
        nothing = Sum(0, 0, 0, 0)
        found.sums = {key: Sum(*(a + b for a, b in zip(self.sums.get(key, nothing),
                                                       other.sums.get(key, nothing))))
                      for key in {*self.sums, *other.sums}}
        found.threads = self.threads | other.threads
        return found

    def ways(self):
        """Of the program's threads, not of the one that reads its commands."""
        return sorted({way for way, _ in self.sums if way})

    def wall_ns(self, way):
        return sum(s.wall_ns for (w, _), s in self.sums.items() if w == way)

    def off_ns(self, way):
        return sum(s.off_ns for (w, _), s in self.sums.items() if w == way)

    def cpu_ns(self, way):
        return sum(s.cpu_ns for (w, _), s in self.sums.items() if w == way)

    def delay_ns(self, way):
        return sum(t["delay_ns"] for t in self.threads.values() if t["way"] == way)


class Written:
    """A program that runs, and obeys."""

    def __init__(self, shop, program, *arguments, prefix=()):
        self.process = shop.start(*prefix, program, *map(str, arguments), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.pid, self.shop = self.process.pid, shop
        self.await_ready()

    def await_ready(self):
        line = self.read()
        if not line.startswith("ready "):
            raise RuntimeError(f"waits says {line!r}")

    def read(self):
        return self.process.stdout.readline().strip()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def go(self):
        self.say("go")
        return self.read() == "going"

    def join(self):
        """Until the threads have ended."""
        self.say("join")
        return self.read() == "ended"

    def look(self, command="look"):
        self.say(command)
        lines = []
        while True:
            line = json.loads(self.read())
            if "looked_ns" in line:
                return Look(lines, line["looked_ns"])
            lines.append(line)

    def become(self, program, *arguments):
        """What it did before it is another program."""
        before = self.look(" ".join(("exec", program, *map(str, arguments))))
        self.await_ready()
        return before

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.shop.end(self.process)
        return code


Wait = collections.namedtuple("Wait", "way function state call tid count off_ns cpu_ns kernel user "
                                      "is_complete")


def name_of(location):
    return location.lines[0].name if location.lines else ""


def in_kernel(location):
    return location.address >= KERNEL


def read_waits(profile):
    """The samples of a pprof_file.Pprof, each with its place in the program. Frames of inlined calls
    count as their own."""
    types = [name for name, _ in profile.types]
    off, cpu = (types.index(name) if name in types else None for name in ("off_cpu", "cpu"))
    for s in profile.samples:
        kernel = [name_of(at) for at in s.locations if in_kernel(at)]
        user = [line.name for at in s.locations if not in_kernel(at) for line in at.lines]
        way = next((name for name in user if re.fullmatch(r"way_\d+", name)), "")
        # The outermost: wake() works. What is in none, as the loop, is the account's.
        function = next((name for name in reversed(user) if name in FUNCTIONS),
                        "enter" if way else "")
        yield Wait(way, function, s.labels.get("state"), s.labels.get("wait"), s.labels.get("tid"),
                   s.count, s.values[off] if off is not None else 0,
                   s.values[cpu] if cpu is not None else 0, kernel, user,
                   s.labels.get("stack", "complete") == "complete")


class Waits:
    """Of one process, in one session."""

    def __init__(self, samples):
        self.all = list(samples)
        self.waits = [w for w in self.all if w.off_ns]
        self.ticks = [w for w in self.all if w.cpu_ns]

        self.off, self.cpu = collections.Counter(), collections.Counter()
        for w in self.all:
            self.off[w.way, w.function, w.state] += w.off_ns
            self.cpu[w.way] += w.cpu_ns

    def off_ns(self, way=None, function=None, state=None):
        return sum(ns for (w, f, s), ns in self.off.items()
                   if way in (None, w) and function in (None, f) and state in (None, s))

    def cpu_ns(self, way):
        return self.cpu[way]


@functools.cache
def is_scheduler(name):
    return bool(SCHEDULER.match(name))


class Switches:
    """All switches of the machine, as perf has them, for what cannot be known from each switch alone.

    There are machines on which some are not to be seen: none from threads of whoever runs the machine.
    The thread that has the CPU next is then seen to leave it, but not to get it, so nothing that looks at
    switches knows of the wait before. And where a thread that waits for a CPU is moved to another one's
    queue, the kernel's last_queued is the time of that: what it waited before is only in its sum."""

    SWITCH = re.compile(r"\s*\[(\d+)\]\s+([\d.]+):.*prev_pid=(-?\d+) .*prev_state=(\S+) .*next_pid=(-?\d+) ")
    OTHER = re.compile(r"\s*\[\d+\]\s+([\d.]+):.* pid=(-?\d+) prio=\d+ (target|orig)_cpu")
    EVENTS = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task")

    def __init__(self, shop):
        self.shop, self.path = shop, shop.path("switches.data")
        self.unseen, self.moved = collections.Counter(), collections.Counter()
        events = [part for event in self.EVENTS for part in ("-e", f"sched:{event}")]
        self.perf = shop.start("perf", "record", "-q", "-a", "-m", "4M", *events, "-o", self.path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, in_front=True)
        wait_for(lambda: os.path.exists(self.path) and os.path.getsize(self.path) > 0)

    def stop(self):
        """unseen and moved: {tid: nanoseconds} of waits whose end was not seen, and of waits for a CPU
        before a move to another one."""
        self.perf.send_signal(signal.SIGINT)
        self.perf.wait()
        self.shop.end(self.perf)
        with subprocess.Popen(["perf", "script", "-i", self.path, "-F", "cpu,time,trace"], text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
            self.read(p.stdout)
        os.unlink(self.path)
        return self

    def read(self, lines):
        on, left, queued = {}, {}, {}
        for line in lines:
            m = self.SWITCH.match(line)
            if m:
                cpu, at, tid, next_tid = m[1], float(m[2]), int(m[3]), int(m[5])
                # From idle to a thread perf loses some that others see.
                if on.get(cpu, 0) not in (0, tid) and tid in left:
                    self.unseen[tid] += round(1e9 * (at - left[tid]))
                on[cpu], left[tid] = next_tid, at
                queued.pop(next_tid, None)
                if m[4].startswith("R"):
                    queued[tid] = at
                else:
                    queued.pop(tid, None)
                continue
            m = self.OTHER.match(line)
            if not m:
                continue
            at, tid = float(m[1]), int(m[2])
            if m[3] == "target":
                queued.setdefault(tid, at)
            elif tid in queued:
                self.moved[tid] += round(1e9 * (at - queued[tid]))
                queued[tid] = at


def percent(part, whole):
    return f"{100 * part / whole:.2f}" if whole else "-"


class Judge:
    """Compares the @got waits of a program with what it did: at least @least, at most @most, two looks
    around the session's end, or one. @hz: how often a thread's clock ticks."""

    def __init__(self, check, name, got, least, most=None, hz=999, switches=None):
        self.check, self.name, self.least, self.most = check, name, least, most or least
        self.got = got
        self.period_ns = 1e9 / hz
        self.unseen = switches.unseen if switches else {}
        self.unseen_of, self.moved_of = collections.Counter(), collections.Counter()
        # A thread that wakes while profd reads its memory has no stack to its root: whose wait it is is
        # known, not in which function.
        rootless = collections.Counter()
        for w in got.waits:
            if not w.way and not w.is_complete:
                rootless[w.tid] += w.off_ns
        self.rootless_of = collections.Counter()
        for (tid, _), thread in self.most.threads.items():
            self.rootless_of[thread["way"]] += rootless.pop(tid, 0)
            self.unseen_of[thread["way"]] += self.unseen.get(tid, 0)
            self.moved_of[thread["way"]] += switches.moved.get(tid, 0) if switches else 0

    def allowance(self, part_ns, whole_ns, points=POINTS):
        share = min(1, max(0, part_ns / whole_ns))
        sigma_ns = (self.period_ns * whole_ns * share * (1 - share)) ** 0.5
        # What is seldom: a share of nearly 0 has no sigma, one tick more or less it has.
        return max(points * whole_ns, SIGMA * max(sigma_ns, self.period_ns))

    def near(self, got_ns, least_ns, most_ns, whole_ns, points=POINTS):
        """Whether that is so, and by how many of what is allowed it is not."""
        return (least_ns - self.allowance(least_ns, whole_ns, points) <= got_ns
                <= most_ns + self.allowance(most_ns, whole_ns, points))

    def judge(self, is_wall=False, stops=False, restarts=False):
        self.shares()
        self.sums(is_wall)
        self.states(stops)
        self.calls(restarts)
        self.stacks(stops)

    def shares(self):
        bad, worst = [], 0
        for way in self.least.ways():
            whole_ns = self.most.wall_ns(way)
            if not whole_ns:
                continue
            names = {f for w, f in self.most.sums if w == way}
            names |= {f for w, f, _ in self.got.off if w == way}
            for function in sorted(names - {"enter"}):
                # Where one ends and the other begins, the two do not agree on whose a stop is.
                of = ("work", "enter") if function == "work" else (function,)
                got = sum(self.got.off_ns(way=way, function=f) for f in of)
                least, most = (sum(look.sums[way, f].off_ns for f in of if (way, f) in look.sums)
                               for look in (self.least, self.most))
                least -= min(least, self.unseen_of[way] + self.rootless_of[way])
                distance = max(least - got, got - most, 0) / whole_ns
                worst = max(worst, distance)
                if not self.near(got, least, most, whole_ns):
                    bad.append(f"{way} {function}: {percent(got, whole_ns)} % for "
                               f"{percent(least, whole_ns)} to {percent(most, whole_ns)} %")
        self.check(not bad, f"{self.name}: shares of written waits", "; ".join(bad))
        print(f"  {self.name}: worst share is {100 * worst:.2f} points off")

    def more(self, way):
        """What the session has beyond the least: it began some time between two looks, in waits that
        have as much more."""
        return sum(min(max(0, self.got.off_ns(way, f) - self.least.sums[way, f].off_ns),
                       sum_.off_ns - self.least.sums[way, f].off_ns)
                   for (w, f), sum_ in self.most.sums.items() if w == way and (w, f) in self.least.sums)

    def sums(self, is_wall):
        """All waits of a way; with ticks on a CPU, all of its threads' time."""
        bad, told = [], []
        for way in self.least.ways():
            more = self.more(way)
            whole = self.least.wall_ns(way) + more
            got = self.got.off_ns(way=way) + self.rootless_of[way]
            true = self.least.off_ns(way) + more
            if not self.near(got, true - self.unseen_of[way], true, whole, EXACT):
                bad.append(f"{way} waits {percent(got, whole)} % for {percent(true, whole)} %")
            if not is_wall:
                continue
            ticks = self.got.cpu_ns(way=way)
            told.append(f"{way} {percent(got, whole)} + {percent(ticks, whole)}")
            # The two clocks are not the same one: a tick in each cell, but of each its own.
            cpu = self.most.cpu_ns(way)
            if not self.near(ticks, self.least.cpu_ns(way), cpu, whole, EXACT):
                bad.append(f"{way} has a CPU {percent(ticks, whole)} % for {percent(cpu, whole)} %")
            room = (self.allowance(got, whole, 0) ** 2 + self.allowance(cpu, whole, 0) ** 2) ** 0.5
            least = whole - self.unseen_of[way]
            if not least - max(EXACT * least, room) <= got + ticks <= whole + max(EXACT * whole, room):
                bad.append(f"{way} has {percent(got + ticks, whole)} % of its wall time")
        self.check(not bad, f"{self.name}: sums are the threads' time", "; ".join(bad))
        if told:
            print(f"  {self.name}: waits + CPU, % of wall time: {', '.join(told)}")
        # Threads begin and end outside of what is written, and so does the one that reads commands.
        all_ns = sum(map(self.most.wall_ns, self.least.ways()))
        # One that wakes while its stack is read has none to its root.
        strange = [w for w in self.got.waits
                   if not w.way and w.is_complete and w.user and not any(map(BEGINS.match, w.user))]
        self.check(sum(w.off_ns for w in strange) <= max(RARE * all_ns, 3 * self.period_ns),
                   f"{self.name}: waits are in the program's functions",
                   [w.kernel[:3] + w.user for w in strange[:3]])

    def seldom(self, odd, words):
        """What is odd of a function's waits, (function, ...): not more than happens by chance."""
        sums = collections.Counter()
        for (function, *_), ns in odd.items():
            sums[function] += ns
        bad = {function for function, ns in sums.items()
               if ns > max(RARE * self.got.off_ns(function=function), 3 * self.period_ns)}
        self.check(not bad, f"{self.name}: {words}",
                   [(key, f"{percent(ns, self.got.off_ns(function=key[0]))} %")
                    for key, ns in odd.most_common() if key[0] in bad][:6])

    def states(self, stops):
        """A state is one of those that the function can be in; threads that wait for a CPU do so
        for as long as the kernel says."""
        odd = collections.Counter()
        for w in self.got.waits:
            state = SLEEPS.get(w.function, ("runnable",))[0]
            good = w.state in STATES and (w.state in ("runnable", state)
                                          or stops and w.state == "stopped")
            if not good and not (w.function in EITHER and w.state in STATES[:3]):
                odd[w.function, w.state] += w.off_ns
        self.seldom(odd, "states are what the functions do")
        bad = []
        for way in self.least.ways():
            whole = self.most.wall_ns(way)
            got = self.got.off_ns(way=way, state="runnable")
            most = self.most.delay_ns(way)
            # What perf saw to be moved is most of what the scheduler forgets, not all of it.
            least = max(0, self.least.delay_ns(way) - self.unseen_of[way]
                        - 2 * self.moved_of[way]) * MOVED_UNSEEN
            if not self.near(got, least, most, whole, QUEUED_POINTS):
                bad.append(f"{way}: {percent(got, whole)} % for {percent(most, whole)} %")
        self.check(not bad, f"{self.name}: waits for a CPU are what schedstat says", "; ".join(bad))

    def calls(self, restarts):
        """The system call, where a thread waits for something; nothing where it waits for a CPU."""
        odd = collections.Counter()
        for w in self.got.waits:
            calls = SLEEPS.get(w.function, (None, set()))[1]
            if w.state == "runnable":
                good = w.call is None
            elif w.function not in SLEEPS or w.state == "stopped":
                continue
            else:
                good = w.call in calls or restarts and w.call == "restart_syscall"
            odd[w.function, w.state, w.call] += 0 if good else w.off_ns
        self.seldom(odd, "waits are named by their system call")

    def stacks(self, stops):
        """The leaf is the kernel's function that waits, the root is where threads begin."""
        waits = [w for w in self.got.waits if w.way]
        total = sum(w.off_ns for w in waits)
        seen = collections.Counter()
        for w in self.got.waits:
            for name in filter(is_scheduler, w.kernel):
                seen[name] += w.off_ns
        self.check(not seen, f"{self.name}: no frame is the scheduler's", seen.most_common(5))
        places = collections.Counter()
        for w in waits:
            if w.function in PLACES and w.state == SLEEPS[w.function][0] and not stops:
                if not w.kernel or not re.match(PLACES[w.function], w.kernel[0]):
                    places[w.function, (w.kernel or ["none"])[0]] += w.off_ns
        self.seldom(places, "the leaf is the kernel's function that waits")
        whole = sum(w.off_ns for w in waits if w.is_complete)
        self.check(whole >= COMPLETE * total, f"{self.name}: stacks are complete",
                   f"{percent(whole, total)} %")
        rootless = collections.Counter()
        for w in waits:
            if w.is_complete and not (BEGINS.match(w.user[-1]) and "thread_main" in w.user):
                rootless[tuple(w.user[-3:])] += w.off_ns
        self.check(sum(rootless.values()) <= RARE * total,
                   f"{self.name}: their root is where threads begin", rootless.most_common(3))

    def threads(self, queued=0):
        """Each thread by itself has what it waited: nobody's goes to others; but for some that were
        @queued when the session ended. Needs the label tid."""
        got = collections.Counter()
        for w in self.got.waits:
            if w.way or not w.is_complete:
                got[w.tid] += w.off_ns
        far, bad, n = 0, [], 0
        for key, most in self.most.threads.items():
            least = self.least.threads.get(key, most)
            if most["role"] != "cycle" or most["wall_ns"] < 20 * self.period_ns:
                continue
            n += 1
            tid, wall, high = key[0], most["wall_ns"], most["off_ns"]
            low = max(0, least["off_ns"] - self.unseen.get(tid, 0))
            far += not low - self.allowance(low, wall, 0) <= got[tid] <= high + self.allowance(
                high, wall, 0)
            if not low - 2 * self.allowance(low, wall) <= got[tid] <= high + 2 * self.allowance(
                    high, wall):
                bad.append(f"{tid}: {got[tid] / 1e9:.3f} s for {low / 1e9:.3f} to {high / 1e9:.3f}, "
                           f"{self.unseen.get(tid, 0) / 1e9:.3f} not to be seen")
        # On a busy machine a session begins and ends late by more than the noise of a few threads.
        few = 0.02 * n if n > FEW_THREADS else n / 2
        self.check(n and len(bad) <= max(1, 0.002 * n) + queued and far <= max(2, few) + queued,
                   f"{self.name}: each thread has its own",
                   f"{far} of {n} beyond {SIGMA} sigma; {bad[:4]}")
