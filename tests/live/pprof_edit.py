# SPDX-License-Identifier: MIT
"""Writes profile.proto by its field numbers: what a test makes up, and what it takes away."""
from pprof_file import fields


class Strings:
    """A profile's table of strings: the index of each."""

    def __init__(self):
        self.all = {"": 0}

    def __call__(self, text):
        return self.all.setdefault(text, len(self.all))


def number(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def part(field, value):
    """A field of a message: a number, or bytes."""
    if isinstance(value, int):
        return number(field << 3) + number(value)
    return number(field << 3 | 2) + number(len(value)) + value


def message(*values):
    """Fields 1, 2 ...; what is 0 or empty is left out."""
    return b"".join(part(i + 1, v) for i, v in enumerate(values) if v)


def strip(data):
    """A profile without any names: no lines, no functions, and mappings that say so."""
    out = b""
    for field, value in fields(data):
        if field == 5:
            continue
        if field == 4:
            value = b"".join(part(f, v) for f, v in fields(value) if f != 4)
        elif field == 3:
            value = b"".join(part(f, v) for f, v in fields(value) if f < 7)
        out += part(field, value)
    return out
