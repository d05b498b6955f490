# SPDX-License-Identifier: MIT
"""profctl web, for tests that speak with it."""
import glob
import http.client
import os
import re
import select
import signal
import socket

from harness import BUILD, as_user

PROFCTL = f"{BUILD}/bin/profctl"
ADDRESS = r"(http://([^/]+)/\?token=(\w+))\n"


class Web:
    """profctl web, and a client with cookies."""

    def __init__(self, shop, *arguments, socket_path=None, uid=0, **environment):
        self.tmp = shop.path("tmp")
        command = [PROFCTL, *(["--socket", socket_path] if socket_path else []), "web", *arguments]
        self.errors = shop.path(f"web.{len(glob.glob(shop.path('web.*')))}")
        self.path = next((a for a in arguments if a.startswith(shop.folder) and "sock" in a), None)
        self.cookie = None
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.process = shop.start(
                *(as_user(uid, *command) if uid else command), in_front=True, stderr=errors,
                stdout=-1, text=True,
                env={"PATH": os.environ["PATH"], "TMPDIR": self.tmp, "HOME": shop.folder,
                     "PROFD_SOCKET": shop.path("nobody"), **environment})
        line = self.process.stdout.readline() if self.wait_line() else ""
        found = re.fullmatch(ADDRESS, line)
        self.address, self.host, self.token = found.groups() if found else (line, None, None)

    def wait_line(self):
        return select.select([self.process.stdout], [], [], 120)[0]

    def said(self):
        with open(self.errors, encoding="utf-8") as f:
            return f.read()

    def connect(self):
        if not self.path:
            return http.client.HTTPConnection(self.host, timeout=120)
        connection = http.client.HTTPConnection("localhost", timeout=120)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.path)
        return connection

    def ask(self, path, method="GET", with_cookie=True, **headers):
        """The status, the headers, the body."""
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if self.cookie and with_cookie:
            headers.setdefault("Cookie", self.cookie)
        connection = self.connect()
        try:
            connection.request(method, path, None, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def enter(self):
        status, headers, _ = self.ask(f"/?token={self.token}")
        self.cookie = headers.get("Set-Cookie", "").partition(";")[0]
        return status == 303

    def children(self):
        """Of profctl, and of these, and so on."""
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            for path in glob.glob(f"/proc/{pid}/task/*/children"):
                try:
                    with open(path, encoding="ascii") as f:
                        more = [int(p) for p in f.read().split()]
                except OSError:
                    more = []
                found += more
                todo += more
        return found

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait(timeout=60)
