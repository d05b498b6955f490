# SPDX-License-Identifier: MIT
"""What an installed profd does over the years: configured wrongly, restarted again and again, its
store kept small, and debug files fetched by its gateway."""
import datetime
import glob
import http.server
import json
import os
import re
import threading
import time

from frames import count_frames, functions, in_kernel
from harness import wait_for
from machine import must
from pprof_file import Pprof, process_totals

HERE = os.path.dirname(os.path.abspath(__file__))
STATE = "/var/lib/profd"
CONF_D = "/etc/profd/profd.conf.d"
GATEWAY = "/lib/systemd/system/profd-gateway.service"
EXPOSURE = 15  # tenths
RESTARTS = 10
KEPT = 3       # windows of each service
AGE, AGE_S = "1m", 60  # the least that max_age may be
BARE = "bare.service"
BARE_FUNCTIONS = {"load_user", "load_calls", "main"}


def same_pid():
    """A pid that is free here, and may mean the same process in the machine (load.c)."""
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        pid = int(f.read()) - 1000
    while os.path.exists(f"/proc/{pid}"):
        pid -= 1
    return pid


def journal(m, unit, *options):
    return m.out("journalctl", "-u", unit, "-o", "cat", "--no-pager", *options).splitlines()


class Servers(http.server.ThreadingHTTPServer):
    """Debug files by build id, as debuginfod(8) has them; the machine shares our loopback."""
    daemon_threads = True

    def __init__(self):
        self.files = {}
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # its name is http.server's
        m = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
        path = self.server.files.get(m and m[1])
        if not path:
            self.send_error(404)
            return
        with open(path, "rb") as f:
            data = f.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        pass


def make_bare(m, server):
    """A program without names, whose debug file @server has. Returns its build id."""
    path, debug = m.path("/usr/local/bin/bare"), os.path.join(m.work, "bare.debug")
    must("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-no-pie", "-Wl,--build-id=sha1", "-o",
         path, os.path.join(HERE, "load.c"))
    must("objcopy", "--only-keep-debug", path, debug)
    must("strip", path)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", must("readelf", "-n", path))[1]
    server.files[build_id] = debug
    return build_id


def newest_functions(m, service, after):
    """Those of user code in the windows of @service that are not among @after."""
    files = set(glob.glob(m.path(f"{STATE}/services/{service}/*/*.pb.gz"))) - set(after)
    return functions(count_frames([Pprof(f) for f in files], lambda f: not in_kernel(f)))


def judge_gateway_unit(m, check):
    done = m.run("systemd-analyze", "security", "--no-pager", "--offline=true",
                 f"--threshold={EXPOSURE}", GATEWAY)
    check(done.returncode == 0, "gateway: systemd-analyze security",
          done.stdout[-200:] + done.stderr)
    m.write(f"{CONF_D}/debuginfod.conf", "[debuginfod]\nenabled=yes\n")
    m.run("systemctl", "start", "profd-gateway")

    def words():
        return [line for line in journal(m, "profd-gateway") if "names no server" in line]

    wait_for(lambda: m.show("profd-gateway", "ActiveState") == ["failed"] and words())
    time.sleep(0.5)  # in which it is not to be tried again
    have = m.show("profd-gateway", "ActiveState", "ExecMainStatus", "NRestarts")
    said = words()
    check(have == ["failed", "1", "0"] and len(said) == 1,
          "gateway: configured wrongly, it says so once and is not tried again", (have, said))


def judge_gateway(m, check):
    """Names from a server, by way of the unit as it is shipped."""
    judge_gateway_unit(m, check)
    server = Servers()
    build_id = make_bare(m, server)
    m.start("bare", "/usr/local/bin/bare", "pid", str(same_pid()))
    windows = f"{STATE}/services/{BARE}/*/*.pb.gz"
    wait_for(lambda: len(glob.glob(m.path(windows))) >= 2)
    check(not BARE_FUNCTIONS & newest_functions(m, BARE, ()), "gateway: there are no names yet",
          newest_functions(m, BARE, ()))
    m.write(f"{CONF_D}/debuginfod.conf", f"[debuginfod]\nenabled=yes\nurls={server.url}\n")
    m.run("systemctl", "reload", "profd")
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    done = m.run("systemctl", "enable", "--now", "profd-gateway")
    check(done.returncode == 0 and m.show("profd-gateway", "ActiveState") == ["active"],
          "systemctl enable --now profd-gateway", done.stderr)
    file = f"/var/cache/profd/debuginfo/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    came = wait_for(lambda: os.path.exists(m.path(file)))
    check(came and m.out("stat", "-c", "%U:%G %a", file) == "profd-gateway:profd 644",
          "gateway: the debug file comes", journal(m, "profd-gateway"))
    before = glob.glob(m.path(windows))
    check(wait_for(lambda: BARE_FUNCTIONS <= newest_functions(m, BARE, before)),
          "gateway: the next windows have the names", newest_functions(m, BARE, before))
    said = journal(m, "profd-gateway", "-p", "warning", "--since", since)
    check(not said, "gateway: it has nothing to complain of", said)
    said = journal(m, "profd-gateway", "--since", since)
    check(any(f"debug file {build_id}: fetched" in line for line in said),
          "gateway: its log names what it fetched", said)
    m.write(f"{CONF_D}/debuginfod.conf", "[debuginfod]\nenabled=no\n")
    m.run("systemctl", "restart", "profd-gateway")

    def state():
        return m.show("profd-gateway", "ActiveState", "Result", "ExecMainStatus")

    wait_for(lambda: state()[0] not in ("active", "deactivating"))
    check(state() == ["inactive", "success", "0"], "gateway: not wanted, it ends with success", state())
    m.run("systemctl", "disable", "profd-gateway")
    m.run("systemctl", "stop", "bare")
    os.unlink(m.path(f"{CONF_D}/debuginfod.conf"))
    server.shutdown()


def judge_restarts(m, check):
    for i in range(RESTARTS):
        done = m.run("systemctl", "restart", "profd")
        if done.returncode:
            break
    check(not done.returncode and m.show("profd", "ActiveState") == ["active"],
          f"{RESTARTS} restarts in a row", f"{i}: {done.stderr}")


def judge_bad_conf(m, check):
    """It ends, is not tried again, says why in a line, and lets nobody wait."""
    bad = f"{CONF_D}/bad.conf"
    words = f"{bad}:2: "
    m.write(bad, "[sampling]\nfrequenzy=3\n")
    done = m.run("systemctl", "restart", "profd")
    time.sleep(2.5)  # longer than it takes to try again
    have = m.show("profd", "ActiveState", "Result", "ExecMainStatus", "NRestarts")
    check(done.returncode and have == ["failed", "exit-code", "1", "0"],
          "configured wrongly, profd ends and is not tried again", have)
    text = m.run("systemctl", "status", "--no-pager", "--full", "profd").stdout
    check(text.count(words) == 1 and "frequenzy" in text, "systemctl status tells why, in a line",
          text)
    begin = time.monotonic()
    done = m.run("profctl", "status")
    seconds = time.monotonic() - begin
    check(done.returncode == 3 and done.stderr.count("\n") == 1 and seconds < 10,
          "and profctl does not wait for it", f"{done.returncode} after {seconds:.1f} s: "
          f"{done.stderr}")
    said = [line for line in journal(m, "profd") if words in line]
    check(len(said) <= 10, "asking does not start it again and again", len(said))
    os.unlink(m.path(bad))
    done = m.run("systemctl", "start", "profd")
    check(done.returncode == 0 and m.run("profctl", "status").returncode == 0,
          "configured well, it starts", done.stderr)


class Missing:
    """What a program misses of its samples from here to judge()."""

    def __init__(self, m, pid, service):
        self.m, self.pid, self.service = m, pid, service
        m.out("profctl", "flush")
        self.begin = self.used(), self.sampled()

    def used(self):
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0])

    def sampled(self):
        files = glob.glob(self.m.path(f"{STATE}/services/{self.service}/*/*.pb.gz*"))
        return sum(process_totals(file, self.pid)[2] for file in files)

    def judge(self, check, name):
        self.m.out("profctl", "flush")
        used, sampled = self.used() - self.begin[0], self.sampled() - self.begin[1]
        print(f"  {sampled / 1e9:.2f} s sampled of {used / 1e9:.2f} s")
        check(0 < sampled and used - sampled < 1e9, name, f"{sampled} of {used} ns")


class Shelf:
    """What the store has of a service."""

    def __init__(self, m, service):
        self.m, self.folder = m, m.path(f"{STATE}/services/{service}")

    def windows(self):
        return sorted(glob.glob(f"{self.folder}/*/*.pb.gz"))

    def exists(self):
        return os.path.exists(self.folder)


def configure_store(m, **keys):
    m.write(f"{CONF_D}/store.conf", "[store]\n" + "".join(f"{k}={v}\n" for k, v in keys.items()))
    m.run("systemctl", "reload", "profd")
    wanted = [f"{key} = {value}" for key, value in keys.items()]
    if not wait_for(lambda: not set(wanted) - set(m.out("profctl", "config").splitlines())):
        raise RuntimeError(f"{wanted}: {journal(m, 'profd')[-3:]}")
    m.out("profctl", "flush")


def end_of(name):
    """Of the window with that file name, Unix time."""
    start, length = re.match(r"(\w+)-(\d+)s", os.path.basename(name)).groups()
    moment = datetime.datetime.strptime(start + "+0000", "%Y%m%dT%H%M%SZ%z")
    return moment.timestamp() + int(length)


def oldest_age(m):
    """Of all windows but the newest of each service, seconds since their end."""
    oldest, now = 0, time.time()
    for folder in glob.glob(m.path(f"{STATE}/services/*")):
        for file in sorted(glob.glob(f"{folder}/*/*.pb.gz"))[:-KEPT]:
            oldest = max(oldest, now - end_of(file))
    return oldest


def n_protected(m):
    return sum(min(KEPT, len(glob.glob(f"{folder}/*/*.pb.gz")))
               for folder in glob.glob(m.path(f"{STATE}/services/*")))


def n_windows(m):
    return len(glob.glob(m.path(f"{STATE}/services/*/*/*.pb.gz")))


def judge_list(m, check, shelf, service):
    have = json.loads(m.out("profctl", "list", "-s", service, "--json"))
    names = [os.path.basename(f) for f in shelf.windows()]
    check(have and len([w for w in have if w["format"] == "pprof"]) == len(names),
          "profctl list: each window of a service", (have[:3], names))
    text = m.out("profctl", "list")
    check(service in text, "profctl list: the services", text)


def judge_epoch(m, check):
    first, second = m.out("profctl", "epoch"), m.out("profctl", "epoch")
    check(re.fullmatch(r"\d{10}", first) and first[:8] == second[:8], "profctl epoch",
          (first, second))
    m.out("profctl", "flush")
    time.sleep(1)
    m.out("profctl", "flush")
    check(glob.glob(m.path(f"{STATE}/images/{second}/*/*")), "images are counted in the new epoch",
          m.out("ls", f"{STATE}/images"))


def judge_retention(m, check, service):
    """@service: one that was stopped and has windows; others go on."""
    shelf = Shelf(m, service)
    before = shelf.windows()
    judge_list(m, check, shelf, service)
    judge_epoch(m, check)
    check(n_windows(m) > n_protected(m), "there are older ones", (n_windows(m), n_protected(m)))
    time.sleep(max(0, end_of(before[-1]) + AGE_S + 2 - time.time()))
    configure_store(m, max_age=AGE, min_free=0)
    age = oldest_age(m)
    check(age < AGE_S + 5 and not shelf.windows(), "max_age: the newest windows go, too", age)
    done = m.run("profctl", "vacuum", "--max-age", "1s", "--json")
    freed = json.loads(done.stdout or "{}").get("freed_files", 0)
    check(freed > 0 and oldest_age(m) < 10, "profctl vacuum", (freed, oldest_age(m)))
    configure_store(m, max_size="1M", min_free=0)
    store = json.loads(m.out("profctl", "status", "--json"))["store"]
    check(store["bytes"] <= 1 << 20 or n_windows(m) == n_protected(m), "max_size", store)
    configure_store(m, min_free="1000G")
    check(n_windows(m) == n_protected(m), "min_free: all goes but the newest",
          (n_windows(m), n_protected(m)))
    configure_store(m, max_age=AGE, keep_windows=0, min_free=0)
    check(not shelf.exists(), "without any to keep, a service's folder goes", shelf.windows())
    empty = m.out("find", STATE, "-mindepth", "2", "-type", "d", "-empty")
    check(not empty, "there are no empty folders", empty)
    os.unlink(m.path(f"{CONF_D}/store.conf"))
    m.run("systemctl", "reload", "profd")
