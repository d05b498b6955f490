# SPDX-License-Identifier: MIT
"""Random profiles that have what reports tell apart: inlined functions, recursion, files and paths
that mean the same, mappings with and without names, labels of all kinds, several types of values,
frames to drop."""
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from pprof_edit import Strings, message, part  # pylint: disable=wrong-import-position

TYPES = [("samples", "count"), ("cpu", "nanoseconds"), ("space", "bytes")]
NAMES = ["main", "run", "work", "alloc", "tcmalloc::New(unsigned long)", "tcmalloc::Keep(int)",
         "std::vector<int, std::allocator<int> >::push_back(int const&)", "operator new(unsigned)",
         "(anonymous namespace)::helper(char const*)", "shop::bag::operator()(int) const",
         "runtime.mallocgc", "github.com/x/y.(*T).Do", ".dotted(long)", "a", "b", "c", "",
         "caf\u00e9::\u00fcber", "main.func1", "loop"]
FILES = ["/src/app/main.c", "/src/app/../app/main.c", "/src/lib/alloc.cc", "lib//alloc.cc", "./x.h",
         "/proc/self/cwd/app/gen.c", "/proc/self/cwd/./app/gen.c", "", "../up.c", "/home/u/app/z.c"]
MAPPINGS = [("/usr/bin/app", "a1"), ("/usr/lib/libc.so.6", "b2"), ("", ""), ("[vdso]", ""),
            ("/usr/lib/liballoc.so", "")]
DROP = r"tcmalloc.*|runtime\.malloc.*|b"
KEEP = r"tcmalloc::Keep"


class Tables:
    """Things that the samples of one or more profiles refer to: ids from 1."""

    def __init__(self, rng, with_lines=True):
        self.functions = [(rng.choice(NAMES), rng.choice(FILES), rng.choice([0, 0, 3]))
                          for _ in range(30)]
        self.locations = []
        for i in range(60):
            mapping = rng.randrange(len(MAPPINGS) + 1)
            n = rng.choice([0, 1, 1, 1, 2, 2, 3]) if with_lines else 0
            lines = [(rng.randrange(len(self.functions)) + 1, rng.randrange(1, 50))
                     for _ in range(n)]
            self.locations.append((mapping, 0x100000 * mapping + 0x400 + 4 * i, lines))


def labels_of(rng, text):
    out = []
    for _ in range(rng.choice([0, 0, 1, 2, 3, 4])):
        kind = rng.randrange(8)
        if kind < 3:
            out.append(message(text(rng.choice(["thread", "user", "k=v"])),
                               text(rng.choice(["worker-1", "worker-2", "a,b", "io", "true"]))))
        elif kind < 5:
            out.append(message(text("bytes"), 0, rng.choice([1, 512, 1024, 1536, 1 << 20, 3 << 20]),
                               text("bytes")))
        elif kind == 5:
            out.append(message(text("latency"), 0, rng.choice([1, 5, 1000, 90000]), text("ms")))
        elif kind == 6:
            out.append(message(text("pid"), 0, rng.choice([7, 42, 4711])))
        else:
            out.append(message(text("request"), 0, rng.choice([100, 2048, 1 << 21])))
    return out


def encode(rng, tables, n_samples, types=None, drop=True, negative=False, default=None):
    """One profile, gzip'ed."""
    types = types or TYPES
    text, body = Strings(), b""
    for name, unit in types:
        body += part(1, message(text(name), text(unit)))
    for _ in range(n_samples):
        chain = [rng.randrange(len(tables.locations)) + 1 for _ in range(rng.choice([0] + [
            1, 2, 3, 4, 5, 8, 12] * 3))]
        if chain and rng.random() < .2:
            chain += chain[:2]
        values = [rng.randrange(0, 9), rng.randrange(0, 10 ** 9), rng.choice([0, 64, 1 << 20])]
        if negative and rng.random() < .3:
            values = [-v for v in values]
        sample = b"".join(part(1, location) for location in chain)
        sample += b"".join(part(2, v) for v in values[:len(types)])
        sample += b"".join(part(3, label) for label in labels_of(rng, text))
        body += part(2, sample)
    for i, (path, build_id) in enumerate(MAPPINGS, 1):
        body += part(3, message(i, 0x100000 * i, 0x100000 * i + 0xf0000, 0, text(path),
                                text(build_id), 1, 1, 1, 1))
    for i, (mapping, address, lines) in enumerate(tables.locations, 1):
        location = message(i, mapping, address)
        location += b"".join(part(4, message(*line)) for line in lines)
        body += part(4, location)
    for i, (name, file, line) in enumerate(tables.functions, 1):
        body += part(5, message(i, text(name), text(name), text(file), line))
    if drop:
        body += part(7, text(DROP)) + part(8, text(KEEP))
    body += part(9, 1795251600 * 10 ** 9) + part(10, 10 ** 10)
    body += part(11, message(text("cpu"), text("nanoseconds"))) + part(12, 10 ** 7)
    if default:
        body += part(14, text(default))
    strings = b"".join(part(6, t.encode()) for t in text.all)
    return gzip.compress(body + strings, 1)
