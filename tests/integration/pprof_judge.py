# SPDX-License-Identifier: MIT
"""google/pprof's head as the reference for what `profctl report` prints: many reports of one
profile from one process, and what of the two outputs is compared."""
import collections
import difflib
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pinned

pinned.use()
PPROF = os.path.join(pinned.BIN, "pprof")
ONLY_ONE = ("Files: ", "Total samples = ", "Service: ", "Host: ", "Few samples: ")
# What pprof's prompt has set before each report; a report's own settings come on top. nodecount is
# said there: at the prompt --text has ten rows.
UNSET = {
    "granularity": "functions", "sort": "flat", "nodefraction": "0.005", "edgefraction": "0.001",
    "trim": "true", "drop_negative": "false", "relative_percentages": "false", "focus": "",
    "ignore": "", "hide": "", "show": "", "show_from": "", "prune_from": "", "tagfocus": "",
    "tagignore": "", "tagshow": "", "taghide": "", "tagroot": "", "tagleaf": "", "unit": "minimum",
    "mean": "false", "divide_by": "1", "noinlines": "false", "showcolumns": "false",
    "call_tree": "false",
    "compact_labels": "false", "trim_path": "", "source_path": "",
}


def environment(folder, **more):
    return {**os.environ, "PPROF_TMPDIR": folder, "HOME": folder, "PPROF_BINARY_PATH": folder,
            "TZ": "UTC", **more}


class Report:
    """A view with its settings, by the names of pprof's prompt; @pattern of --peek and --list."""

    def __init__(self, view, settings=None, pattern=None):
        self.view, self.settings, self.pattern = view, dict(settings or {}), pattern

    def command(self, output):
        """As pprof's prompt takes it: a list of lines."""
        settings = dict(UNSET, nodecount="0" if self.view in ("text", "top") else "80")
        settings.update(self.settings)
        # A setting that is no more set is set to nothing; the sample type stays as it is.
        lines = [f"{name}={value}" for name, value in settings.items()]
        view = self.view if self.pattern is None else f"{self.view} {self.pattern}"
        return lines + [f"{view} >{output}"]

    def options(self):
        """As a command line takes it."""
        out = ["-" + self.view if self.pattern is None else f"-{self.view}={self.pattern}"]
        for name, value in self.settings.items():
            if name in ("granularity", "sort"):
                out.append("-" + value)
            elif value == "true":
                out.append("-" + name)
            else:
                out.append(f"-{name}={value}")
        return out

    def __str__(self):
        return " ".join(self.options())


def ask(reports, files, folder, before=()):
    """What pprof prints for each of them, None for one that it refuses; and its complaints. All
    have a sample_index, or none has: at the prompt it cannot be unset."""
    outputs = [os.path.join(folder, f"report{i}.txt") for i in range(len(reports))]
    script = [line for report, output in zip(reports, outputs)
              for line in report.command(output)]
    done = subprocess.run([PPROF, "-symbolize=none", *before, *files], capture_output=True,
                          check=False, env=environment(folder),
                          input="\n".join(script + ["quit", ""]).encode())
    said = []
    for output in outputs:
        if os.path.exists(output):
            with open(output, "rb") as f:
                said.append(f.read())
            os.unlink(output)
        else:
            said.append(None)
    return said, done.stderr.decode(errors="replace")


# --- what is compared -----------------------------------------------------------------------------

def lines_of(output):
    """Without the blanks at the ends of lines, and what only one of them says. Terminals are spared
    control characters by profctl alone."""
    lines = [re.sub(r"^(Time: \S+ \S+) to (\S+ )?\S+ (?=\S+$)", r"\1 ",
                    re.sub(r"[\0-\x1f\x7f]", "?", line.rstrip()))
             for line in output.decode(errors="replace").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return [line for line in lines if not line.startswith(ONLY_ONE) and line != "PeriodType:"]


def spell_out(lines):
    """--raw without numbers: each sample's stack in words, and the mappings."""
    places, mappings, samples, part = {}, {}, [], ""
    for line in lines:
        part = line if line in ("Locations", "Mappings", "Samples:") else part
        if part == "Locations" and (found := re.match(r"\s*(\d+): (.*)$", line)):
            number = found[1]
            places[number] = found[2]
        elif part == "Locations" and line != part:
            places[number] += line
        elif part == "Mappings" and (found := re.match(r"(\d+): (.*)$", line)):
            # What pprof makes up where there is none.
            mappings[found[1]] = "" if found[2].strip() == "0x0/0x0/0x0" else found[2]
        elif line not in ("Locations", "Mappings"):
            samples.append(line)

    def place(number):
        # That something was folded into a location makes no other location of it here.
        text = re.sub(r"M=(\d+)", lambda m: mappings[m[1]], places[number].replace("[F]", ""))
        return " ".join(text.split())

    # Samples that filters have made equal are one here, and several there.
    sums, head, key = collections.Counter(), [], None
    for line in samples + [""]:
        if found := re.match(r"^([-\d ]+): ?((\d+ ?)*)$", line):
            values = tuple(map(int, found[1].split()))
            key = ["; ".join(map(place, found[2].split()))]
            whole = (values, key)
            head.append(whole)
        elif key is not None and line.startswith("  "):
            key.append(line)
        else:
            key = None
            head.append(line)
    for entry in head:
        if isinstance(entry, tuple):
            for i, value in enumerate(entry[0]):
                sums[i, "\n".join(entry[1])] += value
    return [line for line in head if isinstance(line, str)] + \
        sorted(f"{i} {text}: {n}" for (i, text), n in sums.items() if n)


def graph_of(lines):
    """--dot as boxes and arrows in words: labels instead of numbers. As google-pprof's, our graphs
    have arrows from functions that call themselves; those that are inlined into themselves do
    not."""
    labels, out = {}, []
    for line in lines:
        if found := re.match(r'(N\w+) \[label ?= ?"((?:[^"\\]|\\.)*)"', line):
            # pprof leaves backslashes of files' names alone, and so spoils them.
            labels[found[1]] = found[2].replace("[\u2026]", "[...]").replace("\\\\", "\\")
    for line in lines:
        found = re.match(r'(N\w+) -> (N\w+) \[label="((?:[^"\\]|\\.)*)"', line)
        # pprof has arrows to boxes that it leaves out, of functions that weigh 0.
        if found and (found[1] != found[2] or "(inline)" in found[3]) and "N0" not in found.groups():
            dotted = "dotted " if 'style="dotted"' in line else ""
            out.append(f"{dotted}{labels[found[1]]} -> {labels[found[2]]}: {found[3].strip()}")
    return sorted(out) + sorted(labels.values())


def costs_of(lines, is_pprof):
    """--callgrind in words: what each place weighs, and its calls. A callee's address is relative
    to the line before, as callgrind has it; pprof takes the line before its caller's."""
    texts, place, out, at, before = {"ob": {}, "fl": {}, "fn": {}}, {}, collections.Counter(), 0, 0
    kinds = {"ob": "ob", "cob": "ob", "fl": "fl", "cfi": "fl", "cfl": "fl", "fn": "fn", "cfn": "fn"}

    def number(text, base):
        return base if text == "*" else base + int(text) if text[0] in "+-" else int(text, 0)

    callee = None
    for line in lines:
        key, _, value = line.partition("=")
        if key in kinds:
            found = re.match(r"\((\d+)\) ?(.*)$", value)
            known = texts[kinds[key]]
            text = known.setdefault(found[1], found[2]) if found else ""
            # What has no name we call by its object; namesakes are numbered.
            place[key] = re.sub(r"^(\[.*\]|<unknown>)$", "", re.sub(r" \[\d+/\d+\]$", "", text))
        elif key == "calls":
            _, address, line_number = value.split()
            callee = (place.get("cfl", place.get("cfi")), place["cfn"],
                      number(address, before if is_pprof else at), line_number)
        elif re.match(r"[*+\-0-9]\S* \S+ -?\d+$", line):
            address, line_number, cost = line.split()
            if callee is None:
                before, at = at, number(address, at)
                caller = (place["fl"], place["fn"], at, line_number)
                out[caller] += int(cost)
            elif callee != caller:
                # As google-pprof's, our graphs have arrows from functions to themselves.
                out[caller + callee] += int(cost)
            callee = None
    return sorted(f"{key}: {cost}" for key, cost in out.items())


# Of the text, and of trees' functions: what a place weighs, and its name.
ROW = re.compile(r"( *-?(\S+) +\S+%) +(\S+%)( +-?(\S+) +\S+%) +((\| )?(.*?))( \((partial-)?inline\))?$")


def spare_order(lines, settings):
    """Neighbours of one name that weigh the same are in no order: pprof asks whether one name is less
    than the other, and no more. Of such a group the running sum of the last one counts. Means are
    ordered by what they are means of."""
    column = 8 if "mean" in settings else 5 if settings.get("sort") == "cum" else 2
    out, group, before = [], [], None

    def end():
        nonlocal group
        if group:
            out.extend(sorted(text for text, _ in group))
            out.append(f"sum {group[-1][1]}")
        group = []

    for line in lines:
        row = ROW.match(line)
        if not row and not (before and before[7]):
            end()
        if not row:
            out.append(line)
            continue
        if group and (row[8], row[column]) != (before[8], before[column]):
            end()
        group.append((row[1] + row[4] + " " + row[6] + (row[9] or ""), row[3]))
        before = row
    end()
    return out


def normal(lines, view, settings=()):
    """What says the same: numbers of locations that filters have made unused, and the order of what
    is opposite, which pprof leaves to chance."""
    if view == "raw":
        return spell_out(lines)
    lines = spare_order(lines, dict(settings))
    return sorted(lines) if view in ("tree", "peek", "tags") else lines


def differ(theirs, ours):
    diff = [d for d in difflib.unified_diff(theirs, ours, "pprof", "profctl", n=0, lineterm="")
            if not d.startswith(("---", "+++", "@@"))]
    return " / ".join(diff[:4])


def is_redundant(line, graph):
    """Whether it is a dotted arrow, and others of the graph lead the same way: of several such ways
    one is enough, and which one depends on the order of what weighs the same."""
    dotted, _, arrow = line.rpartition("dotted ")
    if dotted or not line.startswith("dotted "):
        return False
    calls = [other.removeprefix("dotted ").rpartition(": ")[0].split(" -> ") for other in graph
             if " -> " in other]
    (source, target), seen, left = arrow.rpartition(": ")[0].split(" -> "), set(), []
    left.append(source)
    while left:
        at = left.pop()
        new = {call[1] for call in calls if call[0] == at} - seen
        seen |= new
        left += new
    return target in seen


def compare(theirs, ours, one):
    """None, or in what the two of the Report @one differ; of two that are not the same, what says
    the same is."""
    view = one.view
    if theirs == ours:
        return None
    theirs, ours = lines_of(theirs), lines_of(ours)
    if theirs == ours:
        return None
    if view == "callgrind":
        return differ(costs_of(theirs, True), costs_of(ours, False)) or None
    if view == "dot":
        # An arrow that passes over boxes in some stacks, and is a call in others, pprof takes away
        # where there is another way. Here calls stay, as in google-pprof's graphs.
        theirs, ours = collections.Counter(graph_of(theirs)), collections.Counter(graph_of(ours))
        missing = [line for line in sorted((theirs - ours).elements())
                   if not is_redundant(line, ours)]
        more = [line for line in sorted((ours - theirs).elements())
                if not line.startswith("dotted ")]
        return f"missing {missing[:3]}, more {more[:3]}" if missing or more else None
    return differ(*(normal(lines, view, one.settings) for lines in (theirs, ours))) or None
