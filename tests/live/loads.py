# SPDX-License-Identifier: MIT
"""Ordinary work for a whole machine, and samples of it as tests/support/stack_tool prints them."""
import glob
import os
import re
import shutil
import socket
import subprocess
import time

from harness import BUILD

TOOL = f"{BUILD}/tests/stack_tool"
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
C_FILES = 40
GIT_COMMITS = 300

C_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node_@ { struct node_@ *left, *right; char key[32]; double weight; };
static struct node_@ *insert_@(struct node_@ *n, const char *key, double weight)
{
	int order;
	if (!n) {
		n = calloc(1, sizeof(*n));
		snprintf(n->key, sizeof(n->key), "%s", key);
		n->weight = weight;
		return n;
	}
	order = strcmp(key, n->key);
	if (order < 0) n->left = insert_@(n->left, key, weight * 0.5);
	else if (order > 0) n->right = insert_@(n->right, key, weight * 2);
	else n->weight += weight;
	return n;
}
static double total_@(const struct node_@ *n)
{
	return n ? n->weight + total_@(n->left) + total_@(n->right) : 0;
}
double work_@(int argc, char **argv)
{
	struct node_@ *root = NULL;
	for (int i = 0; i < argc; i++) root = insert_@(root, argv[i], i * @);
	switch (argc) { case 1: return 1; case 2: return total_@(root); case 3: return -1; }
	return total_@(root) / argc;
}
"""

CXX_SOURCE = r"""
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct chain { static int go(int x) { return chain<N - 1>::go(x * N + 1); } };
template <> struct chain<0> { static int go(int x) { return x; } };
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<std::function<int(int)>>> table;
	for (int i = 0; i < argc; i++)
		table[argv[i]].push_back([i](int x) { return x + i; });
	std::regex pattern("([a-z]+)=([0-9]*)");
	std::cmatch match;
	for (auto &entry : table)
		if (std::regex_match(entry.first.c_str(), match, pattern))
			std::cout << match[1] << entry.second.front()(chain<200>::go(argc)) << "\n";
}
"""

PYTHON_SOURCE = r"""
import hashlib, json, re, zlib
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Point:
    def __init__(self, x): self.x = x
    def __lt__(self, other): return self.x < other.x
while True:
    fib(16)
    text = json.dumps([{"k%d" % i: [i, str(i)] for i in range(50)} for _ in range(20)])
    json.loads(text)
    zlib.compress(text.encode())
    hashlib.sha256(text.encode()).hexdigest()
    re.findall(r"k(\d+)[^\]]*\]", text)
    sorted(Point(i * 7919 % 1000) for i in range(1000))
"""

PERL_SOURCE = r"""
use strict; use List::Util qw(sum); use POSIX qw(floor);
sub depth { my $n = shift; return $n ? 1 + depth($n - 1) : 0 }
while (1) {
    my %count;
    my $text = join " ", map { "word" . ($_ * 7919 % 97) } 1 .. 2000;
    $count{$1}++ while $text =~ /(\w+)/g;
    my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    (my $copy = $text) =~ s/(\d+)/sprintf("%03d", $1)/ge;
    depth(50); floor(sum(values %count) / 3);
}
"""

NODE_SOURCE = r"""
const crypto = require("crypto");
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function work() {
  fib(18);
  const rows = Array.from({length: 300}, (_, i) => ({id: i, name: "row" + i, tags: [i, i * 2]}));
  const text = JSON.stringify(rows);
  JSON.parse(text).sort((a, b) => (a.name < b.name ? -1 : 1));
  crypto.createHash("sha256").update(text).digest("hex");
  text.replace(/row(\d+)/g, (_, n) => n * 2);
  setImmediate(work);
}
work();
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def c_project(shop, name="project"):
    """A folder with a makefile and C_FILES files."""
    folder = shop.path(name)
    os.mkdir(folder)
    numbers = range(1, C_FILES + 1)
    for i in numbers:
        shop.write(f"{name}/part{i}.c", C_SOURCE.replace("@", str(i)))
    calls = "".join(f"double work_{i}(int, char **);\n" for i in numbers)
    body = " + ".join(f"work_{i}(c, v)" for i in numbers)
    shop.write(f"{name}/main.c", f"{calls}int main(int c, char **v) {{ return {body} > 1; }}\n")
    shop.write(f"{name}/Makefile",
               "OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\nCFLAGS = -O1\n"
               "all: program\nprogram: $(OBJECTS)\n\tgcc -o $@ $^\n"
               "clean:\n\trm -f *.o program\n.PHONY: all clean\n")
    return folder


def git_repository(shop, name="repository"):
    """Some hundred commits to a few files."""
    folder = shop.path(name)
    lines, out = [], []
    for i in range(GIT_COMMITS):
        lines.append(f"line {i} {'x' * (i % 60)}")
        if len(lines) > 200:
            del lines[i % 150]
        text = "\n".join(lines) + "\n"
        out.append(f"commit refs/heads/main\ncommitter A <a@b> {1600000000 + i} +0000\n"
                   f"data 8\nchange\n\nM 644 inline file{i % 7}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input="".join(out), text=True,
                   check=True)
    return folder


class Loads:
    """Each of start_*() runs until the workshop ends its children."""

    def __init__(self, shop):
        self.shop = shop
        self.environment = {**os.environ, "PATH": SYSTEM_PATH, "LC_ALL": "C", "HOME": shop.folder,
                            "TMPDIR": shop.folder, "GIT_PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1"}
        self.started = {}

    def begin(self, name, *command):
        with open(self.shop.path(f"load-{name}.log"), "w", encoding="utf-8") as log:
            self.started[name] = self.shop.start(*command, env=self.environment,
                                                 stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL, stderr=log)
        return self.started[name]

    def loop(self, name, script, *arguments):
        """@script over and over; it ends with its first failure, which is then found dead()."""
        return self.begin(name, "sh", "-e", "-c", f"while :; do {script}\ndone", name, *arguments)

    def dead(self):
        """Loads that ended by themselves, with what they said."""
        found = []
        for name, child in self.started.items():
            if child.poll() is not None:
                with open(self.shop.path(f"load-{name}.log"), encoding="utf-8",
                          errors="replace") as f:
                    found.append(f"{name}: exit {child.returncode} {f.read()[-300:]}")
        return found

    def start_make(self, jobs=2):
        folder = c_project(self.shop)
        return self.loop("make", f'make -s -C "$1" clean && make -s -j{jobs} -C "$1" all', folder)

    def start_true(self):
        """Programs that live some milliseconds: from a shell, a pipe, a subshell."""
        return self.loop("true", "/bin/true; /bin/echo a | /bin/cat | /usr/bin/wc -c; "
                         "(/usr/bin/id -u; /bin/ls /); /usr/bin/env /usr/bin/expr 1 + 2")

    def start_cxx(self):
        source = self.shop.write("templates.cc", CXX_SOURCE)
        return self.loop("cxx", 'g++ -O1 -o "$2" "$1" && "$2" a=1 b=2', source,
                         self.shop.path("templates"))

    def start_python(self):
        self.loop("python-short", "/usr/bin/python3 -c 'import json, argparse'; sleep 0.2")
        return self.begin("python", "/usr/bin/python3", self.shop.write("work.py", PYTHON_SOURCE))

    def start_perl(self):
        return self.begin("perl", "perl", self.shop.write("work.pl", PERL_SOURCE))

    def start_node(self):
        return self.begin("node", "node", self.shop.write("work.js", NODE_SOURCE))

    def start_redis(self):
        """redis-tools has the server too: one program that goes by its name."""
        port = str(free_port())
        server = self.shop.path("redis-server")
        os.symlink(shutil.which("redis-check-rdb", path=SYSTEM_PATH), server)
        self.begin("redis", server, "--port", port, "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no", "--dir", self.shop.folder)
        for _ in range(100):
            done = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True,
                                  text=True, check=False)
            if "PONG" in done.stdout:
                break
            time.sleep(0.05)
        return self.loop("redis-benchmark", 'redis-benchmark -p "$1" -q -n 20000 -P 4', port)

    def start_git(self):
        folder = git_repository(self.shop)
        return self.loop("git", 'git -C "$1" log -p --stat >/dev/null; '
                         'git -C "$1" repack -a -d -f -q; git -C "$1" blame main file0', folder)

    def start_mixed(self):
        self.start_make()
        self.start_true()
        self.start_cxx()
        self.start_python()
        self.start_perl()
        self.start_node()
        self.start_redis()
        self.start_git()


def descendants(pid):
    found, waiting = set(), [pid]
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            try:
                with open(path, encoding="ascii") as f:
                    waiting += map(int, f.read().split())
            except OSError:
                pass  # it has ended
    return found


class Frame:
    """name+0xoff(module), module+0xoff or 0xaddress."""

    PATTERN = re.compile(r"(?:(.*)\+0x([0-9a-f]+)\(([^()]*)\)|(.*)\+0x([0-9a-f]+)|0x([0-9a-f]+))$")
    known = {}

    def __init__(self, text):
        m = self.PATTERN.match(text)
        self.text = text
        self.name = m[1] if m else None
        self.module = (m[3] or m[4]) if m else None
        self.offset = int(m[2] or m[5] or m[6], 16) if m else 0

    @classmethod
    def of(cls, text):
        frame = cls.known.get(text)
        if not frame:
            frame = cls.known[text] = cls(text)
        return frame


class Sample:
    __slots__ = ("time", "pid", "tid", "comm", "quality", "reason", "n_kernel", "user", "kernel")

    def __init__(self, fields):
        self.time, self.pid, self.tid = int(fields[0]), int(fields[1]), int(fields[2])
        self.comm, self.quality, self.reason = fields[3:6]
        self.n_kernel = int(fields[6])
        self.user = fields[7].split(";") if fields[7] else []
        self.kernel = fields[8].split(";") if len(fields) > 8 and fields[8] else []

    def last(self):
        return Frame.of(self.user[-1])


class Samples:
    """What stack_tool prints: samples, lives of processes, paths of modules, and its summary.

    family: the pids of what this test has started, whatever else runs on the machine.
    """

    def __init__(self, shop, *arguments):
        self.path = shop.path("samples")
        with open(self.path, "w", encoding="utf-8") as out:
            self.child = shop.start(TOOL, *map(str, arguments), stdout=out,
                                    stderr=subprocess.PIPE, text=True)
        self.shop, self.messages, self.samples, self.lives = shop, [], [], {}
        self.summary, self.paths, self.family = {}, {}, descendants(os.getpid())

    def ready(self):
        for line in self.child.stderr:
            if line.strip() == "ready":
                return True
            self.messages.append(line.strip())
        return False

    def finish(self, timeout=300):
        """Waits for the end and reads everything. The tool's exit status."""
        _, rest = self.child.communicate(timeout=timeout)
        self.messages += rest.splitlines()
        self.shop.end(self.child)
        with open(self.path, encoding="utf-8", errors="replace") as f:
            for line in f:
                fields = line.rstrip("\n").split("\t")
                if fields[0] == "event":
                    self.event(fields)
                elif len(fields) >= 8:
                    self.samples.append(Sample(fields))
        os.unlink(self.path)
        for line in self.messages:
            if line.startswith("summary "):
                self.summary = dict(part.split("=", 1) for part in line.split()[1:])
        return self.child.returncode

    def event(self, fields):
        when, kind, pid, tid = int(fields[1]), fields[2], int(fields[3]), int(fields[4])
        if kind == "fork":
            self.lives.setdefault(pid, []).append([when, None])
            if int(fields[5]) in self.family:
                self.family.add(pid)
        elif kind == "mmap" and fields[6].startswith("/"):
            self.paths[os.path.basename(fields[6])] = fields[6]
        elif kind == "exit" and tid == pid and self.lives.get(pid):
            self.lives[pid][-1][1] = when

    def life_ns(self, sample):
        """How long the sample's process lived; None: not born, or not dead, while we looked."""
        for born, died in reversed(self.lives.get(sample.pid, [])):
            if born <= sample.time:
                return died - born if died else None
        return None
