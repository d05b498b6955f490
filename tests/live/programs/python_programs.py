# SPDX-License-Identifier: MIT
"""python_programs.py SECONDS: as python_shapes.py, where programs and their libraries call Python."""
import asyncio
import contextlib
import gc
import http.client
import http.server
import multiprocessing
import os
import re
import signal
import socketserver
import sqlite3
import sys
import threading
import xml.parsers.expat

from python_shapes import children, recursion, run, spin, stacks


LONG = compile("def long(n):\n" + "    n = -n\n" * 1500 + "    spin()\n", "long", "exec")


def to_the_limit():
    """Deeper than what a tick looks at."""
    recursion(sys.getrecursionlimit() - 60)


def by_long():
    """Its table of lines has some 10 KiB."""
    exec(LONG, place := {"spin": spin})
    place["long"](1)


def by_sqlite():
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.create_function("f", 1, lambda n: spin() or n)
        base.execute("select f(1)").fetchall()


def by_expat():
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: spin()
    parser.Parse("<a/>", True)


def by_substitution():
    re.sub("b", lambda found: spin() or "c", "abc")


def by_end():
    class Ends:
        def __init__(self):
            self.own = self

        def __del__(self):
            spin()

    Ends()
    gc.collect()


def by_signal():
    before = signal.signal(signal.SIGUSR1, lambda number, frame: spin())
    sorted([1, 2], key=lambda n: os.kill(os.getpid(), signal.SIGUSR1) or n)
    signal.signal(signal.SIGUSR1, before)


def by_trace():
    def trace(frame, event, argument):
        if event == "call":
            spin()

    sys.setprofile(trace)
    (lambda: None)()
    sys.setprofile(None)


def by_import():
    sys.modules.pop("python_imported", None)
    import python_imported


async def generate():
    for i in range(2):
        await asyncio.sleep(0)
        spin()
        yield i


async def gather():
    async def one():
        async with contextlib.aclosing(generate()) as all_of_them:
            async for _ in all_of_them:
                pass
        await asyncio.get_running_loop().run_in_executor(None, spin)

    await asyncio.gather(one(), one())


def by_tasks():
    asyncio.run(gather())


def by_server():
    """A web service with a thread for each request."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            spin()
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
        pass

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        client = http.client.HTTPConnection(*server.server_address)
        client.request("GET", "/")
        client.getresponse().read()
        client.close()
        server.shutdown()


def by_fight():
    threads = [threading.Thread(target=recursion, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def work(n):
    for _ in range(10):
        recursion(n)
    return os.getpid(), list(stacks)


def by_workers():
    """Processes that are forked by a server, and by ourselves. Once: they take long to start."""
    if children:
        return
    for how in ("forkserver", "fork"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            for pid, theirs in pool.imap_unordered(work, range(3)):
                children.add(pid)
                stacks.update(theirs)


if __name__ == "__main__":
    run(to_the_limit, by_long, by_sqlite, by_expat, by_substitution, by_end, by_signal, by_trace,
        by_import, by_tasks, by_server, by_fight, by_workers)
