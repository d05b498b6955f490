# SPDX-License-Identifier: MIT
"""What the installed package must show in any machine of machine.py or emulated.py: installed it is
quiet, enabled it writes profiles of Redis under load and of a plain C program.
"""
import json
import os
import re
import subprocess

import machine
import packages
from frames import KernelNames, count_frames, functions, in_kernel
from harness import KNOWN_WARNINGS, Results, ledger_gap
from machine import call
from pprof_file import Pprof
from upkeep import same_pid, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
STATE = "/var/lib/profd"
CONF = "/etc/profd/profd.conf"
SETTINGS = {"interval": "5s", "frequency": "499", "min_free": "0", "max_cpu": "99%",
            "formats": "pprof,legacy,images"}
DROP_IN = "[Service]\nWatchdogSec=10\n"
EXPOSURE = 25  # tenths, of systemd-analyze security; it calls up to 40 "OK"
LOAD = "/usr/local/bin/load"
REDIS = "/usr/bin/redis-check-rdb"  # the server, too
REDIS_SOCKET = "/run/redis/redis-server.sock"
REDIS_CONF = f"port 0\nunixsocket {REDIS_SOCKET}\nsave \"\"\n"
LOADS = {"redis-server.service": {"processCommand", "aeMain"},
         "load.service": {"load_user", "load_calls", "load_faults"}}
check = Results()


def apt(m, *arguments):
    return m.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes",
                 "-o", "Dpkg::Options::=--force-confold", *arguments, timeout=120)


def active(m):
    return m.show("profd", "ActiveState", "SubState") == ["active", "running"]


def enabled(m, unit):
    return m.out("systemctl", "is-enabled", unit)


def version(m):
    return m.out("dpkg-query", "-W", "-f", "${Version}", "profd")


def prepare(m, debs):
    """Before it boots: an archive of @debs that apt trusts, Redis, and a program to profile."""
    packages.archive(m.path("/archive"), debs)
    m.write("/etc/apt/sources.list", "deb [trusted=yes] file:/archive ./\n")
    with open(m.path("/etc/redis/redis.conf"), "a", encoding="utf-8") as f:
        f.write(REDIS_CONF)
    subprocess.check_call(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-no-pie", "-o",
                           m.path(LOAD), os.path.join(HERE, "load.c")])


def update(m):
    done = apt(m, "update")
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def boot_shared(m, debs):
    """One that runs on our kernel (machine.py), with prepare()."""
    prepare(m, debs)
    m.write("/etc/systemd/system/profd.service.d/test.conf", DROP_IN)
    m.boot()
    update(m)


def configure(m):
    with open(m.path(CONF), encoding="utf-8") as f:
        text = f.read()
    for key, value in SETTINGS.items():
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    m.write(CONF, text)


def start_benchmark(m, options=()):
    m.start("benchmark", "redis-benchmark", "-s", REDIS_SOCKET, "-l", "-q", "-t", "set,get",
            options=options)


def start_load(m):
    """Returns a pid that means the same process in the machine and outside of it."""
    start_benchmark(m)
    pid = same_pid()
    m.start("load", LOAD, "pid", str(pid))
    wait_for(lambda: os.path.exists(f"/proc/{pid}"))
    return pid


def judge_install(m, first):
    done = apt(m, "install", "--no-install-recommends", f"profd={first}")
    if not check(done.returncode == 0 and version(m) == first, "apt-get install profd",
                 done.stdout + done.stderr):
        return False
    for unit in ("profd.service", "profd.socket", "profd-gateway.service"):
        have = enabled(m, unit), m.show(unit, "ActiveState")[0]
        check(have == ("disabled", "inactive"), f"{unit} is neither enabled nor started", have)
    done = m.run("profctl", "status")
    check(done.returncode == 3 and done.stderr.count("\n") == 1, "profctl says that there is none",
          f"{done.returncode}: {done.stderr}")
    users = m.out("getent", "passwd", "profd", "profd-gateway").splitlines()
    check(len(users) == 2, "it has its users", users)
    done = m.run("systemd-analyze", "verify", "--man=no", "profd.service", "profd.socket",
                 "profd-gateway.service")
    check(done.returncode == 0 and not done.stdout + done.stderr, "systemd-analyze verify",
          done.stdout + done.stderr)
    return True


def windows(m, service, ending):
    """Where they lie in the machine."""
    return m.files(f"{STATE}/services/{service}/*/*{ending}")


def google_functions(program, files):
    done = call("google-pprof", "--text", "--nodecount=1000", "--nodefraction=0", program, *files)
    return set(re.findall(r"(?m)^\s*\d+\s+[\d.]+%\s+[\d.]+%\s+\d+\s+[\d.]+%\s+(\S+)", done.stdout))


def judge_enable(m):
    done = m.run("systemctl", "enable", "--now", "profd")
    text, = m.show("profd", "StatusText")
    if not check(done.returncode == 0 and active(m) and text.startswith("Sampling "),
                 "systemctl enable --now profd",
                 done.stderr + text + m.out("journalctl", "-u", "profd", "--no-pager")):
        return False
    check(m.show("profd.socket", "ActiveState") == ["active"], "its socket is there")
    return True


def judge_profiles(m):
    wait_for(lambda: all(len(windows(m, s, ".pb.gz")) >= 3 and len(windows(m, s, ".prof")) >= 2
                         for s in LOADS), 30 * m.patience, pause=0.1 * m.patience)
    names = KernelNames(m.kernel_symbols())
    # google-pprof looks for programs where they were mapped.
    machine.must("mount", "--bind", m.path(REDIS), REDIS)
    programs = {"redis-server.service": REDIS, "load.service": m.path(LOAD)}
    for service, wanted in LOADS.items():
        # The first one is a part of a window.
        files = m.fetch(windows(m, service, ".pb.gz")[1:])
        check(len(files) >= 2, f"windows of {service}", files)
        profiles = [Pprof(file) for file in files]
        for file, profile in zip(files, profiles):
            have = functions(count_frames([profile], lambda f: not in_kernel(f)))
            check(wanted <= have, f"functions of {service}", f"{file}: {sorted(have)}")
        names.judge(check, service, profiles)
        files = m.fetch(windows(m, service, ".prof"))
        have = google_functions(programs[service], files)
        check(len(files) >= 2 and wanted & have, f"google-pprof of {service}",
              f"{len(files)} files: {sorted(have)}")


def judge_start(m, pid):
    done = m.run("profctl", "start", str(pid), "-F", "999")
    number = done.stdout.strip()
    if not check(done.returncode == 0 and re.fullmatch(r"s\d+", number), "profctl start PID",
                 done.stderr):
        return
    m.run("sleep", "2")
    done = m.run("profctl", "stop", str(pid))
    files = done.stdout.split()
    check(done.returncode == 0 and any(f.endswith(".pb.gz") for f in files) and
          any(f.endswith(".prof") for f in files), "profctl stop PID prints its files",
          done.stdout + done.stderr)
    profiles = [Pprof(f) for f in m.fetch(f for f in files if f.endswith(".pb.gz"))]
    have = functions(count_frames(profiles, lambda f: not in_kernel(f)))
    check(LOADS["load.service"] <= have, "a closer look at a process", sorted(have))
    done = m.run("profctl", "start", "999999")
    check(done.returncode == 1 and not done.stdout, "a process that is not there is refused",
          done.stderr)


def judge_waits(m):
    """Redis's clients are woken by Redis, under the installed unit's restrictions."""
    doctor = m.run("profctl", "doctor").stdout
    line = next((line for line in doctor.splitlines() if "waiting time" in line), "")
    check(line.split()[:1] == ["ok"], "waiting time can be had", doctor)
    done = m.run("profctl", "record", "--off-cpu", "--wakers", "-s", "benchmark.service", "-d", str(2 * m.patience),
                 "-o", "/var/tmp/waits.pb.gz", timeout=300)
    if not check(done.returncode == 0, "profctl record --off-cpu --wakers", done.stderr):
        return
    done = m.run("profctl", "report", "--waits", "--idle", "--json", "/var/tmp/waits.pb.gz")
    told = json.loads(done.stdout) if done.returncode == 0 else {"total": 0, "waits": []}
    times = {}
    for row in told["waits"]:
        if row["wait"] in ("epoll_wait", "epoll_pwait"):
            times[row["waker"]] = times.get(row["waker"], 0) + row["time"]
    by_redis = sum(time for waker, time in times.items() if (waker or "").startswith("redis-server"))
    check(times and by_redis > 0.5 * sum(times.values()), "clients wait until Redis answers", told or done.stderr)


def judge_ledger(m):
    done = m.run("profctl", "status", "--json")
    status = json.loads(done.stdout) if done.returncode == 0 else {}
    if check(status.get("ledger", {}).get("seen", 0) > 0, "profctl status", done.stderr):
        check(not ledger_gap(status), "the ledger closes", ledger_gap(status))


def judge_exposure(m):
    done = m.run("systemd-analyze", "security", "--no-pager", f"--threshold={EXPOSURE}",
                 "profd.service")
    check(done.returncode == 0, "systemd-analyze security", done.stdout[-200:] + done.stderr)


def judge_journal(m):
    lines = [line for line in m.out("journalctl", "-u", "profd", "-u", "profd.socket", "-p",
                                    "warning", "-o", "cat", "--no-pager").splitlines()
             if not any(known in line for known in KNOWN_WARNINGS)]
    check(not lines, "no warning in the journal", lines)


def judge_purge(m, *names):
    done = apt(m, "purge", *names)
    left = m.run("find", "/", "-xdev", "-path", "/archive", "-prune", "-o", "-path", "/proc",
                 "-prune", "-o", "-name", "*profd*", "-print").stdout.split()
    left += m.run("find", "/run", "-name", "*profd*").stdout.split()
    # What we made, and what systemd has of our services.
    strange = [path for path in left if not re.match(
        r"/etc/systemd/system/profd\.service\.d$|/run/systemd/|/hostproc|.*profd-e2e", path)]
    check(done.returncode == 0 and not strange, "purged, nothing is left", strange)
