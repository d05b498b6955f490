# SPDX-License-Identifier: MIT
"""Reads when samples were counted out of a .pb.gz, by what profd-store(5) says of its field 1000 and
by nothing else."""
import collections
import gzip

from pprof_file import fields, numbers, plain

TIMES = 1000


class Bits:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bit(self):
        bit = self.data[self.at // 8] >> (7 - self.at % 8) & 1
        self.at += 1
        return bit

    def number(self, n):
        """One of n, by truncated binary coding."""
        width = (n - 1).bit_length()
        short, value = (1 << width) - n, 0
        for _ in range(width - 1):
            value = value * 2 + self.bit()
        if width and value >= short:
            value = value * 2 + self.bit() - short
        return value

    def elements(self, n, low, high):
        """In ascending order, by binary interpolative coding."""
        if not n:
            return []
        if low == high:
            return [low] * n
        middle = low + self.number(high - low + 1)
        before = self.elements(n // 2, low, middle)
        return before + [middle] + self.elements(n - n // 2 - 1, middle, high)


class Block:
    """Of the samples that follow it."""

    def __init__(self, data):
        self.n, self.base, self.scales, low, self.span, self.partial = plain(data, 6)[1:]
        self.low = low >> 1 ^ -(low & 1)
        self.bits = Bits(next((value for number, value in fields(data) if number == 7), b""))

    def times(self, count, base):
        """{(bucket, its length): count} of the next sample; None: they are not known."""
        self.n -= 1
        if self.partial and not self.bits.bit():
            return None
        found, low = collections.Counter(), base + self.low
        scales = [s for s in range(16) if self.scales >> s & 1]
        for scale in scales:
            n = count if scale == scales[-1] else self.bits.number(count + 1)
            for element in self.bits.elements(n, low >> scale, low + self.span >> scale):
                found[element << scale, 1 << scale] += 1
            count -= n
        return found


def times_of(path):
    """[(labels, count, times)] of all samples of a file; None where they are not known."""
    with gzip.open(path) as f:
        data = list(fields(f.read()))
    texts = [value.decode(errors="replace") for number, value in data if number == 6]
    block, found = None, []
    for number, value in data:
        if number == TIMES:
            block = Block(value)
        elif number == 2:
            parts = list(fields(value))
            labels = [plain(v, 4) for k, v in parts if k == 3]
            labels = {texts[label[1]]: texts[label[2]] or label[3] for label in labels}
            count = [v for k, part in parts if k == 2 for v in numbers(part)][0]
            times = None
            if block and block.n:
                base = labels["window"] * 10 if "window" in labels else block.base
                times = block.times(count, base)
            found.append((labels, count, times))
    return found
