# SPDX-License-Identifier: MIT
"""A copy of the sources with more of some things: tests/extensions has their files, the caller their
rows."""
import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MORE = os.path.join(ROOT, "tests", "extensions")


def output_of(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd,
                          env={**os.environ, "CCACHE_BASEDIR": cwd or "/", "CCACHE_NOHASHDIR": "1"})
    return done.returncode, done.stdout + done.stderr


class Extended:
    """@rows, of each extension: the file, the line (its beginning) behind which the row comes, the
    row. path is the copy's; tests: the unit tests that came with the files, as (extension, the
    directory's program, the test)."""

    def __init__(self, check, rows):
        self.check, self.rows, self.tests = check, rows, []
        self.folder = tempfile.TemporaryDirectory(prefix="profd-extensions-")
        self.path = os.path.join(self.folder.name, "profd")

    def __enter__(self):
        shutil.copytree(ROOT, self.path, ignore=shutil.ignore_patterns("build", ".git"))
        for name, rows in self.rows.items():
            self.add_files(name, os.path.join(MORE, name))
            for path, before, row in rows:
                self.add_row(name, path, before, row)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def add_files(self, name, folder):
        for where, _, files in os.walk(folder):
            for file in files:
                path = os.path.relpath(os.path.join(where, file), folder)
                shutil.copy(os.path.join(folder, path), os.path.join(self.path, path))
                test = re.fullmatch(r"tests/unit/(\w+)/test_(\w+)\.c", path)
                if test:
                    self.tests.append((name, f"unit_{test[1]}", test[2]))

    def add_row(self, name, path, before, row):
        with open(os.path.join(self.path, path), encoding="utf-8") as f:
            lines = f.read().splitlines()
        at = [i for i, line in enumerate(lines) if line.startswith(before)]
        if not self.check(len(at) == 1, f"{name}: there is one place for its row in {path}", len(at)):
            return
        # Behind the last row of a macro.
        if row.startswith("\tX(") and not lines[at[0]].endswith("\\"):
            lines[at[0]] += " \\"
        lines.insert(at[0] + 1, row)
        with open(os.path.join(self.path, path), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")

    def build(self, targets):
        """With what was compiled before, as far as rows do not change that."""
        code, text = output_of("cmake", "-G", "Ninja", "-S", self.path, "-B", f"{self.path}/build",
                               "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_INSTALL_PREFIX=/usr",
                               "-DCMAKE_C_COMPILER_LAUNCHER=ccache", cwd=self.path)
        if code == 0:
            code, text = output_of("ninja", "-C", f"{self.path}/build", *targets, cwd=self.path)
        return self.check(code == 0, "with one more of each it is built", text[-3000:])

    def run_tests(self):
        for name, runner, test in self.tests:
            code, text = output_of(f"{self.path}/build/tests/{runner}", test)
            self.check(code == 0 and "PASSED  ] 1 test" in text, f"{name}: {test}", text[-2000:])
