# SPDX-License-Identifier: MIT
"""Grafana Alloy's and Parca's own scrapers, each in a fixed version, built from its Go module.

Of Alloy it is the component pyroscope.scrape (alloy/main.go says how it is run); of Parca the whole
server, but for its web page, which its module does not have. Kept as pinned.py keeps tools; from empty
caches each takes six to nine minutes on two CPUs, and 3 GB of memory."""
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile

import pinned

ALLOY = "github.com/grafana/alloy"
ALLOY_VERSION = "v1.11.0"
# The language of its configuration: a module of its own, which releases take from their own tree.
SYNTAX = ("github.com/grafana/alloy/syntax", "v0.1.1")
PARCA = "github.com/parca-dev/parca"
PARCA_VERSION = "v0.28.0"
MAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alloy", "main.go")


class Tree:
    """A module's sources, to be changed and built."""

    def __init__(self, go, work, module, version):
        self.go = go
        self.env = pinned.go_environment(GOPATH=work, GOCACHE=os.path.join(work, "cache"),
                                         PATH=os.path.dirname(go) + ":" + pinned.PATH)
        done = subprocess.run((go, "mod", "download", "-json", f"{module}@{version}"),
                              capture_output=True, text=True, check=False, cwd=work, env=self.env)
        if done.returncode:
            raise RuntimeError(f"{module}: {done.stdout}{done.stderr}")
        self.root = os.path.join(work, "tree")
        os.rename(json.loads(done.stdout)["Dir"], self.root)
        for place, _, _ in os.walk(self.root):
            os.chmod(place, 0o755)

    def run(self, *arguments, **more):
        pinned.must(self.go, *arguments, cwd=self.root, env={**self.env, **more})


def build_alloy(tree, program):
    module, version = SYNTAX
    os.chmod(os.path.join(tree.root, "go.mod"), 0o644)
    tree.run("mod", "edit", f"-dropreplace={module}", f"-require={module}@{version}")
    # Its packages are for its own tree alone.
    package = os.path.join(tree.root, "internal", "profd")
    os.mkdir(package)
    shutil.copy(MAIN, package)
    tree.run("build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", program, "./internal/profd")


def build_parca(tree, program):
    tree.run("build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/parca", CGO_ENABLED="0")


def kept(name, module, version, build, *parts):
    """The program's path, which is built where it is missing; @parts: what it is made of beside."""
    of = hashlib.sha256(repr((module, version, pinned.GO, *parts)).encode()).hexdigest()[:16]
    program = os.path.join(pinned.CACHE, f"{name}-{version}-{of}")
    go = pinned.go()
    with pinned.lock(f"lock-{name}"):
        if not os.path.exists(program):
            with tempfile.TemporaryDirectory(dir=pinned.CACHE) as work:
                made = os.path.join(work, name)
                build(Tree(go, work, module, version), made)
                os.rename(made, program)
    return program


@functools.cache
def alloy():
    with open(MAIN, encoding="utf-8") as f:
        return kept("alloy-scrape", ALLOY, ALLOY_VERSION, build_alloy, SYNTAX, f.read())


@functools.cache
def parca():
    return kept("parca", PARCA, PARCA_VERSION, build_parca)
