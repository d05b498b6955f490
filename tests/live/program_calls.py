# SPDX-License-Identifier: MIT
"""How many system calls profd's main process makes for each program that begins and ends."""
import signal
import subprocess
import time

SECONDS = 8
CALLS = ("bpf", "epoll_wait", "gettid", "newfstatat", "openat", "read", "clock_gettime")
PROGRAM = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"  # some milliseconds


def count_calls(profd, work):
    """(what work() returned, calls by name, all of them as "all"), by `perf stat`"""
    out = profd.shop.path("perf.csv")
    events = ["raw_syscalls:sys_enter"] + [f"syscalls:sys_enter_{name}" for name in CALLS]
    perf = subprocess.Popen(["perf", "stat", "-x,", "-o", out, "-e", ",".join(events), "-p",
                             str(profd.process.pid)])
    time.sleep(0.5)
    result = work()
    perf.send_signal(signal.SIGINT)
    perf.wait()
    with open(out, encoding="utf-8") as f:
        rows = [line.split(",") for line in f if line.count(",") > 3]
    return result, {row[2].replace("raw_syscalls:sys_enter", "all").split("enter_")[-1]: int(row[0])
                    for row in rows}


def run_programs():
    n, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        subprocess.run(["/bin/sh", "-c", PROGRAM], check=True)
        n += 1
    return n


def count_rounds(profd, rounds):
    """In turns nothing runs, and one program after the other. Of each round, calls by name for each
    program, beyond those without any; as "ms" the time for each, as "unrest" how much the calls
    without any differ before and after it, which others bring about."""
    found = []
    _, before = count_calls(profd, lambda: time.sleep(SECONDS))
    for _ in range(rounds):
        n, busy = count_calls(profd, run_programs)
        _, after = count_calls(profd, lambda: time.sleep(SECONDS))
        found.append({name: (busy[name] - (before[name] + after[name]) / 2) / n for name in busy})
        found[-1].update(ms=1000 * SECONDS / n, unrest=abs(after["all"] - before["all"]) / n)
        before = after
    return found
