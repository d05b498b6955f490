# SPDX-License-Identifier: MIT
"""python_shapes.py SECONDS: spins below many shapes of calls, for so much CPU time.

Prints, as JSON, each stack (name, file, line; innermost first, without spin()'s own) that spin() was
called with, by what the interpreter itself says of its frames; and which processes did that.
"""
import asyncio
import collections
import functools
import json
import os
import sys
import threading
import time

try:
    import ctypes
    ctypes.CDLL(None)
except (ImportError, OSError):  # a static program loads no libraries
    ctypes = None

stacks = set()
children = set()
places = collections.defaultdict(set)


def spin():
    stack, frame = [], sys._getframe(1)
    while frame:
        code = frame.f_code
        stack.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    stacks.add(tuple(stack))
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        sum(
            range(
                500))


def recursion(n=20):
    return recursion(n - 1) if n else spin()


def by_key():
    def key(n):
        if n == 3:
            spin()
        return -n

    sorted(range(5), key=key)


def by_reduce():
    functools.reduce(lambda a, b: spin() if b == 2 else b, range(4))


def by_callback():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                               ctypes.POINTER(ctypes.c_int))
    called = []

    def order(a, b):
        if not called:
            called.append(1)
            spin()
        return a[0] - b[0]

    numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
    ctypes.CDLL(None).qsort(numbers, 4, 4, compare(order))


def generate(n):
    for i in range(n):
        if i == 1:
            spin()
        yield i
    yield from (i for i in [spin()])


def by_generator():
    return list(generate(3))


class Shape:
    def __init__(self):
        spin()

    @property
    def area(self):
        spin()
        return 1

    def __add__(self, other):
        spin()
        return self


def by_class():
    shape = Shape()
    shape.area
    shape + shape


async def wait(n):
    await asyncio.sleep(0)
    if n:
        await wait(n - 1)
    else:
        spin()


def by_coroutine():
    asyncio.run(wait(3))


def by_exception():
    try:
        try:
            raise ValueError
        finally:
            spin()
    except ValueError:
        spin()


def by_exec():
    exec("def inner():\n\n    spin()\ninner()", {"spin": spin})


def by_memory():
    """One code after the other, of which each is where the one before was."""
    for name in ("one", "two", "six", "ten", "few", "all"):
        code = compile("spin()", name, "exec")
        places[id(code)].add(name)
        exec(code, {"spin": spin})
        del code


def by_threads():
    threads = [threading.Thread(target=recursion, args=(i,)) for i in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def café():
    spin()


def run(*shapes):
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        for shape in shapes:
            shape()
    json.dump({"stacks": sorted(stacks), "pids": [os.getpid(), *children]}, sys.stdout)


if __name__ == "__main__":
    run(recursion, by_key, by_reduce, *([by_callback] if ctypes else ()), by_generator, by_class,
        by_coroutine, by_exception, by_exec, by_memory, by_threads, café)
    assert any(len(names) > 1 for names in places.values())
