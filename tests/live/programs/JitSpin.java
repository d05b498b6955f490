// SPDX-License-Identifier: MIT
/** Methods that the tests know by name; ends after as many seconds as it is told. */
public final class JitSpin {
	static int jitAlpha(int n) {
		int sum = 0;

		for (int i = 0; i < n; i++)
			sum = (sum * 31 + i) ^ (sum >> 3);
		return sum;
	}

	static int jitBeta(int n) {
		int sum = 1;

		for (int i = 0; i < n; i++)
			sum = (sum + i * i) % 1000003;
		return sum;
	}

	static int jitOuter(int n) {
		return jitAlpha(n) + jitBeta(n);
	}

	public static void main(String[] arguments) {
		long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
		int total = 0;

		while (System.nanoTime() < end)
			total += jitOuter(20000);
		System.out.println(total);
	}
}
