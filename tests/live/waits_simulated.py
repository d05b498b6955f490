# SPDX-License-Identifier: MIT
"""Profiles of waiting time as they should be, drawn from what a program did, and ways to spoil them:
what the judge is tried with."""
import random

from waits_judge import PLACES, SLEEPS, Look, Wait, Waits

ROOT = ["thread_main", "start_thread", "clone3"]
LEAVES = {"wait_nap": "hrtimer_nanosleep", "wait_futex": "futex_do_wait", "wait_pipe": "pipe_read",
          "wait_epoll": "ep_poll", "wait_poll": "poll_schedule_timeout",
          "wait_disk": "__iomap_dio_rw"}
assert set(LEAVES) == set(PLACES)
# What a program does that has a machine for itself: threads, and of their time in each function the
# parts without a CPU and with one.
QUIET = {
    "way_0": (1, {"wait_nap": (0.94, 0.01), "work": (0, 0.05)}),
    "way_1": (2, {"wait_futex": (0.92, 0.01), "work": (0, 0.07)}),
    "way_2": (1, {"wait_pipe": (0.89, 0.02), "work": (0, 0.09)}),
    "way_3": (1, {"wait_epoll": (0.25, 0), "wait_poll": (0.5, 0), "work": (0.01, 0.24)}),
    "way_4": (2, {"work": (0.5, 0.5)}),
    "way_5": (8, {"wait_nap": (0.99, 0), "work": (0, 0.01)}),
}


def quiet_look(seconds):
    """What such a program says of itself."""
    lines, tid = [], 1000
    for way, (n, functions) in QUIET.items():
        for function, (off, cpu) in functions.items():
            wall = round(n * (off + cpu) * seconds * 1e9)
            lines.append({"way": way, "function": function, "n": 100, "wall_ns": wall,
                          "cpu_ns": round(n * cpu * seconds * 1e9), "off_ns": round(n * off * seconds * 1e9)})
        off, cpu = (sum(parts) for parts in zip(*functions.values()))
        queued = sum(off for f, (off, _) in functions.items() if f not in SLEEPS)
        for tid in range(tid + 1, tid + 1 + n):
            lines.append({"way": way, "tid": tid, "begun_ns": tid, "role": "cycle", "slices": 100, "waits": 100,
                          "wall_ns": round(seconds * 1e9), "cpu_ns": round(cpu * seconds * 1e9),
                          "off_ns": round(off * seconds * 1e9), "delay_ns": round(queued * seconds * 1e9)})
    return Look(lines, round(seconds * 1e9))


def n_ticks(dice, n_cells, share):
    """Of so many cells, those whose tick is in what has this share of them."""
    share = min(1, max(0, share))
    mean = n_cells * share
    return max(0, round(dice.gauss(mean, (mean * (1 - share)) ** 0.5)))


def draw_way(dice, look, way, period):
    """(function, tid) of each tick without a CPU, and functions of those with one."""
    sums = {f: s for (w, f), s in look.sums.items() if w == way}
    waits, n_cells = [], 0
    for thread in look.threads.values():
        if thread["way"] == way and thread["wall_ns"]:
            cells = thread["wall_ns"] / period
            n = n_ticks(dice, cells, thread["off_ns"] / thread["wall_ns"])
            waits += [thread["tid"]] * n
            n_cells += round(cells)
    functions = dice.choices(list(sums), [max(0, s.off_ns) for s in sums.values()], k=len(waits))
    ticks = dice.choices(list(sums), [max(0, s.cpu_ns) for s in sums.values()],
                         k=max(0, n_cells - len(waits)))
    return list(zip(functions, waits)), ticks


def draw(look, hz, seed, is_wall=False):
    """A profile of a program that did what @look says."""
    dice, found, period = random.Random(seed), [], round(1e9 / hz)
    for way in look.ways():
        others = sum(s.off_ns for (w, f), s in look.sums.items() if w == way and f not in SLEEPS)
        slept = max(1, look.off_ns(way) - others)
        runnable = min(1, max(0, look.delay_ns(way) - others) / slept)
        waits, ticks = draw_way(dice, look, way, period)
        for function, tid in waits:
            state, calls = SLEEPS.get(function, ("runnable", ["none"]))
            is_queued = function not in SLEEPS or dice.random() < runnable
            found.append(Wait(way, function, "runnable" if is_queued else state,
                              None if is_queued else sorted(calls)[0], tid, 1, period, 0,
                              [LEAVES.get(function, "do_wait"), "do_syscall_64"],
                              [function, way, *ROOT], True))
        if is_wall:
            found += [Wait(way, function, None, None, 0, 1, 0, period, [], [function, way, *ROOT], True)
                      for function in ticks]
    return Waits(found)


def is_in(*functions):
    return lambda w: w.off_ns and w.function in functions


def change(part, dice, which=lambda w: w.off_ns, **fields):
    """A part of some waits, chosen by chance, has other fields; or is left out, without any."""
    def spoil(waits):
        found = []
        for w in waits.all:
            if not which(w) or dice.random() >= part:
                found.append(w)
            elif fields:
                found.append(w._replace(**{name: value(w) if callable(value) else value
                                           for name, value in fields.items()}))
        return Waits(found)
    return spoil


def spoilt(seed):
    """{what is wrong: (function that makes it so, words of a check that must fail)}."""
    dice = random.Random(seed)

    def some(part, *more, **fields):
        return change(part, dice, *more, **fields)
    return {
        "a kind of waits is lost": (some(1, is_in("wait_pipe")), "shares of"),
        "a third of the naps is lost": (some(0.33, is_in("wait_nap")), "shares of"),
        "long waits have the weight of a tick": (
            some(0.9, is_in("wait_futex"), off_ns=1), "shares of"),
        "one function's are another's": (
            some(1, is_in("wait_epoll"), function="wait_poll"), "shares of"),
        "some are counted twice": (some(0.08, off_ns=lambda w: 2 * w.off_ns), "sums are"),
        "each weighs a little less": (some(1, off_ns=lambda w: w.off_ns * 0.93), "sums are"),
        "a wait is a thread's that is none of the way's": (some(0.3, tid=1), "each thread"),
        "waits that nobody wrote": (some(0.05, way="", function="", user=["of-others"]), "in the program's functions"),
        "the queue is a sleep": (
            some(1, is_in("work"), state="sleep"), "states are"),
        "a sleep is the queue": (
            some(0.3, is_in("wait_futex"), state="runnable", call=None), "waits for a CPU are"),
        "disks are sleeps without a name": (some(1, is_in("wait_nap"), state=None), "states are"),
        "a system call is missing": (some(0.2, is_in("wait_pipe"), call=None), "system call"),
        "a system call of the time before": (
            some(0.2, is_in("wait_nap"), call="futex"), "system call"),
        "who is queued has a call": (some(0.5, is_in("work"), call="futex"), "system call"),
        "the scheduler's frames are kept": (
            some(0.01, kernel=lambda w: ["__schedule", "schedule", *w.kernel]), "scheduler's"),
        "the leaf is a caller": (
            some(0.1, is_in("wait_futex"), kernel=["do_futex", "do_syscall_64"]), "leaf is"),
        "stacks end too soon": (some(0.1, is_complete=False), "complete"),
        "stacks begin in the middle": (
            some(0.1, user=lambda w: w.user[:2]), "root is"),
    }


def spoilt_walls(seed):
    """Of profiles with ticks on CPUs as well."""
    dice = random.Random(seed)
    return {
        "ticks on CPUs are lost": (
            change(1, dice, lambda w: w.cpu_ns), "sums are"),
        "what waits is also on a CPU": (
            lambda waits: Waits(waits.all + [w._replace(off_ns=0, cpu_ns=w.off_ns)
                                             for w in waits.waits if dice.random() < 0.1]),
            "sums are"),
    }
