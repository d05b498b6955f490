# SPDX-License-Identifier: MIT
"""Programs that run, whatever is wrong with what only debuggers and profilers read of them.

The kernel and ld.so need the ELF header, the program headers and what these lead to. All else can
be spoilt: each of SPOILERS does it in one way, and says so by its name.
"""
import os
import random
import struct

SYMBOL, SECTION = 24, 64
HUGE = (1 << 63) - 1


class Elf:
    """A 64-bit little-endian file, its section headers at hand."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = bytearray(f.read())
        self.table, = struct.unpack_from("<Q", self.data, 40)
        self.n, self.names = struct.unpack_from("<HH", self.data, 60)
        self.sections = {}
        start = self.field(self.names, "offset")
        for i in range(1, self.n):
            at = start + self.field(i, "name")
            self.sections[bytes(self.data[at:self.data.index(0, at)]).decode()] = i

    FIELDS = {"name": (0, "<I"), "type": (4, "<I"), "flags": (8, "<Q"), "address": (16, "<Q"),
              "offset": (24, "<Q"), "size": (32, "<Q"), "link": (40, "<I"), "info": (44, "<I"),
              "align": (48, "<Q"), "entry": (56, "<Q")}

    def place(self, section, field):
        at, form = self.FIELDS[field]
        if isinstance(section, str):
            section = self.sections[section]
        return form, self.table + section * SECTION + at

    def field(self, section, field):
        form, at = self.place(section, field)
        return struct.unpack_from(form, self.data, at)[0]

    def set(self, section, **fields):
        for field, value in fields.items():
            form, at = self.place(section, field)
            struct.pack_into(form, self.data, at, value & (1 << 8 * struct.calcsize(form)) - 1)

    def header(self, at, form, value):
        struct.pack_into(form, self.data, at, value)

    def contents(self, section):
        start = self.field(section, "offset")
        return start, start + self.field(section, "size")

    def fill(self, section, make):
        start, end = self.contents(section)
        self.data[start:end] = make(end - start)

    def symbols(self, change):
        """change(i) -> (name, value, size) or less of it, for each symbol."""
        start, end = self.contents(".symtab")
        for i, at in enumerate(range(start + SYMBOL, end, SYMBOL)):
            name, value, size = change(i)
            struct.pack_into("<I", self.data, at, name & 0xffffffff)
            struct.pack_into("<QQ", self.data, at + 8, value, size)

    def append(self, data):
        at = len(self.data)
        self.data += data
        return at


def noise(length):
    return random.Random(length).randbytes(length)


def debug_sections(elf):
    return [name for name in elf.sections if name.startswith(".debug_")]


def each_debug(change):
    def spoil(elf):
        for name in debug_sections(elf):
            change(elf, name)
    return spoil


def claim_compressed(elf, name):
    """A header that says how much it will be; behind it there is not what it says."""
    start, end = elf.contents(name)
    if end - start >= 24:
        struct.pack_into("<IIQQ", elf.data, start, 1, 0, 1 << 40, 1)
        elf.set(name, flags=1 << 11)


def scatter(name, seed):
    """Some bytes of one section are others."""
    def spoil(elf):
        start, end = elf.contents(name)
        draw = random.Random(seed)
        for _ in range(max(8, (end - start) // 100)):
            elf.data[draw.randrange(start, end)] = draw.randrange(256)
    return spoil


def many_symbols(elf):
    """A million at one address, with names of one letter."""
    start, _ = elf.contents(".symtab")
    value, = struct.unpack_from("<Q", elf.data, start + SYMBOL * 20 + 8)
    one = struct.pack("<IBBHQQ", 1, 0x12, 0, 14, value, 16)
    elf.set(".symtab", offset=elf.append(one * 1000000), size=SYMBOL * 1000000)


def bomb_names(elf):
    """A short name that is long when it is demangled: each argument is a pair of the one before."""
    name = "_Z1fSt4pairIiiE" + "S_IS0_S0_E" + "".join(
        f"S_IS{d}_S{d}_E" for d in "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    at = elf.append(b"\0" + name.encode() + b"\0")
    elf.set(".strtab", offset=at, size=len(elf.data) - at)
    start, end = elf.contents(".symtab")
    for symbol in range(start + SYMBOL, end, SYMBOL):
        struct.pack_into("<I", elf.data, symbol, 1)


def long_name(elf):
    at = elf.append(b"\0" + b"a" * 3000000 + b"\0")
    elf.set(".strtab", offset=at, size=len(elf.data) - at)
    start, end = elf.contents(".symtab")
    for symbol in range(start + SYMBOL, end, SYMBOL):
        struct.pack_into("<I", elf.data, symbol, 1)


def control_names(elf):
    """Line ends, escapes and bytes that are no UTF-8."""
    at = elf.append(b"\0\x1b[31m\n\r\xff\xfe\xc0\x80name\x7f\0")
    elf.set(".strtab", offset=at, size=len(elf.data) - at)
    start, end = elf.contents(".symtab")
    for symbol in range(start + SYMBOL, end, SYMBOL):
        struct.pack_into("<I", elf.data, symbol, 1)


SPOILERS = {
    "no-sections": lambda e: e.header(40, "<Q", HUGE),
    "sections-behind": lambda e: e.header(40, "<Q", len(e.data) - 70),
    "sections-65535": lambda e: e.header(60, "<H", 0xffff),
    "section-size-1": lambda e: e.header(58, "<H", 1),
    "section-names": lambda e: e.header(62, "<H", 0xfff0),
    "names-noise": lambda e: e.fill(".shstrtab", noise),
    "sizes-huge": lambda e: [e.set(i, size=HUGE) for i in range(1, e.n)],
    "offsets-huge": lambda e: [e.set(i, offset=HUGE) for i in range(1, e.n)],
    "all-overlap": lambda e: [e.set(i, offset=0, size=len(e.data)) for i in range(1, e.n)],
    "types-noise": lambda e: [e.set(i, type=struct.unpack("<I", noise(4 + i)[:4])[0])
                              for i in range(1, e.n)],
    "all-symtab": lambda e: [e.set(i, type=2, link=i, entry=24) for i in range(1, e.n)],
    "symtab-entry-0": lambda e: e.set(".symtab", entry=0),
    "symtab-entry-1": lambda e: e.set(".symtab", entry=1),
    "symtab-to-itself": lambda e: e.set(".symtab", link=e.sections[".symtab"]),
    "symtab-nowhere": lambda e: e.set(".symtab", link=0xfffffff0),
    "symtab-noise": lambda e: e.fill(".symtab", noise),
    "strtab-noise": lambda e: e.fill(".strtab", noise),
    "strtab-no-end": lambda e: e.fill(".strtab", lambda n: b"x" * n),
    "symbols-wrap": lambda e: e.symbols(lambda i: (1, HUGE * 2 + 1 - i, HUGE)),
    "symbols-nested": lambda e: e.symbols(lambda i: (1, 0x1000 + i, 0x100000 - 2 * i)),
    "symbols-names": lambda e: e.symbols(lambda i: (0xfffffff0 + i, 0x1000 + 16 * i, 16)),
    "symbols-many": many_symbols,
    "name-bomb": bomb_names,
    "name-long": long_name,
    "name-control": control_names,
    "dwarf-noise": each_debug(lambda e, name: e.fill(name, noise)),
    "dwarf-zero": each_debug(lambda e, name: e.fill(name, bytes)),
    "dwarf-ones": each_debug(lambda e, name: e.fill(name, lambda n: b"\xff" * n)),
    "dwarf-compressed": each_debug(claim_compressed),
    "dwarf-cut": each_debug(lambda e, name: e.set(name, size=e.field(name, "size") // 2)),
    "frames-noise": lambda e: (e.fill(".eh_frame", noise), e.fill(".eh_frame_hdr", noise)),
    "frames-ones": lambda e: e.fill(".eh_frame", lambda n: b"\xff" * n),
    "build-id-noise": lambda e: e.fill(".note.gnu.build-id", noise),
    **{f"info-{seed}": scatter(".debug_info", seed) for seed in range(4)},
    **{f"abbrev-{seed}": scatter(".debug_abbrev", seed) for seed in range(4)},
    **{f"line-{seed}": scatter(".debug_line", seed) for seed in range(2)},
    **{f"frames-{seed}": scatter(".eh_frame", seed) for seed in range(3)},
}


def spoil_all(path, folder, prefix):
    """{name: path} of programs that are like that at @path but for one thing."""
    made = {}
    for name, spoil in SPOILERS.items():
        elf = Elf(path)
        spoil(elf)
        made[name] = os.path.join(folder, prefix + name)
        with open(made[name], "wb") as f:
            f.write(elf.data)
        os.chmod(made[name], 0o755)
    return made
