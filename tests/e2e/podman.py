# SPDX-License-Identifier: MIT
"""Containers of podman's, with a store of their own, on what is a node for them: its process 1 is
ours, and its files are this process' (machine.enter_namespace with OWN_PROCESSES).

Containers see control groups of version 2 alone, and are in a namespace of them: so it is on nodes.
runc, because crun insists on limits that a machine without CAP_SYS_RESOURCE does not have.
"""
import contextlib
import json
import os

from machine import call, must

OWN_PROCESSES = ("--pid", "--mount-proc")
GROUPS = "/sys/fs/cgroup"
# In memory, so that nothing is left of them: the store, and where podman and its locks are.
FOLDERS = ("/var/lib/containers", "/run", "/dev/shm")


def mount_node():
    for folder in FOLDERS:
        os.makedirs(folder, exist_ok=True)
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
    if not os.path.exists(f"{GROUPS}/cgroup.controllers"):
        must("mount", "-t", "cgroup2", "cgroup2", GROUPS)


# As hard as any machine has them: podman's own are higher than what some may set.
LIMITS = ["--pids-limit=-1", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"]


class Podman:
    def __init__(self):
        self.command = ["podman", "--cgroup-manager=cgroupfs", "--runtime=runc",
                        "--storage-driver=overlay"]
        self.containers = []

    def call(self, *arguments, timeout=120):
        return call(*self.command, *arguments, timeout=timeout)

    def must(self, *arguments, timeout=300):
        return must(*self.command, *arguments, timeout=timeout).strip()

    def import_image(self, name, folder, *paths):
        """Of @paths in @folder."""
        tar = " ".join(["tar", "-C", folder, "-c", *paths])
        must("bash", "-o", "pipefail", "-c", f"{tar} | {' '.join(self.command)} import - {name}",
             timeout=300)

    def run(self, name, *arguments):
        self.containers.append(name)
        return self.must("run", "--detach", f"--name={name}", *LIMITS, *arguments)

    def execute(self, name, *command):
        return self.call("exec", name, *command)

    def inspect(self, name):
        return json.loads(self.must("inspect", name))[0]

    def logs(self, name):
        done = self.call("logs", name)
        return done.stdout + done.stderr

    def remove(self, name):
        self.containers.remove(name)
        return self.call("rm", "--force", "--time=5", "--volumes", name)

    def close(self):
        for name in reversed(list(self.containers)):
            self.remove(name)
        # What podman leaves, of which the machine has no other trace.
        for folder, _, _ in os.walk(f"{GROUPS}/libpod_parent", topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
