# SPDX-License-Identifier: MIT
"""Which names an address may have, by binutils and /proc/kallsyms, and whether a profile's do."""
import bisect
import collections
import importlib.machinery
import importlib.util
import os
import re
import struct
import subprocess

from pprof_file import KERNEL, is_named

DEBUG = "/usr/lib/debug/.build-id"
INTEGRATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration")


def load_script(name):
    """A test without .py, as a module: what reads readelf's answers is written once."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  os.path.join(INTEGRATION, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


names_oracle = load_script("names-oracle")


def segments(path):
    """[(virtual address, offset, length in the file)] of a 64-bit file, executable ones first."""
    with open(path, "rb") as f:
        head = f.read(64)
        offset, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        f.seek(offset)
        table = f.read(size * count)
    found = []
    for i in range(count):
        kind, flags, offset, vaddr, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind == 1:
            found.append((not flags & 1, vaddr, offset, length))
    return [s[1:] for s in sorted(found)]


def build_id(path):
    m = re.search(r"Build ID: ([0-9a-f]+)", names_oracle.run("readelf", "-n", path).stdout)
    return m[1] if m else ""


def debug_file(path):
    number = build_id(path)
    debug = f"{DEBUG}/{number[:2]}/{number[2:]}.debug"
    return debug if number and os.path.exists(debug) else None


class Image:
    """All symbols of a file, of its debug file and of @others, which are the same program."""

    def __init__(self, path, others=()):
        self.segments = segments(path)
        self.tables = []
        sections = names_oracle.read_sections(path)
        for file in filter(None, (path, debug_file(path), *others)):
            found = names_oracle.read_symbols(file, (".symtab", ".dynsym"),
                                              names_oracle.read_sections(file))
            self.tables += [names_oracle.Table(t) for t in found.values() if t]
        self.starts = sorted({s for t in self.tables for s in t.starts})
        self.stubs = sorted(names_oracle.read_stubs(path, sections))
        self.stub_ends = [s[3] for s in sections.values() if s[0].startswith(".plt")]

    def vaddr(self, offset):
        return next((offset - start + vaddr for vaddr, start, length in self.segments
                     if start <= offset < start + length), None)

    def names(self, address):
        """Every name that covers the address; those without a size reach to the next symbol."""
        found = {s.name for t in self.tables for s in t.covering(address)}
        if found:
            return found
        i = bisect.bisect_right(self.starts, address) - 1
        found = {s.name for t in self.tables for s in t.nearest(address)
                 if i >= 0 and s.start == self.starts[i] and s.size == 0 and address < s.limit}
        return found or self.stub(address)

    def stub(self, address):
        i = bisect.bisect_right(self.stubs, (address, "\x7f")) - 1
        if i < 0 or address >= min((e for e in self.stub_ends if e > self.stubs[i][0]),
                                   default=0):
            return set()
        name = self.stubs[i][1]
        if name.startswith("*ABS*+"):
            at = int(name[6:], 16)
            return {s.name + "@plt" for t in self.tables for s in t.symbols if s.start == at}
        return {name + "@plt"}


class Kernel:
    """/proc/kallsyms, as root reads it; or one of another machine."""

    def __init__(self, path="/proc/kallsyms"):
        self.names = collections.defaultdict(set)
        with open(path, encoding="utf-8") as f:
            for line in f:
                address, kind, name, *_ = line.split()
                if kind in "tTwW":
                    self.names[int(address, 16)].add(name)
        self.starts = sorted(self.names)

    def at(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.names[self.starts[i]] if i >= 0 else set()


def demangled(names):
    """As c++filt -i says; one answer a name."""
    names = sorted(n for n in names if n)
    done = subprocess.run(["c++filt", "-i"], input="".join(f"{n}\n" for n in names), text=True,
                          capture_output=True, check=True, timeout=300)
    return dict(zip(names, done.stdout.split("\n")))


def own_vdso(path):
    """Writes what all 64-bit processes have as [vdso] to a file."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        m = re.search(r"(?m)^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$", f.read())
    with open("/proc/self/mem", "rb") as f:
        f.seek(int(m[1], 16))
        data = f.read(int(m[2], 16) - int(m[1], 16))
    with open(path, "wb") as f:
        f.write(data)
    return path


class Judge:
    """Reads each image once. files: path in profiles -> where it is; others: path -> [symbols]."""

    def __init__(self, files=None, others=None):
        self.files, self.others, self.images = files or {}, others or {}, {}
        self.kernel, self.plain = Kernel(), {}

    def image(self, path):
        if path not in self.images:
            file = self.files.get(path, path)
            try:
                self.images[path] = Image(file, self.others.get(path, ()))
            except (OSError, struct.error):
                self.images[path] = None  # no file: anonymous memory, or it is gone
        return self.images[path]

    def learn(self, locations):
        """The demangled names of everything that is named there."""
        names = {line.system_name for l in locations for line in l.lines}
        self.plain.update(demangled(names - set(self.plain)))

    def kernel_frame(self, location):
        names = self.kernel.at(location.address)
        if not location.lines:
            return "no name"
        return "good" if location.lines[0].system_name in names else "wrong name"

    def frame(self, location):
        """A word on the location: "good", or what is wrong, or why it does not count."""
        if location.address >= KERNEL:
            return self.kernel_frame(location)
        mapping = location.mapping
        image = mapping and self.image(mapping.path)
        if not image:
            return "outside of files"
        if not image.tables:
            return "file without symbols"
        address = image.vaddr(location.address - mapping.start + mapping.offset)
        names = image.names(address) if address is not None else set()
        if not is_named(location):
            return "no name" if names else "no symbol there"
        line = location.lines[0]
        if not names:
            return "a name where there is no symbol"
        if line.system_name not in names:
            return "wrong name"
        return "good" if line.name == self.plain[line.system_name] else "wrong demangling"

    def describe(self, location):
        mapping = location.mapping
        offset = location.address - mapping.start + mapping.offset if mapping else 0
        image = mapping and location.address < KERNEL and self.image(mapping.path)
        address = image.vaddr(offset) if image else location.address
        names = image.names(address) if image and address is not None else (
            self.kernel.at(location.address) if location.address >= KERNEL else set())
        said = location.lines[0][:2] if location.lines else "nothing"
        return f"{mapping and mapping.path} {address or 0:x}: {said}, may be {sorted(names)[:4]}"
