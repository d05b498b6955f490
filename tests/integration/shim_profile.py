# SPDX-License-Identifier: MIT
"""Profiles in gperftools' format, for the tests of the shim: google-pprof's view and the shim's."""
import os
import re
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SHIM = os.path.join(os.path.dirname(os.path.dirname(HERE)), "client", "shim")
FLAGS = ["-O1", "-g", "-Wall", "-Werror", "-D_GNU_SOURCE", "-fomit-frame-pointer", "-rdynamic",
         "-pthread", "-I" + os.path.join(SHIM, "compat"), "-I" + os.path.join(SHIM, "include")]


# Programs with many symbols take google-pprof seconds.
NAMELESS = "--tools=" + ",".join(f"{tool}:/bin/true" for tool in ("nm", "addr2line", "objdump",
                                                                  "c++filt"))


class Profile:
    """google-pprof's view of a file: samples of each function, its own and with its callees'; or
    of each address, if nobody wants names."""

    def __init__(self, program, file, has_names=True):
        done = subprocess.run(["google-pprof", "--text", "--nodecount=1000", "--nodefraction=0",
                               "--edgefraction=0", *([] if has_names else [NAMELESS]), program,
                               file], capture_output=True, text=True,
                              errors="replace", check=False, timeout=600,
                              env=dict(os.environ, PPROF_TMPDIR=os.path.dirname(file)))
        self.error = done.stderr if done.returncode else ""
        total = re.search(r"Total: (\d+) samples", done.stdout)
        self.total = int(total[1]) if total else 0
        self.flat, self.cum = {}, {}
        for m in re.finditer(r"(?m)^\s*(\d+)\s+\S+%\s+\S+%\s+(\d+)\s+\S+%\s+(\S+)", done.stdout):
            self.flat[m[3]] = self.flat.get(m[3], 0) + int(m[1])
            self.cum[m[3]] = self.cum.get(m[3], 0) + int(m[2])

    def share(self, name):
        return self.cum.get(name, 0) / max(self.total, 1)


def account(file):
    """What the library says of its ticks."""
    with open(file, "rb") as f:
        lines = re.findall(rb"(?m)^# profd shim (.*)\n\Z", f.read())
    return {k: int(v) for k, _, v in (p.partition("=") for p in lines[-1].decode().split())} \
        if lines else {}


def period(file):
    with open(file, "rb") as f:
        return struct.unpack("5Q", f.read(40))[3]


def is_whole(file):
    with open(file, "rb") as f:
        data = f.read()
    return data[:24] == struct.pack("3Q", 0, 3, 0) and data.endswith(b"\n") and \
        struct.pack("3Q", 0, 1, 0) in data


def records(file):
    """(count, addresses) of each stack, and (start, end) of each mapping."""
    with open(file, "rb") as f:
        data = f.read()
    words = struct.unpack(f"{len(data) // 8}Q", data[:len(data) // 8 * 8])
    at, stacks = 2 + words[1], []
    while words[at]:
        stacks.append((words[at], words[at + 2:at + 2 + words[at + 1]]))
        at += 2 + words[at + 1]
    mappings = [tuple(int(n, 16) for n in m.groups()) for m in
                re.finditer(rb"(?m)^([0-9a-f]+)-([0-9a-f]+) ..x", data[(at + 3) * 8:])]
    return stacks, mappings


def build(source, folder, library, *flags):
    """Links programs/@source with ours and with Debian's library: the two programs' paths."""
    name = os.path.join(folder, os.path.splitext(source)[0])
    command = ["gcc", *FLAGS, "-I" + os.path.dirname(os.path.dirname(HERE)), *flags, os.path.join(HERE, "programs", source), "-o"]
    subprocess.check_call([*command, f"{name}-ours", library,
                           "-Wl,-rpath," + os.path.dirname(library)])
    # By its file: Debian's package with the headers and the other name is not needed.
    subprocess.check_call([*command, f"{name}-theirs", "-l:libprofiler.so.0"])
    return f"{name}-ours", f"{name}-theirs"


def environment(**variables):
    """Of a program whose profile nothing but @variables (None: unset) decides on."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("CPUPROFILE") and k != "LD_PRELOAD"}
    return {**env, **{k: v for k, v in variables.items() if v is not None}}
