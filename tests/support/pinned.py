#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pinned.py: installs the tools that tests compare with, each in a fixed version, and prints them.

Go releases and google/pprof come as Go modules, what runs in Node from npm's registry (node/), what
Python imports from PyPI (python/); everything else is the Debian package that packaging/dependencies-test names. Tests that import this
module run with a PATH of these tools alone: `go` is GO, `pprof` is google/pprof's head, and what
else is installed on a machine does not matter. Debian's own Go, and the pprof in it, is DEBIAN_GO.

Kept in CACHE between runs; a folder there appears whole or not at all.
"""
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

GO = "1.26.8"
# The oldest, one between, and today's; in a long run each release that changed the function table,
# the frames or the stack switches.
GO_RELEASES = (("1.17.13", "1.18.10", "1.20.14", "1.22.12", "1.24.4", GO)
               if os.environ.get("TESTS_LONG") else ("1.17.13", "1.22.12", GO))
PPROF = "v0.0.0-20261016150608-1facf8f91b50"
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or
                     ("/var/cache" if os.geteuid() == 0 else os.path.expanduser("~/.cache")),
                     "profd-tests", "tools")
BIN = os.path.join(CACHE, "bin2-" + PPROF)
PATH = ":".join((BIN, "/usr/sbin", "/usr/bin", "/sbin", "/bin"))
DEBIAN_GO = "/usr/bin/go"
# Each package by its version and the hash of what it has.
NODE_LOCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node", "package-lock.json")
PYTHON_LISTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python")
PYTHON_PROGRAMS = "programs.txt"
# The Debian packages whose programs tests compare with, and what prints their versions.
VERSIONS = (("gcc", "-dumpfullversion"), ("clang", "-dumpversion"), ("python3", "-V"),
            ("node", "--version"), ("java", "-version"), ("rustc", "--version"),
            ("ruby", "--version"), (DEBIAN_GO, "version"), ("go", "version"))


def go_environment(**more):
    """Where Go keeps its files; nothing of the user's settings but a module proxy counts."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GO") or k == "GOPROXY"}
    return {**env, "PATH": PATH, "HOME": CACHE, "GOPATH": os.path.join(CACHE, "go"),
            "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOENV": "off", **more}


def go_cache(release):
    """Where what that release has compiled is kept for later runs."""
    return os.path.join(CACHE, f"go{release}-cache")


def go_build(release, *arguments, cwd=None, **environment):
    """`go build`; without modules, unless the environment says otherwise."""
    env = go_environment(**{"GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": go_cache(release),
                            **environment})
    must(go(release), "build", *arguments, env=env, cwd=cwd)


@contextlib.contextmanager
def lock(name="lock"):
    """One for all that takes seconds; what takes minutes has one of its own."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, name), "w", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def must(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def fetch_go(release, root):
    module = f"golang.org/toolchain@v0.0.1-go{release}.linux-amd64"
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        must(DEBIAN_GO, "mod", "download", module, cwd=folder,
             env=go_environment(GOPATH=folder))
        fetched = os.path.join(folder, "pkg", "mod", module)
        # Modules are stored without permission to execute.
        for place, _, files in os.walk(fetched):
            if "/bin" in place or "/pkg/tool" in place:
                for name in files:
                    os.chmod(os.path.join(place, name), 0o755)
        for unused in ("test", "api", "doc"):
            shutil.rmtree(os.path.join(fetched, unused), ignore_errors=True)
        os.rename(fetched, root)


@functools.cache
def go(release=GO):
    """The path of that release's go, which is fetched when it is not there yet."""
    root = os.path.join(CACHE, f"go{release}")
    with lock():
        if not os.path.exists(root):
            fetch_go(release, root)
    return os.path.join(root, "bin", "go")


def version_at_once(name, folder):
    """Puts a script in front of a program of LLVM's that says its version without it. pprof asks
    for that whenever it starts, which takes ten times as long as what it does for most tests."""
    real = shutil.which(name, path="/usr/bin:/bin")
    if real:
        printed = subprocess.run([real, "--version"], capture_output=True, text=True, check=True)
        line = next(l.strip() for l in printed.stdout.splitlines() if "version" in l)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\n[ "$*" = --version ] || exec {real} "$@"\necho "{line}"\n')
        os.chmod(path, 0o755)


@functools.cache
def install():
    """BIN, with go and pprof."""
    tool = go()
    with lock():
        if os.path.exists(BIN):
            return
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            made = os.path.join(folder, "bin")
            must(tool, "install", "github.com/google/pprof@" + PPROF,
                 env=go_environment(GOPATH=folder, GOBIN=made,
                                    GOCACHE=os.path.join(folder, "cache")))
            os.symlink(tool, os.path.join(made, "go"))
            version_at_once("llvm-objdump", made)
            os.rename(made, BIN)


def packages_of(kind, listing, install_into):
    """The directory of the packages that a file lists; made if there is none for such a file."""
    with open(listing, "rb") as f:
        root = os.path.join(CACHE, f"{kind}-" + hashlib.sha256(f.read()).hexdigest()[:16])
    with lock(), tempfile.TemporaryDirectory(dir=CACHE) as work:
        if not os.path.exists(root):
            made = os.path.join(work, "new")
            shutil.copytree(os.path.dirname(listing), made)
            install_into(made, work)
            os.rename(made, root)
    return root


@functools.cache
def node_packages():
    """The directory of packages for Node, which npm fetches where it is missing."""
    root = packages_of("node", NODE_LOCK, lambda made, work: must(
        "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
        "--cache", os.path.join(work, "cache"), cwd=made))
    return os.path.join(root, "node_modules")


@functools.cache
def python_packages(name="requirements.txt"):
    """The same of packages for Python, which pip fetches, of a list: a directory for sys.path."""
    listing = os.path.join(PYTHON_LISTS, name)
    root = packages_of("python", listing, lambda made, _: must(
        "/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
        "--no-cache-dir", "--disable-pip-version-check", "--root-user-action=ignore",
        "--require-hashes", "--target", os.path.join(made, "packages"), "-r", listing))
    return os.path.join(root, "packages")


def use():
    """From here on programs are found among the pinned ones."""
    install()
    os.environ.update(PATH=PATH, GOTOOLCHAIN="local", GOENV="off", GOFLAGS="",
                      GOCACHE=os.path.join(CACHE, "go-build"),
                      HOME=os.environ.get("HOME") or CACHE)


def main():
    use()
    for release in GO_RELEASES:
        go(release)
    for fetch, *lists in (node_packages,), (python_packages,), (python_packages, PYTHON_PROGRAMS):
        try:
            fetch(*lists)
        except (OSError, RuntimeError) as e:
            print(f"{fetch.__name__}: {e}")  # the tests that need them fail
    for command in VERSIONS:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{command[0]}: {(done.stdout or done.stderr).splitlines()[0]}")
    print(f"pprof: {PPROF}\nother releases of Go: {' '.join(GO_RELEASES)}")


if __name__ == "__main__":
    sys.exit(main())
