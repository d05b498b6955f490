/* SPDX-License-Identifier: MIT */

/*
 * cfi_oracle [--jobs N] FILE-OR-DIR...: compares the unwind rules of cfi_compile() with
 * what libdw computes, for every 64-bit ELF program and library below the directories.
 *
 * Both say what holds from one address up to another, so the two lists of ranges are walked side
 * by side: where either has a boundary, the rule from there on is compared, at the first and the
 * last address of the range and in its middle. Each FDE that libdw lists is asked for as well.
 *
 * Rules are compared by what they lead to: registers and memory hold numbers made of their own
 * names, and both sides' rules are evaluated to addresses.
 *
 * Prints "difference ..." lines, "odd ..." lines (what no rule can hold, as libdw has it, with the
 * number of ranges), and "total ..." lines. Status 1: there are differences.
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/unwind/cfi.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/layout.h"
#include "tests/support/cfi_oracle_expression.h"
#include "tests/support/rule_unpack.h"

#define DIFFERENCES_SAID 20 /* of each file */
#define ODDS_MAX         64 /* of each file */

struct answer {
	bool is_there;  /* libdw has a frame */
	bool is_signal; /* of a signal frame */
	struct place cfa, ra, fp, bx;
	Dwarf_Addr start, end;
	char text[200]; /* CFA and return address in words */
};

struct odd {
	char text[200];
	uint64_t n, first;
};

struct totals {
	atomic_size_t next; /* file */
	atomic_ulong files, without, rows, asked, fdes, odd, differences, debug_bytes;
};

struct file {
	char *path;
	dev_t dev;
	ino_t ino;
	off_t size;
};

/* nftw(3) has no argument for its callback. */
struct files {
	struct file *items;
	size_t n, size;
};

struct check {
	const char *path;
	struct totals *totals;
	struct eh_frame frame;
	struct cfi_rows *rows;
	Elf *elf;
	Dwarf *dwarf; /* where .debug_frame is read, too */
	Dwarf_CFI *cfi, *debug_cfi;
	bool is_arm;
	unsigned n_differences, n_odds;
	struct odd odds[ODDS_MAX];
};

static struct files all_files;

static struct place find_register(Dwarf_Frame *frame, int number, const struct answer *answer,
				  uint64_t pc, bool is_arm, char *text, size_t size)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, number, memory, &ops, &n))
		return (struct place){.how = STRANGE};
	if (text)
		describe(text, size, "; ra", ops, n);
	if (!n)
		return (struct place){.how = ops ? UNDEFINED : SAME};
	return evaluate(ops, n, answer->cfa.at, pc, is_arm);
}

/* .eh_frame first, as ours has it. Returns 0, or -1 with libdw's words in @text. */
static int find_frame(struct check *c, uint64_t pc, Dwarf_Frame **ret, char *text, size_t size)
{
	Dwarf_CFI *all[] = {c->cfi, c->debug_cfi};

	snprintf(text, size, "no matching");
	for (int i = 0; i < 2 && strstr(text, "no matching"); i++) {
		if (!all[i])
			continue;
		if (!dwarf_cfi_addrframe(all[i], pc, ret)) {
			*text = '\0';
			return 0;
		}
		snprintf(text, size, "%s", dwarf_errmsg(-1));
	}
	return -1;
}

/* Returns whether libdw could tell; what it could not is not even the absence of a rule. */
static bool ask_libdw(struct check *c, uint64_t pc, struct answer *ret)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t n;
	int ra;

	*ret = (struct answer){0};
	if (find_frame(c, pc, &frame, ret->text, sizeof(ret->text)))
		return strstr(ret->text, "no matching");
	ret->is_there = true;
	ra = dwarf_frame_info(frame, &ret->start, &ret->end, &ret->is_signal);
	if (dwarf_frame_cfa(frame, &ops, &n) || !n) {
		ret->cfa.how = STRANGE;
	} else {
		describe(ret->text, sizeof(ret->text), "cfa", ops, n);
		ret->cfa = evaluate(ops, n, 0, pc, c->is_arm);
	}
	ret->ra = find_register(frame, ra, ret, pc, c->is_arm, ret->text, sizeof(ret->text));
	ret->fp = find_register(frame, c->is_arm ? 29 : 6, ret, pc, c->is_arm, NULL, 0);
	if (!c->is_arm)
		ret->bx = find_register(frame, 3, ret, pc, c->is_arm, NULL, 0);
	/*
	 * libdw's table of what the ABI saves has register 0 in the place of rbx, which is 3
	 * (backends/x86_64_cfi.c as of 0.188): so one that nothing was said of looks lost.
	 */
	if (ret->bx.how == UNDEFINED)
		ret->bx.how = SAME;
	free(frame);
	return true;
}

/* --- our side --- */

static uint64_t base_value(const struct rule *rule, uint64_t pc, bool is_arm)
{
	static const uint64_t x86_64[N_RULE_BASES] = {7, 6, 0, 3, 2,  1,  10, 11,
						      5, 4, 8, 9, 12, 13, 14, 15};
	static const uint64_t aarch64[N_RULE_BASES] = {31, 29, 30};

	return register_value(is_arm ? aarch64[rule->base] : x86_64[rule->base], pc, is_arm);
}

static void ask_rule(uint64_t word, uint64_t pc, bool is_arm, struct answer *ret)
{
	struct rule rule = rule_unpack(word);
	uint64_t fp = register_value(is_arm ? 29 : 6, pc, is_arm), cfa;

	cfa = base_value(&rule, pc, is_arm) + (uint64_t)(int64_t)rule.cfa_offset;
	if (rule.kind == RULE_DEREF)
		cfa = memory_value(cfa) + (uint64_t)(int64_t)rule.extra;
	else if (rule.kind == RULE_PLT)
		cfa += (pc & 15) >= (uint64_t)rule.extra ? 8 : 0;
	*ret = (struct answer){.is_there = true, .cfa = {AT, cfa}};
	ret->ra = (struct place){AT, cfa + (uint64_t)(int64_t)rule.ra_offset};
	if (rule.ra_kind == RULE_RA_IN_LR)
		ret->ra = (struct place){.how = SAME};
	else if (rule.ra_kind == RULE_RA_IN_DI)
		ret->ra = (struct place){VALUE, 5};
	if (rule.fp_kind == RULE_FP_SAME)
		ret->fp.how = SAME;
	else if (rule.fp_kind != RULE_FP_LOST)
		ret->fp = (struct place){AT, (rule.fp_kind == RULE_FP_AT_CFA ? cfa : fp) +
						     (uint64_t)(int64_t)rule.fp_offset};
	if (rule.kind == RULE_CFA && rule.extra == RULE_BX_SAME)
		ret->bx.how = SAME;
	else if (rule.kind == RULE_CFA && rule.extra)
		ret->bx = (struct place){AT, cfa - 8 * (uint64_t)(rule.extra - RULE_BX_SAME)};
}

/* --- both --- */

static void say(struct check *c, uint64_t pc, const char *what, uint64_t word,
		const struct answer *theirs)
{
	atomic_fetch_add(&c->totals->differences, 1);
	if (c->n_differences++ < DIFFERENCES_SAID)
		printf("difference %s at %" PRIx64 ": %s; rule %016" PRIx64 "; libdw %s [%" PRIx64
		       ", %" PRIx64 ")\n",
		       c->path, pc, what, word, theirs->text, (uint64_t)theirs->start,
		       (uint64_t)theirs->end);
}

static void note_odd(struct check *c, uint64_t pc, const char *label, const struct answer *theirs)
{
	char text[sizeof(c->odds[0].text)];
	unsigned i;

	snprintf(text, sizeof(text), "%.12s: %.180s", label, theirs->text);
	atomic_fetch_add(&c->totals->odd, 1);
	for (i = 0; i < c->n_odds; i++)
		if (!strcmp(c->odds[i].text, text))
			break;
	if (i == ODDS_MAX)
		return;
	if (i == c->n_odds) {
		c->odds[c->n_odds++] = (struct odd){.first = pc};
		memcpy(c->odds[i].text, text, sizeof(text));
	}
	c->odds[i].n++;
}

static bool equal(const struct place *a, const struct place *b)
{
	return a->how == b->how && ((a->how != AT && a->how != VALUE) || a->at == b->at);
}

/* Whether a rule that says "lost" need not: a place that the fields have room for. */
static bool is_near(const struct place *place, uint64_t from)
{
	int64_t distance = (int64_t)(place->at - from);

	return place->how == AT && !(distance & 7) && distance >= -32768 && distance < 32768;
}

static void compare_frames(struct check *c, uint64_t pc, uint64_t word, const struct answer *theirs)
{
	struct answer ours;

	ask_rule(word, pc, c->is_arm, &ours);
	if (!equal(&ours.cfa, &theirs->cfa))
		say(c, pc, "CFA", word, theirs);
	else if (!equal(&ours.ra, &theirs->ra))
		say(c, pc, "return address", word, theirs);
	else if (ours.bx.how != WITHOUT && !equal(&ours.bx, &theirs->bx))
		say(c, pc, "rbx", word, theirs);
	else if (ours.fp.how != WITHOUT && !equal(&ours.fp, &theirs->fp))
		say(c, pc, "frame pointer", word, theirs);
	else if (ours.fp.how == WITHOUT &&
		 (theirs->fp.how == SAME || is_near(&theirs->fp, theirs->cfa.at)))
		say(c, pc, "frame pointer lost", word, theirs);
	else if (ours.fp.how == WITHOUT && theirs->fp.how != UNDEFINED)
		note_odd(c, pc, "fp", theirs);
}

/* Whether a rule word has room for it after all: CFA by a register that it knows, near enough. */
static bool is_fit(const struct check *c, uint64_t pc, const struct answer *theirs)
{
	if (theirs->cfa.how != AT ||
	    !(is_near(&theirs->ra, theirs->cfa.at) || (c->is_arm && theirs->ra.how == SAME)))
		return false;
	for (unsigned base = 0; base < (c->is_arm ? 3 : N_RULE_BASES); base++) {
		const struct rule rule = {.base = base};
		int64_t distance = (int64_t)(theirs->cfa.at - base_value(&rule, pc, c->is_arm));

		if (distance > INT32_MIN && distance < INT32_MAX && RULE_FITS(distance, 18))
			return true;
	}
	return false;
}

static void compare(struct check *c, uint64_t pc, uint64_t word, const struct answer *theirs)
{
	uint64_t sp = register_value(7, pc, c->is_arm);

	if (RULE_KIND(word) == RULE_UNKNOWN) {
		if (theirs->is_there)
			say(c, pc, "no rule", word, theirs);
		return;
	}
	if (!theirs->is_there) {
		say(c, pc, "a rule", word, theirs);
		return;
	}
	switch (RULE_KIND(word)) {
	case RULE_ROOT:
		if (theirs->ra.how != UNDEFINED)
			say(c, pc, "root", word, theirs);
		return;
	case RULE_ODD:
		if (is_fit(c, pc, theirs))
			say(c, pc, "odd", word, theirs);
		else
			note_odd(c, pc, "rule", theirs);
		return;
	case RULE_SIGNAL:
		if (!theirs->is_signal ||
		    (!c->is_arm && (theirs->cfa.at != memory_value(sp + 160) ||
				    theirs->ra.at != sp + 168 || theirs->fp.at != sp + 120)))
			say(c, pc, "signal frame", word, theirs);
		return;
	}
	compare_frames(c, pc, word, theirs);
}

/* Asks at @pc; returns up to where libdw's answer holds. */
static uint64_t compare_at(struct check *c, uint64_t pc, uint64_t word)
{
	struct answer theirs;

	atomic_fetch_add(&c->totals->asked, 1);
	if (!ask_libdw(c, pc, &theirs)) {
		say(c, pc, "libdw fails", word, &theirs);
		return UINT64_MAX;
	}
	compare(c, pc, word, &theirs);
	return theirs.is_there && theirs.end > pc ? theirs.end : UINT64_MAX;
}

/* [start, end) has the rule @word, we say. */
static void check_range(struct check *c, uint64_t start, uint64_t end, uint64_t word)
{
	while (start < end) {
		uint64_t next = compare_at(c, start, word);

		if (next > end)
			next = end;
		if (next - start > 1)
			compare_at(c, next - 1, word);
		if (next - start > 2)
			compare_at(c, start + (next - start) / 2, word);
		start = next;
	}
}

/* The link-time address of file offset @offset; false: it has none. */
static bool to_address(const struct check *c, uint32_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < c->frame.input.n_segments; i++) {
		const struct cfi_segment *s = &c->frame.input.segments[i];

		if (offset >= s->offset && offset - s->offset < s->length) {
			*ret = s->address + (offset - s->offset);
			return true;
		}
	}
	return false;
}

static void check_rows(struct check *c)
{
	const struct cfi_rows *rows = c->rows;
	uint64_t start, end;

	atomic_fetch_add(&c->totals->rows, rows->n_rows);
	for (size_t i = 0; i + 1 < rows->n_rows; i++) {
		const struct cfi_row *row = &rows->rows[i];

		/* Ranges do not go beyond a segment, but for one without rules. */
		if (!to_address(c, row->offset, &start) || !to_address(c, row[1].offset - 1, &end))
			continue;
		if (end - start != row[1].offset - 1 - row->offset)
			compare_at(c, start, rows->rules[row->rule]);
		else
			check_range(c, start, end + 1, rows->rules[row->rule]);
	}
}

/* Our rule at @address. */
static uint64_t rule_at(const struct check *c, uint64_t address)
{
	size_t low = 0, high = c->rows->n_rows;
	uint64_t offset = UINT64_MAX;

	for (size_t i = 0; i < c->frame.input.n_segments; i++) {
		const struct cfi_segment *s = &c->frame.input.segments[i];

		if (address >= s->address && address - s->address < s->length)
			offset = s->offset + (address - s->address);
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->rows->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return offset != UINT64_MAX && low ? c->rows->rules[c->rows->rows[low - 1].rule] : 0;
}

/* How @cie's FDEs give addresses, as far as this needs to know: what linkers write. */
static bool is_relative_32(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	const char *letter = cie->augmentation;

	if (!data || *letter++ != 'z')
		return false;
	for (; *letter; letter++) {
		if (*letter == 'R')
			return *data == (DW_EH_PE_pcrel | DW_EH_PE_sdata4);
		if (*letter == 'P')
			data += (*data & 15) == DW_EH_PE_absptr ? 9 : 5;
		else if (*letter == 'L')
			data++;
		else if (*letter != 'S')
			return false;
	}
	return false;
}

static void check_fde(struct check *c, const Dwarf_FDE *fde, uint64_t address)
{
	int32_t distance;
	uint32_t length;
	uint64_t start;

	memcpy(&distance, fde->start, 4);
	memcpy(&length, fde->start + 4, 4);
	start = address + (uint64_t)(int64_t)distance;
	if (!distance || !length)
		return;
	atomic_fetch_add(&c->totals->fdes, 1);
	for (int i = 0; i < 2; i++) {
		uint64_t pc = start + (i ? length - 1 : 0), word = rule_at(c, pc);

		if (word == RULE_WORD(RULE_UNKNOWN))
			compare_at(c, pc, word);
	}
}

/* What libdw finds record by record: is there a rule of ours for it? */
static void check_fdes(struct check *c, Elf_Data *data, uint64_t address)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(c->elf, NULL);
	Dwarf_Off at = 0, next, known = (Dwarf_Off)-1;
	Dwarf_CFI_Entry entry, cie;
	bool is_known = false;

	for (; dwarf_next_cfi(ident, data, true, at, &next, &entry) == 0; at = next) {
		Dwarf_Off unused;

		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (known != entry.fde.CIE_pointer) {
			known = entry.fde.CIE_pointer;
			is_known = !dwarf_next_cfi(ident, data, true, known, &unused, &cie) &&
				   dwarf_cfi_cie_p(&cie) && is_relative_32(&cie.cie);
		}
		if (is_known && entry.fde.end - entry.fde.start >= 8)
			check_fde(c, &entry.fde,
				  address + (uint64_t)(entry.fde.start - (uint8_t *)data->d_buf));
	}
}

static bool find_section(struct check *c, Elf_Data **ret, uint64_t *ret_address)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(c->elf, &names))
		return false;
	while ((scn = elf_nextscn(c->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(c->elf, names, sh.sh_name)
							  : NULL;

		if (name && !strcmp(name, ".eh_frame") && sh.sh_type != SHT_NOBITS) {
			*ret = elf_rawdata(scn, NULL);
			*ret_address = sh.sh_addr;
			return *ret && (*ret)->d_buf;
		}
	}
	return false;
}

static void check_both(struct check *c)
{
	uint64_t address;
	Elf_Data *data;

	check_rows(c);
	if (find_section(c, &data, &address))
		check_fdes(c, data, address);
	for (unsigned i = 0; i < c->n_odds; i++)
		printf("odd %s: %" PRIu64 " at %" PRIx64 " %s\n", c->path, c->odds[i].n,
		       c->odds[i].first, c->odds[i].text);
}

static void check_file(struct totals *totals, const char *path)
{
	const struct cfi_limits limits = {.max_rows = SIZE_MAX, .max_rules = TABLE_RULES_MAX};
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct check *c = calloc(1, sizeof(*c));
	Elf_Data *data;
	uint64_t address;
	int r;

	if (!c || fd < 0)
		abort();
	c->path = path;
	c->totals = totals;
	c->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	c->cfi = dwarf_getcfi_elf(c->elf);
	r = eh_frame_read(fd, &c->frame);
	if (!r)
		r = cfi_compile(&c->rows, &c->frame.input, &limits);
	if (c->frame.input.debug_length) {
		c->dwarf = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
		c->debug_cfi = dwarf_getcfi(c->dwarf); /* ends with it */
	}
	c->is_arm = c->frame.input.machine == EM_AARCH64;
	atomic_fetch_add(&totals->files, 1);
	if (!r && (c->cfi || c->debug_cfi)) {
		atomic_fetch_add(&totals->debug_bytes, c->frame.input.debug_length);
		check_both(c);
	} else if (!r) {
		printf("difference %s: libdw finds no call frame information\n", path);
		atomic_fetch_add(&totals->differences, 1);
	} else if (c->cfi && find_section(c, &data, &address) && data->d_size > 8) {
		printf("difference %s: outcome %d, and libdw finds information\n", path, r);
		atomic_fetch_add(&totals->differences, 1);
	} else {
		atomic_fetch_add(&totals->without, 1);
	}
	cfi_rows_free(c->rows);
	eh_frame_deinit(&c->frame);
	if (c->cfi)
		dwarf_cfi_end(c->cfi);
	dwarf_end(c->dwarf);
	elf_end(c->elf);
	free(c);
}

static int add_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	cleanup(closep) int fd = -1;
	Elf64_Ehdr h;

	(void)ftw;
	if (type != FTW_F || !S_ISREG(st->st_mode) || st->st_size < (off_t)sizeof(h))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &h, sizeof(h)) != sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN) ||
	    (h.e_machine != EM_X86_64 && h.e_machine != EM_AARCH64))
		return 0;
	if (all_files.n == all_files.size) {
		all_files.size = all_files.size ? all_files.size * 2 : 1024;
		all_files.items = reallocarray(all_files.items, all_files.size,
					       sizeof(*all_files.items));
		if (!all_files.items)
			abort();
	}
	all_files.items[all_files.n++] = (struct file){strdup(path), st->st_dev, st->st_ino,
						       st->st_size};
	return 0;
}

static int compare_identities(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* The largest first, so that no process is left with one at the end. */
static int compare_sizes(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return (x->size < y->size) - (x->size > y->size);
}

static void sort_files(void)
{
	size_t n = 0;

	qsort(all_files.items, all_files.n, sizeof(*all_files.items), compare_identities);
	for (size_t i = 0; i < all_files.n; i++)
		if (!n || compare_identities(&all_files.items[n - 1], &all_files.items[i]))
			all_files.items[n++] = all_files.items[i];
	all_files.n = n;
	qsort(all_files.items, n, sizeof(*all_files.items), compare_sizes);
}

static void work(struct totals *totals)
{
	size_t i;

	elf_version(EV_CURRENT);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((i = atomic_fetch_add(&totals->next, 1)) < all_files.n)
		check_file(totals, all_files.items[i].path);
}

/* Returns the number of processes that did not end well. */
static int run(struct totals *totals, int jobs)
{
	int failed = 0, status;

	fflush(stdout);
	for (int i = 0; i < jobs; i++)
		if (fork() == 0) {
			work(totals);
			exit(0);
		}
	for (int i = 0; i < jobs; i++)
		if (wait(&status) < 0 || status)
			failed++;
	return failed;
}

int main(int argc, char **argv)
{
	struct totals *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int jobs = 1, failed;

	if (t == MAP_FAILED)
		abort();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--jobs") && i + 1 < argc)
			jobs = atoi(argv[++i]);
		else if (nftw(argv[i], add_file, 32, FTW_PHYS))
			perror(argv[i]);
	}
	sort_files();
	failed = run(t, jobs);
	printf("total files %lu without %lu\ntotal rows %lu questions %lu fdes %lu\n"
	       "total odd %lu\ntotal debug_bytes %lu\ntotal differences %lu\ntotal crashed %d\n",
	       t->files, t->without, t->rows, t->asked, t->fdes, t->odd, t->debug_bytes,
	       t->differences, failed);
	return t->differences || failed || !t->files;
}
