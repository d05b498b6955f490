/* SPDX-License-Identifier: MIT */
/*
 * A library whose first call of lazy_function (-Wl,-z,lazy) takes its time in ld.so: the function
 * is chosen by choose, which is called when the linkage table's entry is bound.
 */
static volatile unsigned long sink;

typedef void function(void);

void lazy_entry(void);
void lazy_function(void) __attribute__((ifunc("choose")));

static void chosen(void)
{
	sink++;
}

/* Inlined nowhere, and known by its name. */
__attribute__((noipa, used)) static function *choose(void)
{
	for (unsigned i = 0; i < 500000; i++)
		sink += i;
	return chosen;
}

void lazy_entry(void)
{
	lazy_function();
	sink++;
}
