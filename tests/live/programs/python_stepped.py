# SPDX-License-Identifier: MIT
"""python_stepped.py: calls and returns in every way that Python has, one after the other, without
an end. support/python_steps stops it and has it print its frames to descriptor 3 (SIGUSR1)."""
import asyncio
import contextlib
import ctypes
import faulthandler
import functools
import gc
import os
import re
import signal
import sqlite3
import sys
import time

compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
base = sqlite3.connect(":memory:")
n_calls = 0


def leaf():
    global n_calls
    n_calls += 1
    return n_calls


def call_with(a, *more, b=1, **named):
    return leaf() + a + b + len(more) + len(named)


def by_call():
    call_with(1)
    call_with(1, 2, 3, b=2, c=3)
    call_with(*[1, 2], **{"c": 1})


def recursion(n):
    return recursion(n - 1) + 1 if n else leaf()


def by_recursion():
    recursion(30)


def by_sort():
    sorted(range(6), key=lambda n: -n + 0 * leaf())
    list(map(leaf_of, range(3)))
    functools.reduce(lambda a, b: a + b * leaf(), range(4))


def leaf_of(_):
    return leaf()


def generate(n):
    try:
        for i in range(n):
            yield i
            leaf()
        yield from inner(n)
    finally:
        leaf()


def inner(n):
    with contextlib.suppress(KeyError):
        yield n
        got = yield leaf()
        yield got


def by_generator():
    list(generate(3))
    generator = generate(1)
    next(generator)
    next(generator)
    with contextlib.suppress(ValueError):
        generator.throw(ValueError())
    next(generate(2))
    sum(leaf() for _ in range(3))
    [leaf() for _ in range(2)]


def outer(n):
    yield from catching(n)


def catching(n):
    try:
        yield n
    except ValueError:
        recursion(2)
        yield n


def throw(n):
    generator = outer(n)
    next(generator)
    return generator.throw(ValueError())


def by_throw():
    sorted(range(3), key=throw)


class Shape:
    def __init__(self, n):
        self.n = n
        leaf()

    @property
    def area(self):
        return leaf()

    def __add__(self, other):
        return Shape(self.n + other.n)

    def __lt__(self, other):
        return self.n < other.n

    def __getattr__(self, name):
        leaf()
        raise AttributeError(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return leaf() > 0

    def __del__(self):
        leaf()


class Round(Shape):
    def __init__(self, n):
        super().__init__(n)

    def __call__(self):
        return self.area


def by_class():
    shape = Round(1) + Round(2)
    shape.area
    getattr(shape, "none", 0)
    Round(3)()
    with shape:
        raise ValueError
    sorted([Shape(2), Shape(1), Shape(3)])


def fall(n):
    if n == 0:
        raise ValueError(leaf())
    try:
        fall(n - 1)
    finally:
        leaf()


def by_exception():
    try:
        fall(8)
    except ValueError as error:
        leaf()
        del error


async def wait(n):
    if n:
        return await wait(n - 1) + leaf()
    await asyncio.sleep(0)
    return leaf()


async def count(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def gather():
    await asyncio.gather(wait(3), wait(1))
    async for _ in count(2):
        leaf()


def by_coroutine():
    asyncio.run(gather())


def by_callback():
    numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
    ctypes.CDLL(None).qsort(numbers, 4, 4, compare(lambda a, b: a[0] - b[0] + 0 * leaf()))
    base.create_function("f", 1, leaf_of)
    base.execute("select f(1)").fetchall()
    re.sub("b", lambda found: str(leaf()), "abab")


def by_import():
    for name in ("colorsys", "sched"):
        sys.modules.pop(name, None)
        __import__(name)


def by_exec():
    exec("def inner(f):\n    return [f() for _ in range(2)]\ninner(f)", {"f": leaf})
    eval("f(1)", {"f": leaf_of})


def by_collection():
    shape = Shape(1)
    shape.own = shape
    del shape
    gc.collect(0)


def by_sleep():
    # Being stopped ends the system call early, and up to 3.10 faulthandler's handler leaves another
    # errno behind than the one that the sleep would begin again for.
    with contextlib.suppress(OSError):
        time.sleep(0)
    os.getpid()


def by_trace():
    def trace(frame, event, argument):
        return leaf()

    sys.setprofile(trace)
    call_with(1)
    sys.setprofile(None)


def main():
    faulthandler.register(signal.SIGUSR1, file=3, all_threads=False)
    os.kill(os.getpid(), signal.SIGUSR2)
    while True:
        for shape in (by_call, by_recursion, by_sort, by_generator, by_throw, by_class, by_exception,
                      by_coroutine, by_callback, by_import, by_exec, by_collection, by_sleep,
                      by_trace):
            shape()


main()
