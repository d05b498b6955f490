# SPDX-License-Identifier: MIT
"""Random profiles of every shape that readers take: more than pprof_random.py's in what rarely
comes, and no two alike in what they have. No type is called as another one's with inuse_ before
it: pprof takes either for the first of them."""
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from pprof_edit import Strings, message, part  # pylint: disable=wrong-import-position

TYPES = [("samples", "count"), ("cpu", "nanoseconds"), ("heap", "bytes"), ("wall", "us"),
         ("inuse_space", "kilobytes"), ("alloc_objects", "count"), ("contentions", "count"),
         ("delay", "milliseconds"), ("furlongs", "furlongs"), ("bare", ""), ("mass", "gcu"),
         ("idle", "seconds")]
NAMES = ["main", "run", "work", "alloc", "a", "b", "c", "d", "loop", "", "parse", "parse", "eval",
         "tcmalloc::New(unsigned long)", "std::vector<int, std::allocator<int> >::push_back(int&&)",
         "operator new(unsigned long)", "(anonymous namespace)::helper(char const*)",
         "shop::bag::operator()(int) const", "a::b<c::d>::~b()", "runtime.mallocgc", "main.func1",
         "github.com/x/y.(*T).Do", "github.com/x/y.Map[...].Get", "github.com/x/y/z", "x.org/a.b/c", "java.lang.Thread.run",
         "com.example.App$Inner.lambda$main$0", ".dotted(long)", "name with blanks", "x\"quoted\"",
         "back\\slash", "caf\u00e9::\u00fcber", "operator<<", "f(a, b)", "[unknown]", "<unknown>",
         "_ZN3foo3barEv", "0x1234", "%s%d", "-minus", "tab\tinside", "@plt", "very." + "long" * 40]
FILES = ["/src/app/main.c", "/src/app/../app/main.c", "/src/lib/alloc.cc", "lib//alloc.cc", "./x.h",
         "/proc/self/cwd/app/gen.c", "", "", "../up.c", "a b.c", "/home/u/app/z.c", "C:\\win\\a.c",
         "main.go", "/", ".", "/src/caf\u00e9.c", "/usr/lib/go/src/runtime/malloc.go"]
OBJECTS = ["/usr/bin/app", "/usr/lib/libc.so.6", "/usr/lib/libstdc++.so.6.0.30", "", "[vdso]",
           "[kernel.kallsyms]", "//anon", "/tmp/a b/liball oc.so", "/opt/app (deleted)",
           "relative/lib.so", "/usr/lib/modules/x.ko", "[anon]", "/dev/zero", "/memfd:jit"]
KEYS = ["thread", "user", "bytes", "latency", "pid", "request", "k=v", "a b", "caf\u00e9", "mixed"]
TEXTS = ["worker-1", "worker-2", "a,b", "io", "true", "x y", "\u00fc", "10", "1kb", "-3", ""]
UNITS = {"bytes": ["bytes", "kilobytes", "b", ""], "latency": ["ms", "ns", "seconds"],
         "request": ["", ""], "pid": [""], "mixed": ["", "widgets", "bytes"]}
DROPS = [r"tcmalloc.*|runtime\.malloc.*|b", r".*", r"a|b|c|d", r"operator new\(unsigned long\)",
         r"ma", r"std::.*", r"github\.com/x/y\.\(\*T\)\.Do", r"(parse)|(eval)"]
KEEPS = ["", "", r"tcmalloc::New", r"a", r".*", r"main.*", r"eval"]
NUMBERS = [0, 1, 1, 2, 3, 7, 64, 512, 1000, 1024, 1500, 4096, 65536, 999999, 1 << 20, 3 << 20,
           5 * 10 ** 8, 10 ** 9, 61 * 10 ** 9, 10 ** 12, 1 << 40]


class Wild:
    """What a profile has; its tables are the same in all profiles that encode() makes of it."""

    def __init__(self, rng):
        self.types = rng.sample(TYPES, rng.choice([1, 2, 2, 3, 5]))
        self.n_types = len(self.types)  # that a report of its profiles can be of
        self.names = rng.sample(NAMES, rng.choice([3, 8, 20, len(NAMES)]))
        self.files = rng.sample(FILES, rng.choice([1, 4, len(FILES)]))
        self.mappings = []
        for i in range(rng.choice([0, 1, 2, 5, 40])):
            start = 0x100000 * (i + 1)
            self.mappings.append((start, start + rng.choice([0x1000, 0xf0000]), rng.choice(
                [0, 0, 0x1000]), rng.choice(OBJECTS), rng.choice(["", "", f"{i:04x}beef"])))
        self.functions = []
        for _ in range(rng.choice([2, 10, 30, 80])):
            name = rng.choice(self.names)
            self.functions.append((name, name if rng.random() < .8 else "_Z" + name,
                                   rng.choice(self.files), rng.choice([0, 0, 0, 3, 40])))
        lined = rng.choice([0, .5, .9, 1, 1])
        self.locations = []
        columns = rng.choice([[0], [0], [0, 1, 12], [5, 80, 400, 1 << 20]])
        for i in range(rng.choice([3, 20, 60, 200])):
            mapping = rng.randrange(len(self.mappings) + 1)
            n = rng.choice([0, 1, 1, 1, 1, 2, 2, 3, 5]) if rng.random() < lined else 0
            lines = [(rng.randrange(len(self.functions)) + 1, rng.choice(
                [0, 1, 7, 8, rng.randrange(1, 500)]), rng.choice(columns)) for _ in range(n)]
            address = 0x100000 * mapping + 0x400 + rng.choice([4, 4, 1]) * i
            # pprof moves the address 0 with its mapping when that is one with another one.
            if rng.random() < .1 and (not mapping or len(self.mappings) == 1):
                address = 0
            self.locations.append((mapping, address, lines, rng.random() < .05))
        self.depths = rng.choice([[1, 2, 3], [0, 1, 2, 3, 4, 5, 8, 12] + [6] * 4, [30, 60]])
        self.recursive = rng.choice([0, .2, .6])
        self.sizes = rng.choice([[1, 2, 3], [0, 0, 1], NUMBERS,
                                 [4096, 1 << 20, 10 ** 9, 61 * 10 ** 9]])
        self.negative = rng.choice([0, 0, 0, .3, 1])
        self.labelled = rng.choice([0, 0, .5, 1])
        # Whether numbers of one key come in several units.
        self.is_mixed = rng.random() < .3
        self.units = {key: units if self.is_mixed else [rng.choice(units)]
                      for key, units in UNITS.items()}
        self.drop = rng.choice(["", "", ""] + DROPS)
        self.keep = rng.choice(KEEPS) if self.drop else ""
        self.default = rng.choice(["", "", rng.choice(self.types)[0]])
        self.times = rng.choice([(0, 0), (1795251600 * 10 ** 9, 10 ** 10),
                                 (1795251600 * 10 ** 9 + 7, 1234567890), (1, 0), (0, 61 * 10 ** 9)])
        self.period = rng.choice([None, ("cpu", "nanoseconds", 10 ** 7), ("heap", "bytes", 524288),
                                  ("cpu", "nanoseconds", 0)])
        self.sums = []
        self.doc_url = rng.choice(["", "", "https://example.com/a?b=c#d", "not a URL"])
        self.comments = rng.choice([[], [], ["# one"], ["second", "a\u00fc"]])

    def labels(self, rng, text):
        out, seen = [], set()
        for _ in range(rng.choice([1, 1, 2, 3, 6]) if rng.random() < self.labelled else 0):
            key = rng.choice(KEYS)
            if key in self.units and not (key == "mixed" and rng.random() < .5):
                unit = rng.choice(self.units[key])
                out.append(message(text(key), 0, rng.choice(NUMBERS[1:]), text(unit)))
            # A key stands in a sample once, or with several texts, which pprof keeps.
            elif (key, value := rng.choice(TEXTS[:-1])) not in seen:
                seen.add((key, value))
                out.append(message(text(key), text(value)))
        return out

    def encode(self, rng, n_samples, types=None):
        """One profile, gzip'ed, of all types or those with these numbers, in their order. What its
        values add up to is in sums afterwards."""
        types = range(len(self.types)) if types is None else types
        self.sums = [0] * len(self.types)
        text, body = Strings(), b""
        for i in types:
            name, unit = self.types[i]
            body += part(1, message(text(name), text(unit)))
        for _ in range(n_samples):
            chain = [rng.randrange(len(self.locations)) + 1 for _ in range(rng.choice(self.depths))]
            if chain and rng.random() < self.recursive:
                chain += chain[:rng.randrange(1, 4)] * rng.choice([1, 3])
            sample = b"".join(part(1, location) for location in chain)
            for i in types:
                value = rng.choice(self.sizes) * rng.choice([1, 1, 3])
                value = -value if rng.random() < self.negative else value
                self.sums[i] += value
                sample += part(2, value)
            body += part(2, sample + b"".join(part(3, m) for m in self.labels(rng, text)))
        for i, (start, limit, offset, path, build_id) in enumerate(self.mappings, 1):
            body += part(3, message(i, start, limit, offset, text(path), text(build_id),
                                    1, 1, 1, 1))
        for i, (mapping, address, lines, folded) in enumerate(self.locations, 1):
            location = message(i, mapping, address)
            location += b"".join(part(4, message(*line)) for line in lines)
            body += part(4, location + (part(5, 1) if folded else b""))
        for i, (name, system, file, line) in enumerate(self.functions, 1):
            body += part(5, message(i, text(name), text(system), text(file), line))
        if self.drop:
            body += part(7, text(self.drop)) + (part(8, text(self.keep)) if self.keep else b"")
        body += b"".join(part(9 + i, t) for i, t in enumerate(self.times) if t)
        if self.period:
            name, unit, period = self.period
            body += part(11, message(text(name), text(unit)))
            body += part(12, period) if period else b""
        body += b"".join(part(13, text(c)) for c in self.comments)
        if self.default:
            body += part(14, text(self.default))
        if self.doc_url:
            body += part(15, text(self.doc_url))
        strings = b"".join(part(6, t.encode()) for t in text.all)
        return gzip.compress(body + strings, 1)


# --- what is asked of them ------------------------------------------------------------------------

def quote(text):
    """As an expression that a prompt takes: without blanks."""
    return "".join(c if c.isalnum() else "." for c in text) or "^$"


def expression(rng, wild):
    words = [quote(rng.choice(wild.names)) for _ in range(rng.choice([1, 1, 2]))]
    common = ["a", "main", "^a$", r"^b$|^c$", r"\(", "lib", "nothing.at.all", r"lib.*\.so", "Do$",
              "[[:upper:]]", "(?i)PARSE", r"\.cc?$", "^$", "^(run|work)$", "operator", "vdso",
              "alloc", "0x", ".", "e", "std::", "<unknown>", r"\.go", "^/src"]
    text = rng.choice(["|".join(words), rng.choice(common)])
    # Without mappings all frames are in one without a name, which pprof makes up.
    return text.replace("^$", "^f$") if not wild.mappings else text


TAG_FILTERS = ["worker", "worker-1", "thread=worker-.", "worker,thread", "user=io,true", "1kb:2mb",
               "bytes=512b", ":1kb", "1mb:", "latency=1s:", "latency=5ms", "pid=7", "pid=:512", "7",
               "request=2kb:", "nothing", "nokey=1", "k=v=true", "-5:2000", "1:2kb", "5:6:7",
               "thread=", "^thread:worker-2$", "1kb:b", "latency=:1min", "512", "mixed=1:1000",
               "mixed=io", "1000:1000000", "bytes=1kb:1gb", "latency=:", ":", "512.5", "0:"]
KEY_FILTERS = ["thread", "bytes|pid", "^k", "nothing", ".", "mixed", "latency"]
KEY_LISTS = ["thread", "thread,user", "bytes", "user,,pid", "nokey", "latency,request,thread",
             "k=v", "mixed", "latency", "pid,mixed,bytes"]
VIEWS = ["text"] * 5 + ["tree", "tree", "traces", "raw", "tags", "peek", "dot", "callgrind",
                        "comments"]


def settings(rng, wild):
    """Those of one report, by the names of pprof's prompt."""
    out = {}

    def sometimes(chance, name, value):
        if rng.random() < chance:
            out[name] = value

    rate = rng.choice([.02, .08, .2])
    for name in ("focus", "ignore", "hide", "show", "show_from", "prune_from"):
        sometimes(rate, name, expression(rng, wild))
    for name, choice in (("tagfocus", TAG_FILTERS), ("tagignore", TAG_FILTERS),
                         ("tagshow", KEY_FILTERS), ("taghide", KEY_FILTERS),
                         ("tagroot", KEY_LISTS), ("tagleaf", KEY_LISTS)):
        sometimes(rate if wild.labelled else .01, name, rng.choice(choice))
    sometimes(.6, "granularity", rng.choice(["filefunctions", "lines", "files", "addresses"]))
    sometimes(.2, "noinlines", "true")
    sometimes(.2, "showcolumns", "true")
    sometimes(.3, "sort", "cum")
    sometimes(.3, "trim", "false")
    sometimes(.3, "nodecount", str(rng.choice([0, 1, 2, 3, 5, 12, 1000])))
    sometimes(.3, "nodefraction", str(rng.choice([0, .01, .05, .1, .3, 1])))
    sometimes(.2, "edgefraction", str(rng.choice([0, .01, .1, .5])))
    sometimes(.1, "drop_negative", "true")
    sometimes(.2, "relative_percentages", "true")
    sometimes(.2, "unit", rng.choice(["ms", "s", "mb", "auto", "kb", "count", "us", "hrs", "parsec",
                                      "ns", "GCU", "b", "\u03bcs", "MicroSeconds"]))
    sometimes(.1, "mean", "true")
    sometimes(.1, "divide_by", str(rng.choice([2, 3, .5, 1000, 10])))
    sometimes(.15, "compact_labels", "true")
    sometimes(.1, "call_tree", "true")
    sometimes(.1, "trim_path", rng.choice(["/src", "/src/app:/home/u", "/x"]))
    sometimes(.05, "source_path", rng.choice(["/x/app", "/y/lib:/x"]))
    out["sample_index"] = str(rng.randrange(wild.n_types))
    return out
