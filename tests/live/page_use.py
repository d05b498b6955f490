# SPDX-License-Identifier: MIT
"""Runs scripts that use the page in a browser (page_use.cjs)."""
import json
import os
import re
import subprocess

from harness import BUILD, wait_for # which is where pinned is found, too
import pinned

HERE = os.path.dirname(os.path.abspath(__file__))


def start_web(shop, store):
    """`profctl web` over the store alone; its address."""
    log = shop.path("web.log")
    with open(log, "w", encoding="utf-8") as out:
        shop.start(f"{BUILD}/bin/profctl", "web", "--no-browser", "--store", store, stdout=out,
                   stderr=out, in_front=True)

    def address():
        with open(log, encoding="utf-8") as f:
            return re.search(r"http://\S+", f.read())

    found = wait_for(address)
    return found[0] if found else ""


def run_script(check, name, question):
    """What it prints, line by line, is what it found."""
    os.makedirs(question["pictures"], exist_ok=True)
    done = subprocess.run(
        ["node", os.path.join(HERE, name), json.dumps(question)],
        env=dict(os.environ, NODE_PATH=pinned.node_packages()), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=900, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("ok "):
            check(True, line.removeprefix("ok "))
        elif line.startswith("not ok "):
            name, _, detail = line.removeprefix("not ok ").partition(": ")
            check(False, name, detail)
        else:
            print("#", line)
    check(done.returncode == 0, "the script comes to its end", done.stdout)
