/* SPDX-License-Identifier: MIT */
/*
 * Reads lines, with libedit on a terminal, has prompt_line.c parse them and produce.c report. A
 * report is made in memory first, so that one that fails leaves nothing in a file or on the screen.
 */
#include "client/report/prompt.h"

#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/analysis/node_name.h"
#include "client/analysis/wall.h"
#include "client/report/produce.h"
#include "client/report/prompt_line.h"
#include "client/symbolize/profile_file.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/memory_file.h"
#include "common/memory_text.h"
#include "common/text_print.h"
#include "common/utf8.h"

#define HISTORY_LINES 500
#define PROMPT        "(profctl) "
#define CANDIDATES    20 /* so many names are listed */

struct prompt {
	struct load *load;
	const struct prompt_streams *streams;
	struct listener listener;
	struct prompt_settings settings;
	const char *types[PROFILE_TYPES_MAX + 1];
	EditLine *edit; /* NULL: no terminal */
	History *history;
	char *line; /* getline()'s */
	size_t line_size;
};

static void prompt_deinit(struct prompt *p)
{
	if (p->history)
		history_end(p->history);
	if (p->edit)
		el_end(p->edit);
	free(p->line);
	prompt_settings_deinit(&p->settings);
}

static void prompt_note(void *context, const char *text)
{
	const struct prompt *p = context;

	fflush(p->streams->out);
	fputs("profctl: ", p->streams->err);
	utf8_write_harmless(p->streams->err, text, "");
	fputc('\n', p->streams->err);
}

/* --- lines ------------------------------------------------------------------------------------ */

static char *prompt_text(EditLine *edit)
{
	static char text[] = PROMPT;

	(void)edit;
	return text;
}

/* What Tab has to choose from, below the line. */
static void prompt_list_names(const struct prompt_completion *c, FILE *out)
{
	fputc('\n', out);
	for (size_t i = 0; i < c->n && i < CANDIDATES; i++) {
		fputs("  ", out);
		utf8_write_harmless(out, c->all[i].name, "");
		fputc('\n', out);
	}
	if (c->n > CANDIDATES)
		fprintf(out, "  and %zu more\n", c->n - CANDIDATES);
}

static unsigned char prompt_key_complete(EditLine *edit, int key)
{
	const LineInfo *line = el_line(edit);
	cleanup(prompt_completion_deinit) struct prompt_completion c = {0};
	struct prompt *p;

	(void)key;
	el_get(edit, EL_CLIENTDATA, &p);
	if (prompt_complete(&c, load_profile(p->load), line->buffer,
			    (size_t)(line->cursor - line->buffer)))
		return CC_REFRESH_BEEP;
	if (*c.text)
		return el_insertstr(edit, c.text) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
	if (c.n < 2)
		return CC_REFRESH_BEEP;
	prompt_list_names(&c, p->streams->out);
	return CC_REDISPLAY;
}

/* As the terminal would; EL_SIGNAL puts it in order before and after. */
static unsigned char prompt_key_suspend(EditLine *edit, int key)
{
	(void)edit;
	(void)key;
	kill(0, SIGTSTP);
	return CC_REFRESH;
}

static int open_editor(struct prompt *p)
{
	HistEvent event;

	p->edit = el_init("profctl", p->streams->in, p->streams->out, p->streams->err);
	p->history = history_init();
	if (!p->edit || !p->history)
		return error_origin(-ENOMEM);
	history(p->history, &event, H_SETSIZE, HISTORY_LINES);
	history(p->history, &event, H_SETUNIQUE, 1);
	el_set(p->edit, EL_CLIENTDATA, p);
	el_set(p->edit, EL_PROMPT, prompt_text);
	el_set(p->edit, EL_EDITOR, "emacs");
	el_set(p->edit, EL_HIST, history, p->history);
	el_set(p->edit, EL_SIGNAL, 1);
	/* At the prompt Ctrl-C empties the line; while a report is made, it ends profctl. */
	el_set(p->edit, EL_SETTY, "-d", "-isig", NULL);
	el_set(p->edit, EL_BIND, "^C", "em-kill-line", NULL);
	el_set(p->edit, EL_ADDFN, "profctl-suspend", "stops until continued", prompt_key_suspend);
	el_set(p->edit, EL_BIND, "^Z", "profctl-suspend", NULL);
	el_set(p->edit, EL_ADDFN, "profctl-complete", "completes a name", prompt_key_complete);
	el_set(p->edit, EL_BIND, "^I", "profctl-complete", NULL);
	el_source(p->edit, NULL);
	return 0;
}

/*
 * Ctrl-C is a key for the editor, but not yet when its prompt is there and the terminal is not its
 * own: then it is for nobody.
 */
static const char *edit_line(EditLine *edit, int *ret_length)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};
	struct sigaction before;
	const char *line;

	sigaction(SIGINT, &ignored, &before);
	line = el_gets(edit, ret_length);
	sigaction(SIGINT, &before, NULL);
	return line;
}

/* The next line, or NULL at the end. */
static const char *prompt_next_line(struct prompt *p)
{
	HistEvent event;
	const char *line;
	int n;

	fflush(p->streams->out);
	if (!p->edit)
		return getline(&p->line, &p->line_size, p->streams->in) < 0 ? NULL : p->line;
	line = edit_line(p->edit, &n);
	if (!line || n <= 0) {
		fputc('\n', p->streams->out);
		return NULL;
	}
	if (line[strspn(line, " \t\r\n")])
		history(p->history, &event, H_ENTER, line);
	return line;
}

/* --- commands --------------------------------------------------------------------------------- */

/* Blocks until @command ends, which Ctrl-C is for meanwhile (system(3)). 0 or negative errno. */
static int prompt_pipe_report(const struct prompt *p, const char *command, const char *data,
			      size_t length)
{
	cleanup(closep) int fd = memfd_create("report", 0); /* the shell's as well */
	cleanup(freep) char *line = NULL;
	int r;

	if (fd < 0)
		return error_origin(-errno);
	if (text_print(&line, "{ %s\n} </dev/fd/%d %d<&-", command, fd, fd))
		return -ENOMEM;
	r = memory_file_write(fd, data, length);
	if (r)
		return error_origin(r);
	fflush(p->streams->out);
	if (system(line) == -1)
		return error_origin(-errno);
	return 0;
}

/* All of it or nothing, whether it goes to a file, to @command or is printed. */
static int prompt_report(struct prompt *p, const struct report_options *o, const char *command)
{
	bool to_file = *o->output && strcmp(o->output, "-") != 0;
	cleanup(memory_text_deinit) struct memory_text report = {0};
	struct profile_message message;
	int r;

	if (produce_needs(o).binary && !to_file && !*command && p->streams->is_terminal) {
		listener_note(&p->listener,
			      "that is nothing for a terminal: end the command with >FILE");
		return 0;
	}
	r = memory_text_open(&report)
		    ?: produce_report(p->load, o, &p->listener, report.out, &message);
	if (r > 0)
		listener_note(&p->listener, "%s", message.text);
	if (!r)
		r = memory_text_close(&report);
	if (r)
		return r > 0 ? 0 : r;
	if (to_file) {
		if (profile_file_save(o->output, (const uint8_t *)report.text, report.length, false,
				      &message))
			listener_note(&p->listener, "%s: %s", o->output, message.text);
		return 0;
	}
	if (*command)
		return prompt_pipe_report(p, command, report.text, report.length);
	fwrite(report.text, 1, report.length, p->streams->out);
	return 0;
}

static void prompt_print_settings(const struct prompt *p)
{
	const struct report_options *o = &p->settings.options;
	size_t last_choice = SIZE_MAX;

	for (const struct report_option *option = report_options_all; option->name; option++) {
		const char *name = option->name;

		if (!report_option_is_setting(option))
			continue;
		if (option->kind == REPORT_OPTION_CHOICE) {
			if (option->offset == last_choice)
				continue;
			last_choice = option->offset;
			name = option->group == REPORT_GROUP_ORDER ? "sort" : "granularity";
		}
		fprintf(p->streams->out, "  %-22s = ", name);
		report_option_print(o, option, p->streams->out);
		fputc('\n', p->streams->out);
	}
	fputs("  sample types:", p->streams->out);
	for (size_t i = 0; i < p->settings.n_types; i++)
		fprintf(p->streams->out, "%s %s", i ? "," : "", p->types[i]);
	fputc('\n', p->streams->out);
}

/* What is neither a view nor an option. */
static const struct {
	const char *name, *other, *summary;
} others[] = {
	{"o", "options", "lists the settings"},
	{"NAME=VALUE", "NAME", "sets one; help NAME says what it is"},
	{"TYPE", "mean_TYPE", "shows that sample type; mean_TYPE its mean"},
	{":", NULL, "takes focus, ignore, hide, tagfocus and tagignore off"},
	{"help NAME", "help", "says what NAME is; help alone lists all these"},
	{"quit", "exit", "ends this; so does ^D"},
};

static void prompt_print_commands(const struct prompt *p)
{
	FILE *out = p->streams->out;

	fputs("Commands, with how many rows, -cum, what to look at, -what to leave out, >FILE, | "
	      "COMMAND:\n",
	      out);
	for (const struct report_option *option = report_options_all; option->name; option++)
		if (report_option_is_view(option))
			fprintf(out, "  %s%s%-*s %s\n", option->name, option->argument ? " " : "",
				16 - (int)strlen(option->name) - (option->argument != NULL),
				option->argument ? option->argument : "", option->summary);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		fprintf(out, "  %-16s %s\n", others[i].name, others[i].summary);
	fputs("Example: top20 -cum parse -lock >parse.txt\n", out);
}

/* False: @topic is none of the prompt's own. */
static bool prompt_print_own_help(const struct prompt *p, const char *topic)
{
	enum report_option_group group = prompt_choice_group(topic, strlen(topic));
	FILE *out = p->streams->out;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(topic, others[i].name) != 0 &&
		    (!others[i].other || strcmp(topic, others[i].other) != 0))
			continue;
		fprintf(out, "%s: %s\n", others[i].name, others[i].summary);
		return true;
	}
	if (group == REPORT_N_GROUPS)
		return false;
	fprintf(out, "%s=NAME, or NAME alone:\n", topic);
	for (const struct report_option *option = report_options_all; option->name; option++)
		if (option->kind == REPORT_OPTION_CHOICE && option->group == group)
			fprintf(out, "  %-16s %s\n", option->name, option->summary);
	return true;
}

static void prompt_print_help(const struct prompt *p, const char *topic)
{
	const struct report_option *option = report_option_find(topic, strlen(topic));

	if (!*topic) {
		prompt_print_commands(p);
		return;
	}
	if (prompt_print_own_help(p, topic))
		return;
	if (!option || option->is_input) {
		listener_note(&p->listener, "nothing is called '%.80s'; help lists the commands",
			      topic);
		return;
	}
	fprintf(p->streams->out, "%s%s%s: %s\n%s", option->name,
		!option->argument                  ? ""
		: report_option_is_setting(option) ? "="
						   : " ",
		option->argument ? option->argument : "", option->summary,
		option->details ? option->details : "");
}

/* *ret_quit: it was the last one. 0 or negative errno. */
static int prompt_execute(struct prompt *p, const char *line, bool *ret_quit)
{
	struct profile_message message;
	struct prompt_command command;
	int r = prompt_parse_line(&p->settings, line, &command, &message);

	if (r > 0)
		listener_note(&p->listener, "%s", message.text);
	if (r)
		return r > 0 ? 0 : r;
	switch (command.kind) {
	case PROMPT_REPORT:
		return prompt_report(p, &command.options, command.pipe);
	case PROMPT_OPTIONS:
		prompt_print_settings(p);
		break;
	case PROMPT_HELP:
		prompt_print_help(p, command.topic);
		break;
	case PROMPT_QUIT:
		*ret_quit = true;
		break;
	default:
		break;
	}
	return 0;
}

int prompt_run(struct load *l, const struct report_options *o, const struct prompt_streams *s)
{
	cleanup(prompt_deinit) struct prompt p = {.load = l, .streams = s};
	const struct profile *profile = load_profile(l);
	const char *line, *program = node_name_program(profile);
	bool quit = false;
	int r = 0;

	p.listener = (struct listener){.note = prompt_note, .context = &p};
	for (uint32_t i = 0; i < profile->n_sample_types; i++)
		p.types[i] = profile_string(profile, profile->sample_types[i].type);
	p.settings.options = *o;
	p.settings.options.print.compact_labels = true;
	p.settings.types = p.types;
	p.settings.n_types = profile->n_sample_types;
	if (wall_is_possible(profile))
		p.types[p.settings.n_types++] = WALL_TYPE;
	if (isatty(fileno(s->in)))
		r = open_editor(&p);
	if (!r)
		fprintf(s->out,
			"%s%s%zu stacks, %zu functions. help lists the commands, o the settings.\n",
			program, *program ? ": " : "", profile->n_samples, profile->n_functions);
	while (!r && !quit && (line = prompt_next_line(&p)))
		r = prompt_execute(&p, line, &quit);
	return r;
}
