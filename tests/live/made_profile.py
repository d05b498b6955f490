# SPDX-License-Identifier: MIT
"""Writes a small .pb.gz by profile.proto's field numbers."""
import gzip

AT = 1795251600 # when it begins
SECONDS = 10
LINE = 12


def varint(value):
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def part(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def write_profile(path, files, at=AT, n=10):
    """Of each function @n samples of 10 ms, in line LINE of its file; they begin in line 10."""
    texts = ["", "samples", "count", "cpu", "nanoseconds"]

    def text(value):
        if value not in texts:
            texts.append(value)
        return texts.index(value)

    body = part(1, part(1, 1) + part(2, 2)) + part(1, part(1, 3) + part(2, 4))
    for i, (name, file) in enumerate(files.items(), 1):
        body += part(2, part(1, i) + part(2, n) + part(2, n * 10 ** 7))
        body += part(4, part(1, i) + part(3, i) + part(4, part(1, i) + part(2, LINE)))
        body += part(5, part(1, i) + part(2, text(name)) + part(4, text(file)) + part(5, 10))
    body += part(9, at * 10 ** 9) + part(10, SECONDS * 10 ** 9)
    with open(path, "wb") as f:
        f.write(gzip.compress(body + b"".join(part(6, t.encode()) for t in texts)))
