# SPDX-License-Identifier: MIT
"""Control groups of a test's own, one in version 2 and one in systemd's hierarchy of version 1, and
programs in them."""
import os
import subprocess
import time


class Groups:
    """Control groups of our own; clean() removes them."""

    def __init__(self, shop):
        self.name = os.path.basename(shop.folder).encode()
        self.mounted = None
        self.trees = {}
        if os.path.exists("/sys/fs/cgroup/cgroup.procs"):
            self.trees["v2"] = b"/sys/fs/cgroup"
        elif os.path.exists("/sys/fs/cgroup/unified/cgroup.procs"):
            self.trees["v2"] = b"/sys/fs/cgroup/unified"
        if os.path.exists("/sys/fs/cgroup/systemd/cgroup.procs"):
            self.trees["v1"] = b"/sys/fs/cgroup/systemd"
        else:
            self.mounted = shop.path("hierarchy")
            os.mkdir(self.mounted)
            subprocess.run(["mount", "-t", "cgroup", "-o", "none,name=systemd", "systemd",
                            self.mounted], check=True)
            self.trees["v1"] = self.mounted.encode()
        for tree in list(self.trees):
            self.make(tree, b"")

    def path(self, tree, below):
        """As /proc/PID/cgroup has it."""
        return b"/" + self.name + (b"/" + below if below else b"")

    def folder(self, tree, below=b""):
        return self.trees[tree] + self.path(tree, below)

    def make(self, tree, below):
        os.makedirs(self.folder(tree, below), exist_ok=True)
        return self.folder(tree, below)

    def move(self, tree, below, pid):
        with open(self.make(tree, below) + b"/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(pid))

    def remove(self, tree, below):
        """What ran there takes a moment to be gone."""
        for _ in range(1000):
            try:
                return os.rmdir(self.folder(tree, below))
            except OSError:
                time.sleep(0.02)
        return os.rmdir(self.folder(tree, below))

    def clean(self):
        for tree in self.trees:
            top = self.folder(tree)
            for folder, _, _ in os.walk(top, topdown=False):
                self.remove(tree, folder[len(top) + 1:])
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=False)


class Member:
    """A program in groups, started there."""

    def __init__(self, shop, groups, comm, places, mode=("spin",), uid=0, prefix=(), **options):
        self.comm, self.places = comm, places
        folders = [groups.make(tree, below) for tree, below in places.items()]
        script = 'for f; do [ "$f" = -- ] && break; echo 0 >"$f/cgroup.procs" || exit; shift; done'
        who = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"] if uid else []
        self.child = shop.start("sh", "-c", script + '; shift; exec "$@"', "sh", *folders, "--",
                                *who, *prefix, shop.path("service"), comm.hex(), *mode, **options)
