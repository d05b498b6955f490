/* SPDX-License-Identifier: MIT */
/*
 * bench_symbolize [-l] [-i IMAGES] [-a ADDRESSES] [-w WORKER] DIR...: what it costs to name the
 * addresses of a window, first when nothing is known and then again when all of it is: CPU time of
 * this process and of its image worker. Images are ELF files of the directories, addresses lie in
 * functions that their symbol tables name. -l: lines and inlined functions.
 *
 * Two measurements: the names alone, and all that the output thread does of such a window
 * (profile, compression, files). Prints JSON, for tests/bench/symbolize.
 */
#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/frame.h"
#include "daemon/output/symbols.h"
#include "daemon/output/writer.h"
#include "daemon/worker/elf/elf_image.h"

#define NS            UINT64_C(1000000000)
#define PATHS_MAX     40000
#define FUNCTIONS_MIN 8
#define DEPTH         50 /* frames of a stack */

struct file {
	struct image *image;
	struct elf_summary elf;
	uint64_t *functions; /* start and size of each */
	size_t n_functions;
	uint64_t *addresses;
	size_t n;
};

struct bench {
	bool lines;
	size_t n_files, n_addresses;
	const char *worker;
	struct file *files;
	size_t n;
	char dir[64];
	int store_fd;
};

static struct bench_texts {
	char *all[PATHS_MAX];
	size_t n;
} paths; /* nftw() hands on nothing */

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "bench_symbolize: %s\n", what);
	exit(1);
}

static void *check(void *memory)
{
	if (!memory)
		fail("out of memory");
	return memory;
}

/* --- images and addresses --------------------------------------------------------------------- */

static int add_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_F && S_ISREG(st->st_mode) && st->st_size > 16384 && paths.n < PATHS_MAX)
		paths.all[paths.n++] = check(strdup(path));
	return 0;
}

static void take_functions(struct file *f, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	(void)elf;
	f->functions = check(calloc(n + 1, 2 * sizeof(*f->functions)));
	f->n_functions = 0;
	for (size_t i = 0; data && i < n; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || !symbol.st_size || !symbol.st_value ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		f->functions[2 * f->n_functions] = symbol.st_value;
		f->functions[2 * f->n_functions++ + 1] = symbol.st_size;
	}
}

static void read_functions(struct file *f, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		free(f->functions);
		take_functions(f, elf, section, &header);
		if (header.sh_type == SHT_SYMTAB)
			break;
	}
	elf_end(elf);
}

/* Names are looked for in the open file: an image of the daemon's, made by hand. */
static bool open_file(struct bench *b, const char *path)
{
	struct file f = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return false;
	if (elf_summary_read(fd, &f.elf) == WORKER_DONE && f.elf.pointer_bytes == 8)
		read_functions(&f, fd);
	if (f.n_functions < FUNCTIONS_MIN) {
		free(f.functions);
		close(fd);
		return false;
	}
	f.image = check(calloc(1, sizeof(*f.image)));
	f.image->n_references = 1;
	f.image->id = b->n + 1;
	f.image->kind = IMAGE_FILE;
	f.image->path = check(strdup(path));
	f.image->fd = fd;
	b->files[b->n++] = f;
	return true;
}

static void choose_files(struct bench *b)
{
	b->files = check(calloc(b->n_files, sizeof(*b->files)));
	/* Large and small ones, from everywhere: a random order that is always the same. */
	srand48(1);
	for (size_t i = paths.n; i > 1; i--) {
		size_t j = (size_t)lrand48() % i;
		char *old = paths.all[i - 1];

		paths.all[i - 1] = paths.all[j];
		paths.all[j] = old;
	}
	for (size_t i = 0; i < paths.n && b->n < b->n_files; i++)
		open_file(b, paths.all[i]);
	if (b->n < b->n_files)
		fail("not enough images in these folders");
}

static int by_value(const void *a, const void *c)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)c;

	return x < y ? -1 : x > y;
}

/* Makes @f's addresses distinct and ascending. */
static void tidy(struct file *f)
{
	size_t kept = 0;

	qsort(f->addresses, f->n, sizeof(*f->addresses), by_value);
	for (size_t i = 0; i < f->n; i++)
		if (!kept || f->addresses[i] != f->addresses[kept - 1])
			f->addresses[kept++] = f->addresses[i];
	f->n = kept;
}

/* As many addresses for each image, more for those that have more functions than others. */
static void choose_addresses(struct bench *b)
{
	size_t total = 0;

	for (size_t i = 0; i < b->n; i++)
		b->files[i].addresses = check(calloc(b->n_addresses, sizeof(uint64_t)));
	for (unsigned round = 0; total < b->n_addresses && round < 1000; round++) {
		total = 0;
		for (size_t i = 0; i < b->n; i++) {
			struct file *f = &b->files[i];

			for (unsigned j = 0; j < 32 && f->n < b->n_addresses; j++) {
				size_t k = (size_t)lrand48() % f->n_functions;
				uint64_t size = f->functions[2 * k + 1];

				f->addresses[f->n++] = f->functions[2 * k] +
						       (uint64_t)lrand48() % size;
			}
			tidy(f);
			total += f->n;
		}
	}
	for (size_t i = b->n; total > b->n_addresses; i--) {
		struct file *f = &b->files[i ? i - 1 : (i = b->n) - 1];

		if (f->n > 1) {
			f->n--;
			total--;
		}
	}
	if (total < b->n_addresses)
		fail("not enough addresses in these images");
}

/* --- measurement ------------------------------------------------------------------------------ */

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* CPU time of the live children, by the scheduler's account (schedstat: ns on a CPU). */
static double live_children(void)
{
	char path[64], text[4096];
	double sum = 0;
	char *at = text;
	FILE *in;
	size_t n;
	long child;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	in = fopen(path, "r");
	if (!in)
		fail("cannot list children");
	n = fread(text, 1, sizeof(text) - 1, in);
	text[n] = '\0';
	fclose(in);
	while ((child = strtol(at, &at, 10)) > 0) {
		unsigned long long ns = 0;

		snprintf(path, sizeof(path), "/proc/%ld/schedstat", child);
		in = fopen(path, "r");
		if (in && fscanf(in, "%llu", &ns) == 1)
			sum += (double)ns / 1e9;
		if (in)
			fclose(in);
	}
	return sum;
}

struct usage {
	double self, worker, elapsed;
};

static struct usage usage_now(void)
{
	struct rusage self, children;
	struct timespec now;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct usage){
		.self = seconds(&self.ru_utime) + seconds(&self.ru_stime),
		.worker = seconds(&children.ru_utime) + seconds(&children.ru_stime) +
			  live_children(),
		.elapsed = (double)now.tv_sec + (double)now.tv_nsec / 1e9,
	};
}

static void print_usage(const char *name, const struct usage *before)
{
	struct usage now = usage_now();

	printf(" \"%s\": {\"self\": %.4f, \"worker\": %.4f, \"elapsed\": %.4f},\n", name,
	       now.self - before->self, now.worker - before->worker, now.elapsed - before->elapsed);
}

/* Returns how many addresses have names. */
static size_t name_all(const struct bench *b, struct symbols *s)
{
	size_t n_named = 0;

	symbols_begin_window(s);
	for (size_t i = 0; i < b->n; i++) {
		const struct file *f = &b->files[i];
		const struct symbols_names *names;
		const struct symbols_frame *frames;
		uint32_t n;

		if (symbols_headers(s, f->image) ||
		    symbols_prepare(s, f->image, f->addresses, f->n, b->lines, &names))
			fail("symbols_prepare");
		for (size_t j = 0; j < f->n; j++)
			n_named += symbols_names_find(names, f->addresses[j], &frames, &n) && n;
	}
	return n_named;
}

static void measure_names(const struct bench *b)
{
	const struct symbols_options options = {.max_bytes = 64 << 20, .worker_path = b->worker};
	cleanup(symbols_freep) struct symbols *s = NULL;
	struct symbols_stats stats;
	struct usage before;
	size_t n_named;

	if (symbols_new(&s, &options))
		fail("symbols_new");
	before = usage_now();
	n_named = name_all(b, s);
	print_usage("names_first", &before);
	before = usage_now();
	name_all(b, s);
	print_usage("names_second", &before);
	symbols_get_stats(s, &stats);
	printf(" \"named\": %zu, \"kept_bytes\": %zu, \"asked\": %" PRIu64 ", \"died\": %" PRIu64
	       ",\n",
	       n_named, symbols_bytes(s), stats.addresses_asked, stats.workers_died);
}

/* --- a whole window --------------------------------------------------------------------------- */

static uint64_t file_offset(const struct elf_summary *elf, uint64_t vaddr)
{
	for (uint32_t i = 0; i < elf->n_segments; i++)
		if (vaddr - elf->segments[i].vaddr < elf->segments[i].file_size)
			return vaddr - elf->segments[i].vaddr + elf->segments[i].offset;
	return 0;
}

static struct mappings *map_all(const struct bench *b)
{
	struct mappings *m = NULL;

	if (mappings_new(&m))
		fail("mappings_new");
	for (size_t i = 0; i < b->n; i++) {
		const struct mapping mapping = {
			.start = (uint64_t)(i + 1) << 36,
			.end = ((uint64_t)(i + 1) << 36) + (UINT64_C(1) << 32),
			.image = b->files[i].image,
		};

		if (mappings_add(&m, &mapping, 1, false))
			fail("mappings_add");
	}
	return m;
}

static void add_stack(struct aggregate *a, uint64_t *frames, size_t *n)
{
	const struct aggregate_key key = {
		.process = 1,
		.thread_name = "main",
		.stack = {.frames = frames, .n_frames = (uint16_t)*n},
	};

	if (*n && aggregate_add(a, &key, 1, 10000000))
		fail("aggregate_add");
	*n = 0;
}

static struct snapshot *make_window(const struct bench *b)
{
	struct snapshot *s = check(calloc(1, sizeof(*s)));
	uint64_t frames[DEPTH];
	size_t n = 0;

	s->start_ns = 1795251600 * NS;
	s->duration_ns = 60 * NS;
	s->formats = FORMAT_PPROF;
	s->symbolize = b->lines ? SYMBOLIZE_LINES : SYMBOLIZE_FUNCTIONS;
	snprintf(s->event, sizeof(s->event), "cpu-clock");
	s->is_clock = true;
	s->frequency = 100;
	s->period = 10000000;
	s->ledger = check(strdup("expected=0"));
	s->processes = check(calloc(1, sizeof(*s->processes)));
	s->n_processes = 1;
	s->processes[0].serial = 1;
	s->processes[0].pid = 1;
	s->processes[0].service = check(strdup("bench"));
	s->processes[0].program = image_ref(b->files[0].image);
	s->processes[0].mappings = map_all(b);
	if (aggregate_new(&s->aggregate, 256 << 20))
		fail("aggregate_new");
	for (size_t i = 0; i < b->n; i++) {
		const struct file *f = &b->files[i];

		for (size_t j = 0; j < f->n; j++) {
			frames[n++] =
				frame_in_image((uint32_t)f->image->id,
					       (uint32_t)file_offset(&f->elf, f->addresses[j]));
			if (n == DEPTH)
				add_stack(s->aggregate, frames, &n);
		}
	}
	add_stack(s->aggregate, frames, &n);
	return s;
}

static void measure_windows(const struct bench *b)
{
	const struct output_options options = {
		.store_fd = b->store_fd,
		.store_path = b->dir,
		.limits.keep_windows = 3,
		.symbol_cache_bytes = 64 << 20,
	};
	const struct writer_world world = {.proc_fd = -1, .sys_fd = -1, .worker_path = b->worker};
	cleanup(writer_freep) struct writer *w = NULL;
	static const char *const names[] = {"window_first", "window_second"};

	if (writer_new(&w, &options, &world, 1795251600 * NS))
		fail("writer_new");
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct output_result *result = check(calloc(1, sizeof(*result)));
		struct snapshot *s = make_window(b);
		struct usage before = usage_now();

		writer_write(w, s, 1795251660 * NS, result);
		print_usage(names[i], &before);
		if (result->error)
			fail("writer_write");
		output_result_free(result);
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void parse(struct bench *b, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "li:a:w:")) != -1) {
		if (option == 'l')
			b->lines = true;
		else if (option == 'i')
			b->n_files = strtoul(optarg, NULL, 10);
		else if (option == 'a')
			b->n_addresses = strtoul(optarg, NULL, 10);
		else if (option == 'w')
			b->worker = optarg;
		else
			fail("usage: [-l] [-i IMAGES] [-a ADDRESSES] [-w WORKER] FOLDER...");
	}
	for (; optind < argc; optind++)
		nftw(argv[optind], add_path, 16, FTW_PHYS);
}

int main(int argc, char **argv)
{
	struct bench b = {.n_files = 300, .n_addresses = 50000};
	uint64_t bytes = 0;

	parse(&b, argc, argv);
	elf_version(EV_CURRENT);
	choose_files(&b);
	choose_addresses(&b);
	for (size_t i = 0; i < b.n; i++) {
		struct stat st;

		if (fstat(b.files[i].image->fd, &st) == 0)
			bytes += (uint64_t)st.st_size;
	}
	snprintf(b.dir, sizeof(b.dir), "/tmp/profd-bench-symbolize-XXXXXX");
	if (!mkdtemp(b.dir))
		fail("cannot make a folder");
	b.store_fd = open(b.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	printf("{\"images\": %zu, \"image_bytes\": %" PRIu64 ", \"addresses\": %zu,\n", b.n, bytes,
	       b.n_addresses);
	measure_names(&b);
	measure_windows(&b);
	printf(" \"lines\": %s}\n", b.lines ? "true" : "false");
	nftw(b.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	for (size_t i = 0; i < b.n; i++) {
		image_unref(b.files[i].image);
		free(b.files[i].functions);
		free(b.files[i].addresses);
	}
	for (size_t i = 0; i < paths.n; i++)
		free(paths.all[i]);
	free(b.files);
	close(b.store_fd);
	return 0;
}
