# SPDX-License-Identifier: MIT
"""What the Firefox Profiler's processed format, version 55, asks of a file: every column of every table
has the table's length, every index is one, prefixes come before what they are of, times ascend. (Its
own code, of which firefox-reader has a part, forgives more.)"""
import collections

COLOURS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
           "magenta", "red", "lightred", "darkgrey", "grey"}

# type: a column's values; "table": an index into that table of the thread, "?": or null, "-": or -1.
TABLES = {
    "stackTable": {"frame": "frameTable", "prefix": "stackTable?"},
    "frameTable": {"address": "number", "inlineDepth": "number", "category": "category",
                   "subcategory": "number", "func": "funcTable", "nativeSymbol": "nativeSymbols?",
                   "innerWindowID": "number?", "line": "number?", "column": "number?"},
    "funcTable": {"name": "string", "isJS": "boolean", "relevantForJS": "boolean",
                  "resource": "resourceTable-", "fileName": "string?", "lineNumber": "number?",
                  "columnNumber": "number?"},
    "resourceTable": {"lib": "lib?", "name": "string", "host": "string?", "type": "number"},
    "nativeSymbols": {"libIndex": "lib", "address": "number", "name": "string",
                      "functionSize": "number?"},
    "samples": {"stack": "stackTable?", "time": "number", "weight": "number"},
    "markers": {"data": "any", "name": "string", "startTime": "number?", "endTime": "number?",
                "phase": "number", "category": "category"},
}
THREAD = {"processType": str, "processStartupTime": (int, float), "registerTime": (int, float),
          "pausedRanges": list, "name": str, "isMainThread": bool, "pid": str,
          "tid": (int, str), "stringArray": list}
LIB = ("arch", "name", "path", "debugName", "debugPath", "breakpadId")


def column_problem(values, kind, sizes):
    optional, kind = kind[-1] in "?-", kind.rstrip("?-")
    absent = -1 if optional and -1 in values else None
    for value in values:
        if kind == "any" or (optional and value == absent):
            continue
        if kind == "boolean":
            good = isinstance(value, bool)
        elif kind == "number":
            good = isinstance(value, (int, float)) and not isinstance(value, bool)
        else:
            good = isinstance(value, int) and 0 <= value < sizes[kind]
        if not good:
            return f"{value!r} is no {kind}"
    return None


def thread_problems(profile, thread):
    sizes = {name: thread[name]["length"] for name in TABLES}
    sizes |= {"string": len(thread["stringArray"]), "lib": len(profile["libs"]),
              "category": len(profile["meta"]["categories"])}
    for key, kind in THREAD.items():
        if not isinstance(thread.get(key), kind):
            yield f"{key}: {thread.get(key)!r}"
    for name, columns in TABLES.items():
        for column, kind in columns.items():
            values = thread[name][column]
            if len(values) != thread[name]["length"]:
                yield f"{name}.{column}: {len(values)} of {thread[name]['length']}"
            problem = column_problem(values, kind, sizes)
            if problem:
                yield f"{name}.{column}: {problem}"
    prefixes = thread["stackTable"]["prefix"]
    if any(prefix is not None and prefix >= i for i, prefix in enumerate(prefixes)):
        yield "a stack is before its prefix"
    times = thread["samples"]["time"]
    if times != sorted(times):
        yield "times do not ascend"
    if any(range_["endTime"] < range_["startTime"] for range_ in thread["pausedRanges"]):
        yield "a pause ends before it begins"


def problems(profile):
    meta = profile["meta"]
    if meta["preprocessedProfileVersion"] != 55 or not meta["interval"] > 0:
        yield f"{meta}"
    if not any(c["color"] == "grey" for c in meta["categories"]) or any(
            c["color"] not in COLOURS or c["subcategories"][0] != "Other"
            for c in meta["categories"]):
        yield f"{meta['categories']}"
    for lib in profile["libs"]:
        if any(not isinstance(lib[key], str) for key in LIB) or len(lib["breakpadId"]) not in (0, 33):
            yield f"{lib}"
    ids = [(t["pid"], t["tid"]) for t in profile["threads"]]
    if len(set(ids)) != len(ids):
        yield f"threads of one number: {collections.Counter(ids).most_common(1)}"
    mains = [t["pid"] for t in profile["threads"] if t["isMainThread"]]
    if len(set(mains)) != len(mains) or set(mains) != {pid for pid, _ in ids}:
        yield "not each process has one main thread"
    for thread in profile["threads"]:
        yield from thread_problems(profile, thread)


def functions_of(profile):
    """{name: [self, cumulative]} over all threads."""
    found = collections.defaultdict(lambda: [0, 0])
    for thread in profile["threads"]:
        stacks, frames, functions = (thread[t] for t in ("stackTable", "frameTable", "funcTable"))

        def name(stack):
            return thread["stringArray"][functions["name"][frames["func"][stacks["frame"][stack]]]]
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            if stack is None:
                continue
            found[name(stack)][0] += weight
            chain = set()
            while stack is not None:
                chain.add(name(stack))
                stack = stacks["prefix"][stack]
            for function in chain:
                found[function][1] += weight
    return found
