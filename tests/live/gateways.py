# SPDX-License-Identifier: MIT
"""What the live tests of profd-gateway share: one that serves HTTP, and its clients."""
import grp
import http.client
import json
import os
import re
import signal
import socket

from harness import BUILD, run, wait_for

GATEWAY = f"{BUILD}/bin/profd-gateway"
METRICS_SECRET, READ_SECRET = "metrics-0123456789", "read-0123456789abc"
CREDENTIALS = f"# clients\nmetrics prometheus {METRICS_SECRET}\nread alice {READ_SECRET}\n"
# Whom root's gateway becomes, and the group that profd answers all to.
USER, GROUP = (("profd-gateway", "profd") if not run("id", "profd-gateway").returncode
               else ("nobody", "nogroup"))
READ = {"Authorization": f"Bearer {READ_SECRET}"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def socket_directory(shop):
    """Where the gateway can make a socket, which its group may use."""
    directory = shop.path("sockets")
    os.makedirs(directory)
    os.chown(directory, -1, grp.getgrnam(GROUP).gr_gid)
    os.chmod(directory, 0o777)
    return directory


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)  # waits for room in the backlog: without a timeout only
        self.sock.settimeout(self.timeout)


class Gateway:
    """profd-gateway as a service, that listens at @listen."""

    def __init__(self, shop, name, profd, listen, prefix=(), options=(), **keys):
        self.shop, self.name, self.profd = shop, name, profd
        self.log = shop.path(name + ".log")
        self.configure(listen, **keys)
        cache = shop.path(name + ".cache")
        os.makedirs(cache, mode=0o777)
        os.chmod(cache, 0o777)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = shop.start(*prefix, GATEWAY, "-c", self.conf, "--cache-directory", cache,
                                      *options, stderr=log, in_front=True)
        self.started = wait_for(lambda: self.process.poll() is not None or
                                "served at" in self.messages()) and self.process.poll() is None

    def configure(self, listen, more="", **keys):
        self.listen = listen
        text = (f"[control]\nsocket={self.profd.socket}\n[store]\ngroup={GROUP}\n{more}"
                f"[http]\nlisten={listen}\n")
        self.conf = self.shop.write(self.name + ".conf",
                                    text + "".join(f"{k}={v}\n" for k, v in keys.items()))

    def reload(self, listen, words="served at", **keys):
        """Whether it then logs these words."""
        n = self.messages().count(words)
        self.configure(listen, **keys)
        self.process.send_signal(signal.SIGHUP)
        return wait_for(lambda: self.messages().count(words) > n)

    def messages(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def connect(self):
        if self.listen.startswith("/"):
            return UnixConnection(self.listen)
        return http.client.HTTPConnection(self.listen, timeout=120)

    def ask(self, path, method="GET", body=None, **headers):
        """The status, the headers and the body."""
        connection = self.connect()
        try:
            connection.request(method, path, body,
                               {k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, path):
        """The status and the object, or the text of an error."""
        status, headers, body = self.ask(path)
        if status != 200:
            return status, body.decode()
        if headers["Content-Type"] != "application/json":
            return status, f"content type {headers['Content-Type']}"
        return status, json.loads(body.decode())

    def answers(self):
        """As long as there are too many connections, it hangs up."""
        try:
            return self.ask("/metrics")[0] == 200
        except OSError:
            return False

    def raw(self, data, seconds=60):
        """What is answered to these bytes, until the end."""
        if self.listen.startswith("/"):
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.listen)
        else:
            host, _, port = self.listen.rpartition(":")
            s = socket.create_connection((host, int(port)))
        with s:
            s.settimeout(seconds)
            answer = b""
            try:
                s.sendall(data)
                while piece := s.recv(65536):
                    answer += piece
            except OSError:
                pass
            return answer

    def memory(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as f:
            return int(re.search(r"Pss:\s+(\d+)", f.read()).group(1)) * 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)
