# SPDX-License-Identifier: MIT
"""Python's frames in profiles, and the judgement of programs that print their own stacks."""
import collections
import json
import os
import subprocess

from harness import PROGRAMS
from pprof_file import is_python, samples_of

RIGHT = 0.995
NAMED = 0.99
DEEP = 250  # so many of a thread's frames are shown


def python_frames(sample):
    return [(location.lines[0].name, location.lines[0].file, location.lines[0].line)
            for location in sample.locations if is_python(location)]


def has_loop(sample):
    """A native frame of it is shown as such: those that it runs are missing, or out of place."""
    return any(line.name.startswith("_PyEval_EvalFrameDefault") for at in sample.locations for line in at.lines)


def is_known(stack, known):
    """Of a chain that is too long for a tick, the part that is next to the leaf."""
    return stack in known or len(stack) > DEEP and any(stack == k[:len(stack)] for k in known)


def is_cut(frames):
    """The callers' are not there: they are too deep for a tick, or another greenlet's."""
    return len(frames) >= DEEP or frames and frames[-1][0].startswith("by_greenlet")


def judge_all(profd, *judges):
    """Each runs its programs up to its yield, then looks at what is written: all is written once, as names
    are looked up anew for each window, of whatever the machine runs."""
    for judge in judges:
        next(judge, None)
    profd.call("flush")
    for judge in judges:
        next(judge, None)


def judge_shapes(check, profd, shop, name, script, *python, seconds, **options):
    """Runs a program that uses programs/python_shapes.py."""
    script = os.path.join(PROGRAMS, script)
    child = shop.start(*python, script, seconds, stdout=subprocess.PIPE, text=True, **options)
    told = json.loads(child.communicate()[0] or "{}")
    known = {tuple(map(tuple, stack)) for stack in told.get("stacks", ())}
    check(child.returncode == 0 and len(known) > 15, f"{name}: the program ran", str(len(known)))
    with open(os.path.join(PROGRAMS, "python_shapes.py"), encoding="utf-8") as f:
        own = f.read().splitlines()
    own_lines = range(own.index("def spin():") + 2, own.index("def recursion(n=20):"))
    n, all_samples, right, loops, wrong = 0, 0, 0, 0, collections.Counter()
    yield
    for sample in samples_of(profd.windows(), set(told.get("pids", ()))):
        frames = python_frames(sample)
        all_samples += sample.count
        # Before the first one and after the last one runs, there are none.
        if has_loop(sample) and not is_cut(frames):
            loops += sample.count
        if not frames or frames[0][0] != "spin":
            continue
        n += sample.count
        if is_known(tuple(frames[1:]), known) and frames[0][2] in own_lines:
            right += sample.count
        else:
            wrong[tuple(frames)] += sample.count
    told = f"{right} of {n}, {loops} of {all_samples} with an entry of the loop that is not named"
    print(f"# {name}: {told}")
    check(n > 100, f"{name}: there are samples", told)
    check(right >= RIGHT * n, f"{name}: stacks are the program's own",
          f"{told}; such as {wrong.most_common(3)}")
    check(loops <= (1 - NAMED) * all_samples, f"{name}: the loop has Python's names", told)
