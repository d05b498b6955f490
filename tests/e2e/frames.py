# SPDX-License-Identifier: MIT
"""Which frames profiles have, and whether they have their names."""
from name_judge import Kernel
from pprof_file import KERNEL

NAMED = 98  # percent


def count_frames(profiles, wanted):
    """{location: samples} of those that @wanted says yes to."""
    found = {}
    for profile in profiles:
        for location, n in profile.count().items():
            if wanted(location):
                found[location] = found.get(location, 0) + n
    return found


def share(frames, good):
    total = sum(frames.values())
    return 100 * sum(n for f, n in frames.items() if good(f)) / total if total else 0


def in_kernel(location):
    return location.address >= KERNEL


def path_of(location):
    return location.mapping.path if location.mapping else ""


def functions(frames):
    return {line.name for f in frames for line in f.lines}


class KernelNames:
    """Judges kernel frames by what the kernel says of the same addresses, in a file of its."""

    def __init__(self, symbols="/proc/kallsyms"):
        self.kernel = Kernel(symbols)

    def named(self, location):
        return location.lines and location.lines[-1].system_name in self.kernel.at(location.address)

    def judge(self, check, what, profiles, places=10):
        frames = count_frames(profiles, in_kernel)
        percent = share(frames, self.named)
        print(f"  {what}: {len(frames)} places, {sum(frames.values())} kernel frames, "
              f"{percent:.2f} % named")
        wrong = [(hex(f.address), f.lines, self.kernel.at(f.address)) for f in frames
                 if not self.named(f)]
        check(len(frames) >= places and percent >= NAMED, f"kernel frames of {what}", wrong[:5])
