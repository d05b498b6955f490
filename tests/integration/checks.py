# SPDX-License-Identifier: MIT
"""What tests of reports share: a line a check, and programs that are worth a profile."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pinned

pinned.use()


class Report:
    """Prints a check's line; @problem: what is wrong, or nothing. `failed` is the exit status."""

    failed = 0

    def __call__(self, name, problem):
        self.failed |= bool(problem)
        print(f"not ok {name}: {problem}" if problem else f"ok {name}", flush=True)


report = Report()


def first_problem(problems):
    """How many comparisons went wrong, and the first of them."""
    problems = [p for p in problems if p]
    return f"{len(problems)} differ: {problems[0]}" if problems else None


def go_source(n):
    """A file that takes the compiler some time, and imports nothing."""
    out = ["package p"]
    for i in range(n):
        out.append(f"func f{i}(a []int, m map[int]string) (s int) {{\n"
                   f"\tfor i, x := range a {{ if x > {i} {{ s += x*i }} else {{ s -= len(m[x]) }}\n"
                   f"\t\tswitch s % 7 {{ case 0: m[s] = m[i]; case 1: a[i%len(a)]++; default: s ^= i }} }}\n"
                   f"\treturn s + g{i}(s) }}\nfunc g{i}(x int) int {{ return x*{i} + 3 }}")
    return "\n".join(out) + "\n"


# Functions of the C++ library, inlined ones among them.
CHURN = r"""
#include <algorithm>
#include <string>
#include <vector>
namespace {
__attribute__((noinline)) size_t churn(int n)
{
	std::vector<std::string> v;
	for (int i = 0; i < n; i++)
		v.push_back(std::to_string(i * 7919 % n));
	std::sort(v.begin(), v.end());
	return v[n / 2].size();
}
}
int main(int, char **argv)
{
	size_t sum = 0;
	for (int i = 0; i < 50; i++)
		sum += churn(20000);
	return sum == (size_t)(argv == nullptr);
}
"""
