/* SPDX-License-Identifier: MIT */
#include "client/profctl/progress.h"

#include <string.h>
#include <sys/ioctl.h>

#include "client/profctl/table.h"
#include "common/clock.h"

#define PATIENCE_NS  NS_PER_S
#define PERIOD_NS    (NS_PER_S / 5)
#define BAR_COLUMNS  24
#define LINE_COLUMNS 512
#define ERASE_LINE   "\r\x1b[K"

size_t progress_line(char *line, size_t size, unsigned columns, double done, const char *text)
{
	char bar[BAR_COLUMNS + 1];
	int filled, n;

	if (done < 0) {
		n = snprintf(line, size, "%s", text);
	} else {
		done = done > 1 ? 1 : done;
		filled = (int)(done * BAR_COLUMNS);
		memset(bar, '#', (size_t)filled);
		memset(bar + filled, ' ', (size_t)(BAR_COLUMNS - filled));
		bar[BAR_COLUMNS] = '\0';
		n = snprintf(line, size, "[%s] %3d %% %s", bar, (int)(done * 100), text);
	}
	if ((size_t)n >= size)
		n = (int)size - 1;
	/* A full line would begin another one, which is then not erased. */
	if ((unsigned)n >= columns)
		n = columns ? (int)columns - 1 : 0;
	line[n] = '\0';
	return (size_t)n;
}

void progress_init(struct progress *p, const struct context *context)
{
	*p = (struct progress){
		.out = context->progress ? context->err : NULL,
		.next_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS,
	};
}

void progress_show(struct progress *p, double done, const char *text)
{
	struct winsize size = {.ws_col = 80};
	char line[LINE_COLUMNS];

	if (!p->out)
		return;
	if (ioctl(fileno(p->out), TIOCGWINSZ, &size) < 0 || !size.ws_col)
		size.ws_col = 80;
	progress_line(line, sizeof(line), size.ws_col, done, text);
	fputs(ERASE_LINE, p->out);
	print_safely(p->out, line);
	fflush(p->out);
	p->is_shown = true;
}

void progress_update(struct progress *p, double done, const char *text)
{
	uint64_t now_ns;

	if (!p->out)
		return;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (now_ns < p->next_ns)
		return;
	p->next_ns = now_ns + PERIOD_NS;
	progress_show(p, done, text);
}

void progress_clear(struct progress *p)
{
	if (!p->is_shown)
		return;
	fputs(ERASE_LINE, p->out);
	fflush(p->out);
	p->is_shown = false;
}
