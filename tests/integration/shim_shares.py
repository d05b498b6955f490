# SPDX-License-Identifier: MIT
"""Whose CPU time a profile shows, of many threads, and what the threads' own clocks say of it.

Of n threads, "50/50" is n that are all alike; "90/10" has nine tenths burnt by the first half of
them; "1/rest" has the first one burn as much as all others together.
"""
import subprocess

from shim_profile import Profile, account, environment

RELATIVE, POINTS, SUM = 0.15, 0.02, 0.02  # what may be off: a share, of itself and of all; the sum


def split(n, how, seconds):
    """Milliseconds of CPU time for each of @n threads."""
    first = {"50/50": n // 2, "90/10": n // 2, "1/rest": 1}[how]
    part = {"50/50": 0.5, "90/10": 0.9, "1/rest": 0.5}[how]
    return [round(1000 * seconds * (part / first if i < first else (1 - part) / (n - first)))
            for i in range(n)]


class Shares:
    """One run of @program, linked with one of the libraries, and what is wrong with its profile."""

    def __init__(self, program, file, ms, frequency, options=(), **variables):
        done = subprocess.run([program, *options, file, *map(str, ms)], capture_output=True,
                              text=True, check=True, timeout=900,
                              env=environment(CPUPROFILE_FREQUENCY=str(frequency), **variables))
        words = done.stdout.split()
        self.clocks = dict(zip(words[::2], map(int, words[1::2])))
        self.expected = self.clocks.pop("all") / 1e6 * frequency
        self.first = next(iter(self.clocks))
        profile = Profile(program, file)
        self.total = profile.total
        cpu = sum(self.clocks.values())
        self.wanted = {f: c / cpu for f, c in self.clocks.items()}
        self.have = {f: profile.share(f) for f in self.clocks}
        # The kernel looks at a thread's timer at its own ticks. On a busy machine a short thread may
        # meet none: its time is counted, and no stack known of it.
        self.unseen = account(file).get("unseen", 0) / max(self.total, 1)
        self.absent = {f for f, have in self.have.items() if not have}

    @property
    def points(self):
        """How far the worst share is off, of all; that of those without a stack is one."""
        absent = abs(sum(self.wanted[f] for f in self.absent) - self.unseen)
        return max([absent, *(abs(self.have[f] - w) for f, w in self.wanted.items() if f not in self.absent)])

    @property
    def relative(self):
        """How far the worst share is off, of what it should be."""
        return max((abs(self.have[f] / w - 1) for f, w in self.wanted.items() if f not in self.absent),
                   default=1)

    @property
    def off(self):
        """How far the sum is off, signed."""
        return self.total / self.expected - 1

    @property
    def is_good(self):
        return self.points < POINTS and self.relative < RELATIVE and abs(self.off) < SUM

    def __str__(self):
        return (f"{self.total} of {self.expected:.0f} samples ({100 * self.off:+.2f} %), shares off "
                f"by {100 * self.points:.2f} points, by {100 * self.relative:.1f} % of themselves, "
                f"{len(self.absent)} threads without a stack")
