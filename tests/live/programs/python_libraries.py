# SPDX-License-Identifier: MIT
"""python_libraries.py SECONDS: as python_shapes.py, where what is not in the standard library calls
Python: numpy and scipy from C and Fortran, greenlets, pylint from deep within itself, gunicorn in
workers that it forks."""
import glob
import http.client
import json
import os
import signal
import socket
import sys
import tempfile
import types

import greenlet
import gunicorn.app.base
import numpy
import pylint.checkers
import pylint.lint
import pylint.reporters
import scipy.integrate
import scipy.ndimage
import scipy.optimize

from python_shapes import children, recursion, run, spin, stacks

N_REQUESTS = 12
DEPTH = 40
done = set()


def once(function):
    """What takes long to start."""
    def by_once():
        if function not in done:
            done.add(function)
            function()

    return by_once


def spinning(value, often=1):
    """A function that spins as it is called the first times."""
    left = [often]

    def call(*_):
        left[0] -= 1
        if left[0] >= 0:
            spin()
        return value

    return call


def by_numpy():
    numpy.apply_along_axis(spinning(0, 2), 1, numpy.ones((2, 2)))
    numpy.frompyfunc(spinning(0), 1, 1)(numpy.arange(2))
    numpy.vectorize(spinning(0))(numpy.arange(2))
    numpy.fromiter((spin() or i for i in range(1)), int)


def by_scipy():
    scipy.integrate.quad(spinning(1.0), 0, 1)
    scipy.integrate.solve_ivp(spinning([0.0]), (0, 1), [1.0], method="LSODA")
    scipy.optimize.leastsq(spinning(numpy.zeros(2)), [1.0, 1.0])
    scipy.optimize.brentq(spinning(0.0), 0, 1)
    scipy.optimize.minimize(spinning(0.0, 2), [1.0], method="Nelder-Mead")
    scipy.ndimage.generic_filter(numpy.ones(3), spinning(1.0), 3)


def by_greenlet():
    def ping():
        spin()
        other.switch()
        recursion(3)

    def pong():
        spin()
        first.switch()

    first, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
    first.switch()


class SpinningChecker(pylint.checkers.BaseChecker):
    name = "spinning"
    msgs = {"W9999": ("spins", "spinning", "spins")}

    def visit_name(self, _):
        spin()


@once
def by_pylint():
    """Recursive as what it reads is nested."""
    plugin = types.ModuleType("spinning_plugin")
    plugin.register = lambda linter: linter.register_checker(SpinningChecker(linter))
    sys.modules["spinning_plugin"] = plugin
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "nested.py")
        with open(path, "w", encoding="ascii") as f:
            f.write("".join(f"{'    ' * i}def f{i}(a):\n" for i in range(DEPTH))
                    + "    " * DEPTH + "return [[{1: (a, -(a + 1))}]]\n")
        pylint.lint.Run(["--disable=all", "--enable=spinning", "--load-plugins=spinning_plugin",
                         "--persistent=n", path], exit=False,
                        reporter=pylint.reporters.CollectingReporter())


class Service(gunicorn.app.base.BaseApplication):
    def __init__(self, listener, folder):
        self.settings = {"bind": f"fd://{listener.fileno()}", "workers": 2, "loglevel": "error",
                         "worker_exit": lambda _, worker: self.leave_stacks()}
        self.folder = folder
        super().__init__()

    def load_config(self):
        for name, value in self.settings.items():
            self.cfg.set(name, value)

    def load(self):
        return self.answer

    def answer(self, environment, start_response):
        recursion(3)
        start_response("200 OK", [("Content-Length", "0"), ("Connection", "close")])
        return [spin() or b""]

    def leave_stacks(self):
        with open(os.path.join(self.folder, str(os.getpid())), "w", encoding="utf-8") as f:
            json.dump(sorted(stacks), f)


def serve(listener, folder):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            Service(listener, folder).run()
        except SystemExit as end:  # the workers' as well
            code = end.code
        finally:
            os._exit(code)
    return pid


@once
def by_gunicorn():
    with socket.socket() as listener, tempfile.TemporaryDirectory() as folder:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.set_inheritable(True)
        pid = serve(listener, folder)
        for _ in range(N_REQUESTS):
            client = http.client.HTTPConnection(*listener.getsockname())
            client.request("GET", "/")
            client.getresponse().read()
            client.close()
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        for path in glob.glob(os.path.join(folder, "*")):
            children.add(int(os.path.basename(path)))
            with open(path, encoding="utf-8") as f:
                stacks.update(tuple(map(tuple, stack)) for stack in json.load(f))
    assert children


if __name__ == "__main__":
    run(by_numpy, by_scipy, by_greenlet, by_pylint, by_gunicorn)
