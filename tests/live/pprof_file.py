# SPDX-License-Identifier: MIT
"""Reads profile.proto by its field numbers: what a .pb.gz holds, every field of it."""
import collections
import gzip
import os
import re

Line = collections.namedtuple("Line", "name system_name file line start_line")
Mapping = collections.namedtuple("Mapping", "start limit offset path build_id has_functions "
                                            "has_filenames has_line_numbers has_inline_frames")
Location = collections.namedtuple("Location", "mapping address lines is_folded")
Sample = collections.namedtuple("Sample", "locations count labels values")

KERNEL = 1 << 63


def is_python(location):
    """Its name is a Python function's; it is folded if it has the address of the loop that runs it."""
    return location.lines and (location.is_folded or location.lines[0].name == "[unknown code]"
                               or (not location.mapping and location.lines[0].file))


def is_named(location):
    """Not by where its function starts, as "gzip+0x4290": so is what has no symbol."""
    return len(location.lines) > 1 or any(
        line.file or line.line or not re.fullmatch(r".+\+0x[0-9a-f]+", line.name)
        for line in location.lines)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a message: integers, and bytes of what has a length."""
    at, end = 0, len(data)
    while at < end:
        key, at = (data[at], at + 1) if data[at] < 128 else varint(data, at)  # nearly all are a byte
        if key & 7 == 0:
            value, at = (data[at], at + 1) if data[at] < 128 else varint(data, at)
        elif key & 7 == 2:
            length, at = (data[at], at + 1) if data[at] < 128 else varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field ends behind the file")
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(value):
    """A repeated integer, packed or one of it."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def process_totals(path, pid):
    """(period, samples, nanoseconds, the window's length in nanoseconds) of one process."""
    with gzip.open(path) as f:
        data = list(fields(f.read()))
    texts = [value.decode(errors="replace") for number, value in data if number == 6]
    period, length = (next((v for k, v in data if k == field), 0) for field in (12, 10))
    n = ns = 0
    for number, value in data:
        if number != 2:
            continue
        sample = list(fields(value))
        labels = [dict(fields(v)) for k, v in sample if k == 3]
        if any(texts[label.get(1, 0)] == "pid" and label.get(3) == pid for label in labels):
            values = [v for k, part in sample if k == 2 for v in numbers(part)]
            n += values[0]
            ns += values[1]
    return period, n, ns, length


def plain(data, n):
    """Fields 1 to n, integers that occur once."""
    found = [0] * (n + 1)
    for number, value in fields(data):
        if number <= n:
            found[number] = value
    return found


class Pprof:
    """samples, their locations in place of ids; everything else is found from there. Of several
    files, as a session has by how many windows it came to: what is in all of them."""

    def __init__(self, *paths):
        self.size, self.samples, self.comments = 0, [], []
        self.types, self.period = [], 0  # (name, unit) of each of a sample's values
        self.mappings, self.locations = {}, {}
        for path in paths:
            self.add(path)

    def add(self, path):
        """Its ids count from behind those of the files before."""
        self.size += os.path.getsize(path)
        self.first = max((*self.mappings, *self.locations), default=0)
        parts = collections.defaultdict(list)
        with gzip.open(path) as f:
            for number, value in fields(f.read()):
                parts[number].append(value)
        self.texts = [t.decode("utf-8") for t in parts[6]]
        self.types = [(self.texts[t[1]], self.texts[t[2]]) for t in (plain(p, 2) for p in parts[1])]
        self.period = parts[12][0] if parts[12] else 0
        self.comments += [self.texts[i] for part in parts[13] for i in numbers(part)]
        self.mappings |= {self.first + m[1]: Mapping(m[2], m[3], m[4], self.texts[m[5]],
                                                     self.texts[m[6]], *map(bool, m[7:]))
                          for m in (plain(p, 10) for p in parts[3])}
        self.functions = {f[1]: (self.texts[f[2]], self.texts[f[3]], self.texts[f[4]], f[5])
                          for f in (plain(p, 5) for p in parts[5])}
        self.locations |= dict(map(self.location, parts[4]))
        self.samples += [self.sample(p) for p in parts[2]]

    def location(self, data):
        number = mapping = address = is_folded = 0
        lines = []
        for field, value in fields(data):
            if field == 1:
                number = value
            elif field == 2:
                mapping = value
            elif field == 3:
                address = value
            elif field == 4:
                line = plain(value, 2)
                name, system_name, file, start_line = self.functions[line[1]]
                lines.append(Line(name, system_name, file, line[2], start_line))
            elif field == 5:
                is_folded = value
        mapped = self.mappings[self.first + mapping] if mapping else None
        return self.first + number, Location(mapped, address, tuple(lines), bool(is_folded))

    def sample(self, data):
        ids, values, labels = [], [], {}
        for field, value in fields(data):
            if field == 1:
                ids += numbers(value)
            elif field == 2:
                values += numbers(value)
            elif field == 3:
                label = plain(value, 4)
                labels[self.texts[label[1]]] = self.texts[label[2]] or label[3]
        return Sample([self.locations[self.first + i] for i in ids], values[0], labels, values)

    def count(self, **labels):
        """{location: samples that hold it} of the samples with these labels."""
        found = collections.Counter()
        for s in self.samples:
            if all(s.labels.get(k) == v for k, v in labels.items()):
                for location in set(s.locations):
                    found[location] += s.count
        return found

    def total(self, **labels):
        return sum(s.count for s in self.samples
                   if all(s.labels.get(k) == v for k, v in labels.items()))


KNOWN = {}  # {file: {pid: samples}}


def samples_of(files, pids):
    """Samples of the processes. Each file is read once, however often windows are looked through: what
    is written is complete, and stays as it is."""
    for path in files:
        if path not in KNOWN:
            KNOWN[path] = collections.defaultdict(list)
            for sample in Pprof(path).samples:
                KNOWN[path][sample.labels.get("pid")].append(sample)
        for pid in pids:
            yield from KNOWN[path].get(pid, ())
