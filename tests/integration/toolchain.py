# SPDX-License-Identifier: MIT
"""Large files of the tests' compilers, whose paths differ between releases."""
import os
import re
import subprocess


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def llvm():
    """The library of Debian's clang."""
    return os.path.realpath(re.search(r"=> (\S*/libLLVM\S*)", output("ldd", "/usr/bin/clang"))[1])


def cc1():
    """The compiler behind Debian's gcc."""
    return os.path.realpath(output("/usr/bin/gcc", "-print-prog-name=cc1").strip())
