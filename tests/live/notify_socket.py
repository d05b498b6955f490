# SPDX-License-Identifier: MIT
"""A socket in the place of the service manager's, sd_notify(3)."""
import socket
import threading
import time


class Manager:
    """Receives what is sent to it, always: where some ten messages wait, the next one keeps its
    sender waiting."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.fields, self.taken = [], 0
        self.alive = []  # when the watchdog was fed
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self):
        while True:
            fields = self.socket.recv(65536).decode().splitlines()
            self.alive += [time.monotonic()] * fields.count("WATCHDOG=1")
            self.fields += fields

    def listen(self, seconds, until=None):
        """The fields that came since the last time, and come now until one begins with @until."""
        end, first = time.monotonic() + seconds, self.taken
        while True:
            self.taken = len(self.fields)
            new = self.fields[first:self.taken]
            if time.monotonic() >= end or (until and any(f.startswith(until) for f in new)):
                return new
            time.sleep(0.02)
