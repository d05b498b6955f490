// SPDX-License-Identifier: MIT
// Long C++ names: templates, closures, anonymous namespaces, operators, virtual functions.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

namespace shapes
{
template <class T, int N> struct matrix {
	T cells[N][N];
	template <class F> NOINLINE void fill(F f)
	{
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				cells[i][j] = f(i, j);
	}
	NOINLINE matrix operator*(const matrix &o) const
	{
		matrix r{};
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				for (int k = 0; k < N; k++)
					r.cells[i][j] += cells[i][k] * o.cells[k][j];
		return r;
	}
};

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

template <int N> struct polygon : shape {
	double side = N;
	NOINLINE double area() const override
	{
		double sum = 0;
		for (int i = 0; i < 200; i++)
			sum += side * i / N;
		return sum;
	}
};
} // namespace shapes

namespace
{
struct pair {
	uint32_t number;
	std::string text;
	NOINLINE bool operator<(const pair &o) const
	{
		return number < o.number || (number == o.number && text < o.text);
	}
};

template <class T> NOINLINE uint64_t count(const std::vector<T> &v)
{
	std::map<std::string, std::vector<T>> by_text;
	for (const auto &p : v)
		by_text[p.text].push_back(p);
	return by_text.size();
}
} // namespace

NOINLINE void round_of_work()
{
	std::vector<pair> pairs;
	shapes::matrix<double, 24> a, b;
	shapes::matrix<uint32_t, 16> c;
	std::vector<std::unique_ptr<shapes::shape>> all;

	for (uint32_t i = 0; i < 400; i++)
		pairs.push_back({i * 7919 % 101, std::to_string(i % 37)});
	std::sort(pairs.begin(), pairs.end());
	a.fill([](int i, int j) NOINLINE { return i + 2.0 * j; });
	b.fill([&](int i, int j) NOINLINE { return a.cells[j][i] + 1; });
	c.fill([](int i, int j) NOINLINE { return static_cast<uint32_t>(i * j); });
	for (int i = 0; i < 20; i++) {
		all.push_back(std::make_unique<shapes::polygon<3>>());
		all.push_back(std::make_unique<shapes::polygon<8>>());
	}
	for (const auto &s : all)
		sink = sink + static_cast<uint64_t>(s->area());
	sink = sink + count(pairs) + static_cast<uint64_t>((a * b).cells[1][1]) +
	       (c * c).cells[2][2];
}

int main()
{
	for (;;)
		round_of_work();
}
