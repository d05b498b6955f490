# SPDX-License-Identifier: MIT
"""Image profiles (DCPI, pdb-0.07) written and read by hand: what the tests of readers judge by."""
import os
import struct


def write(path, header, counts):
    """@header: a list of (key, value) lines; @counts: {offset: count}."""
    text = "".join(f"{key} {value}\n" for key, value in header)
    text += "samples" + " " * (-(len(text) + len("samples\n")) % 4) + "\n"
    data = b""
    offsets = sorted(counts)
    at = 0
    while at < len(offsets):
        end = at + 1
        while end < len(offsets) and offsets[end] - offsets[end - 1] <= 3:
            end += 1
        first, last = offsets[at], offsets[end - 1]
        data += struct.pack("<II", first, last - first + 1)
        data += b"".join(struct.pack("<I", counts.get(o, 0)) for o in range(first, last + 1))
        at = end
    data += struct.pack("<II", len(offsets), sum(counts.values()))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text.encode() + data)


def read(path):
    """(header as a dictionary of lists, {offset: count})"""
    with open(path, "rb") as f:
        data = f.read()
    header, at = {}, 0
    while True:
        end = data.index(b"\n", at)
        key, _, value = data[at:end].decode(errors="replace").partition(" ")
        at = end + 1
        if key == "samples":
            break
        header.setdefault(key, []).append(value.strip())
    counts = {}
    while at < len(data) - 8:
        offset, n = struct.unpack_from("<II", data, at)
        for i, count in enumerate(struct.unpack_from(f"<{n}I", data, at + 8)):
            if count:
                counts[offset + i] = count
        at += 8 + 4 * n
    n, total = struct.unpack_from("<II", data, at)
    assert n == len(counts) and total == sum(counts.values()), path
    return header, counts


def header(image, **more):
    """The lines of profd's; @more replaces or adds."""
    lines = {"version": "pdb-0.07", "image": image, "epoch": "2611211200", "platform": "host-a",
             "event": "cpu-clock", "period": "10101010", "tstart": "1000", "tsize": "4096",
             "cpuspeed": "0"}
    lines.update(more)
    return list(lines.items())
