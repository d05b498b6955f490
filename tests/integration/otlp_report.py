# SPDX-License-Identifier: MIT
"""What `profctl convert --to otlp` makes of a file, beside what `profctl report` shows of it."""
import collections
import gzip
import os
import re
import subprocess
import sys

from otlp_rules import functions_of, parse, totals_of

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from pprof_file import fields, numbers  # pylint: disable=wrong-import-position

PROFCTL = os.path.join(os.path.abspath(sys.argv[1]), "bin", "profctl")
CPU = (("samples", "count"), ("cpu", "nanoseconds"))


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{command[1:3]}: {done.stderr[-300:].decode(errors='replace')}")
    return done.stdout


def convert(path):
    return parse(run(PROFCTL, "convert", "--to", "otlp", path))


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def sums_of(path):
    """{(type, unit): sum} of a file of profile.proto."""
    with gzip.open(path) as f:
        data = list(fields(f.read()))
    texts = [value.decode("utf-8", "replace") for field, value in data if field == 6]
    types = [dict(fields(value)) for field, value in data if field == 1]
    found = [0] * len(types)
    for sample in (value for field, value in data if field == 2):
        values = [n for field, v in fields(sample) if field == 2 for n in numbers(v)]
        found = [a + signed(b) for a, b in zip(found, values)]
    return {(texts[t.get(1, 0)], texts[t.get(2, 0)]): n for t, n in zip(types, found)}


def reported(path):
    """{function: [own, with what it calls]} of the samples, as `profctl report` has it."""
    text = run(PROFCTL, "report", "--text", "--symbolize=none", "--sample_index=samples",
               "--nodecount=0", "--trim=false", path).decode()
    found = collections.defaultdict(lambda: [0, 0])
    for own, cum, name in re.findall(
            r"(?m)^ *(\d+) +\S+% +\S+% +(\d+) +\S+%  (.+?)(?: \(inline\)| \(partial-inline\))?$", text):
        found[name][0] += int(own)
        found[name][1] += int(cum)
    return dict(found)


def shares_problem(path, request):
    wanted = reported(path)
    found = functions_of(request, "samples")
    # What has no name is shown by its address, in one way or another.
    other = {name for name, values in found.items() if name and wanted.get(name) != values}
    if other or not wanted:
        name = next(iter(other), None)
        return f"{name}: {found.get(name)}, reported {wanted.get(name)}; of {len(wanted)}"
    return None


def sums_problem(path, request):
    """Of samples and their CPU time one is enough."""
    found, wanted = totals_of(request), sums_of(path)
    lost = {t for t, n in wanted.items() if n and found.get(t) != n}
    if found.items() <= wanted.items() and (not lost or lost < set(CPU) <= wanted.keys()):
        return None
    return f"{found}, not {wanted}"
