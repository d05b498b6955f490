/* SPDX-License-Identifier: MIT */
/* Every verb with its help: a row here, and a file that has its run function. */
#include "client/profctl/profctl.h"

const struct verb verbs[] = {
	{"start",
	 "TARGET... [-F HZ | -c N] [-e EVENT] [-d TIME] [--name NAME] [--formats LIST]\n"
	 "                     [--children] [--no-kernel] [--json]",
	 "open a session for a process, a service or more",
	 "Prints the session's id. Each TARGET opens a session of its own:\n"
	 "  PID                  a process\n"
	 "  -t, --tid TID        a thread\n"
	 "  -s, --service S      a service, by its systemd unit; it need not run yet\n"
	 "      --cgroup PATH    a cgroup, as in /proc/PID/cgroup\n"
	 "      --uid UID        the processes of a user\n"
	 "      --comm NAME      the threads of that name\n"
	 "  -C, --cpus LIST      CPUs, such as 0-3,8\n"
	 "      --all            everything\n"
	 "Options:\n"
	 "  -F, --frequency HZ   samples per second and CPU (profd.conf's, else 99)\n"
	 "  -c, --period N       one sample every N events\n"
	 "  -e, --event EVENT    cpu-clock, cycles ...; :u or :k for one side only\n"
	 "  -d, --duration TIME  stop by itself, e.g. after 30s\n"
	 "      --name NAME      part of the folder's name\n"
	 "      --formats LIST   pprof, legacy or both\n"
	 "      --children       what the process has forked and will fork, too\n"
	 "      --no-kernel      without kernel frames\n"
	 "Without privileges: processes of your own, at most 1000 Hz and 4 sessions.\n"
	 "\nExample: id=$(profctl start -F 999 1234); sleep 10; profctl stop $id\n",
	 start_run},
	{"stop", "ID|PID|--all [--json]", "end a session and print its files",
	 "Writes what the session has counted since its last window, then prints every file\n"
	 "that it wrote, a path a line.\n"
	 "\nExample: profctl report $(profctl stop s1 | grep pb.gz)\n",
	 stop_run},
	{"pause", "", "pause the system session",
	 "Samples stop until `profctl resume`; sessions from `profctl start` go on.\n"
	 "\nExample: profctl pause && make benchmark; profctl resume\n",
	 pause_run},
	{"resume", "", "resume the system session", "\nExample: profctl resume\n", resume_run},
	{"status", "[-w] [--json]", "what profd does and how well",
	 "Shows where every tick went (the ledger), how many stacks are whole, what profd costs,\n"
	 "the store, warnings and sessions.\n"
	 "  -w, --watch   again every two seconds\n"
	 "\nExample: profctl status --json | jq .ledger\n",
	 status_run},
	{"flush", "[ID] [--json]", "write the open window now and print its files",
	 "Returns when the files are durable. Without ID: all sessions that are yours to control.\n"
	 "\nExample: profctl flush\n",
	 flush_run},
	{"epoch", "[--json]", "begin a new epoch of image profiles and print its name",
	 "\nExample: profctl epoch && systemctl restart myservice\n", epoch_run},
	{"list", "[-s SERVICE] [--since T] [--until T] [--json]",
	 "the services in the store, or the windows of one",
	 "  -s, --service S   the windows of S; nginx is nginx.service\n"
	 "      --since T     from then on: -10m (ago), 14:30, today, yesterday, RFC 3339\n"
	 "      --until T     up to then\n"
	 "Times are local unless they end in Z.\n"
	 "\nExample: profctl list -s cron.service --since -1h\n",
	 list_run},
	{"collect",
	 "[-s SERVICE | --session ID | -p PID] [--since T] [--until T]\n"
	 "                       [--format pprof|legacy|collapsed] [-o FILE] [--stored] [--json]",
	 "merge what is stored, and the open window, into one profile",
	 "Windows that overlap the range are merged; without -s, --session and -p those of the "
	 "whole\nmachine. Prints the file's name.\n"
	 "  -s, --service S     a service\n"
	 "      --session ID    a session such as s1\n"
	 "  -p, --pid PID       a process, in whatever service it was\n"
	 "      --since T       from then on: -10m (ago), 14:30, today, yesterday, RFC 3339\n"
	 "      --until T       up to then\n"
	 "      --format F      pprof (the default), legacy (needs -p) or collapsed\n"
	 "  -o, --output FILE   instead of ./profd.pb.gz (.prof, .collapsed); - is standard "
	 "output\n"
	 "      --stored        without the open window\n"
	 "Without privileges: sessions of your own, and programs of your own that run now.\n"
	 "\nExample: profctl report --top $(profctl collect -s nginx.service --since -1h)\n",
	 collect_run},
	{"vacuum", "[--max-age T] [--max-size S] [--json]", "delete old profiles now",
	 "Limits that are not given are the configured ones; the newest windows of each service\n"
	 "stay. Prints what was freed.\n"
	 "      --max-age T    what is older goes, e.g. 12h or 3d\n"
	 "      --max-size S   the oldest goes until the store is no bigger, e.g. 500M\n"
	 "\nExample: profctl vacuum --max-size 500M\n",
	 vacuum_run},
	{"config", "[--json]", "the configuration in force",
	 "Prints a file that profd would read back to the same.\n"
	 "\nExample: profctl config --json | jq .sampling.frequency\n",
	 config_run},
	{"doctor", "[--json]", "what this host offers to profd, and what to do about the rest",
	 "Looks by itself, so it works without a running profd. A line each: ok, warn (profd "
	 "works,\n"
	 "but not at its best) or bad, with the remedy. Exit status 1 if anything is bad.\n"
	 "\nExample: sudo profctl doctor\n",
	 doctor_run},
	{"symbolize", "[--lines] [--debuginfod URL]... -o FILE PROFILE",
	 "give the addresses of a profile names",
	 "Reads PROFILE (profile.proto, or a legacy CPU profile; - is standard input) and writes "
	 "it,\n"
	 "as gzip'ed profile.proto, with the names that the programs and libraries on this host\n"
	 "have for its addresses. Files with other build ids than the profile's are not used.\n"
	 "Needs no profd.\n"
	 "      --lines            source lines and inlined functions, too\n"
	 "      --debuginfod URL   ask this server for debug files that are not here\n"
	 "  -o, --output FILE      - is standard output\n"
	 "\nExample: profctl symbolize --lines -o named.pb.gz profile.pb.gz\n",
	 symbolize_run},
	{"images",
	 "[IMAGE] [--db DIR] [--epoch E|all] [-e EVENT] [--json]\n"
	 "                      [--list=RE | --top=N | --diff EPOCH]\n"
	 "       profctl images --cat FILE",
	 "samples of each program and library, from the image profiles of the store",
	 "Without IMAGE: a line for each image that was sampled. With it: a line for each of its\n"
	 "procedures. IMAGE is a path, a name, or an id (its first eight digits do). Names and "
	 "code\n"
	 "come from the file here, if it is the one that was sampled. Needs no profd.\n"
	 "      --db DIR          instead of /var/lib/profd/images (--user: your own profd's)\n"
	 "      --epoch E         YYMMDDHHMM, UTC, instead of the newest; or all\n"
	 "  -e, --event EVENT     where an epoch has more than one\n"
	 "      --list=RE         source lines and instructions of the procedures that match RE\n"
	 "      --top=N           the N hottest instructions, of IMAGE or of all\n"
	 "      --diff EPOCH      what changed since then\n"
	 "      --intel_syntax    instructions as Intel writes them\n"
	 "      --source_path P   folders in which sources are looked for, : between them\n"
	 "      --trim_path P     what is taken off the front of their names\n"
	 "      --cat FILE        one image profile as text: its header, then address and count\n"
	 "The store's profiles are for root and the members of the group profd.\n"
	 "\nExample: profctl images --top=10; profctl images libc.so.6 --list=malloc\n",
	 images_run},
	{"report",
	 "[OPTIONS] [PROGRAM] PROFILE...\n"
	 "       profctl report [OPTIONS] -s SERVICE [--since T] [--until T]",
	 "where the time went: text, graphs, flame graphs, annotated source",
	 "Reads profile.proto, legacy CPU profiles, image profiles, what perf script prints and\n"
	 "collapsed stacks, gzip'ed or not; several are merged, and a folder stands for all in "
	 "it.\n"
	 "- is standard input. http://, https:// and HOST:PORT are fetched. PROGRAM, when given\n"
	 "first, is where names come from. With -s it is what the store holds of a service. Needs\n"
	 "no profd. On a terminal, without a view, it asks for commands; else it is --text. One\n"
	 "dash is as good as two.\n"
	 "\nExample: profctl report --text profile.pb.gz\n"
	 "         profctl report --flame -o flame.html -s nginx.service --since -1h\n"
	 "         profctl report --peek=malloc ./program program.prof\n"
	 "         profctl report --seconds=10 localhost:6060\n"
	 "         profctl report --diff_base=before.pb.gz --cum after.pb.gz\n",
	 report_run},
	{"diff", "[OPTIONS] BASE NEW", "what a profile has more, and less, than another",
	 "The short form of report --diff_base=BASE NEW, and takes its options: percentages are\n"
	 "of BASE's total. --normalize scales NEW to it first.\n"
	 "\nExample: profctl diff --cum before.pb.gz after.pb.gz\n",
	 diff_run},
	{"convert", "--to FORMAT [-o FILE] PROFILE...", "write profiles in another format, merged",
	 "  -t, --to FORMAT     pprof, legacy, collapsed or speedscope\n"
	 "  -o, --output FILE   instead of standard output\n"
	 "Legacy profiles have user frames only; collapsed stacks have names only.\n"
	 "\nExample: perf script | profctl convert --to pprof -o perf.pb.gz -\n",
	 convert_run},
	{"run", "[-F HZ] [-o FILE] [--] COMMAND...",
	 "run a command and profile it and its children: no profd, no privileges",
	 "Runs COMMAND with libprofd.so loaded into it and every program that it starts, until it "
	 "ends.\n"
	 "What was gathered is written then, however it ended; what it leaves running in the\n"
	 "background is not sampled any longer. The exit status is COMMAND's, and a signal that "
	 "ended\n"
	 "it ends this, too; 125, 126 and 127 are as env(1) has them.\n"
	 "  -F, --frequency HZ   samples per second of each thread's CPU time, 1 to 4000 (99)\n"
	 "  -o, --output FILE    instead of ./profd.pb.gz; a name in .prof: a legacy CPU profile, "
	 "in\n"
	 "                       .collapsed: collapsed stacks\n"
	 "Programs that are linked statically, use musl, or run with other rights than yours are "
	 "run,\n"
	 "but not sampled; of much CPU time that was not, the last lines tell.\n"
	 "\nExample: profctl run -o sort.pb.gz -- sort -u words && profctl report sort.pb.gz\n",
	 run_run},
	{"top", "[-s SERVICE | -p PID] [-d SECONDS] [--rows N] [--once] [--json]",
	 "the hottest functions, as they run",
	 "Shares of the last interval and since the beginning: flat is what functions cost "
	 "themselves,\n"
	 "cum what they cost with all that they call. On a terminal it fills the screen, h shows "
	 "the\n"
	 "keys; otherwise, and with TERM=dumb, a plain table an interval. Nothing of it is "
	 "stored.\n"
	 "  -s, --service S   a service, by its systemd unit\n"
	 "  -p, --pid PID     a process\n"
	 "  -d, --delay TIME  the interval: seconds, or e.g. 500ms (2 s)\n"
	 "      --rows N      as many functions at most, where it is no screen (20)\n"
	 "      --once        one table, of one interval\n"
	 "      --json        each interval an object\n"
	 "Without privileges: -p with a process of your own, or profctl --user top.\n"
	 "\nExample: profctl top -s nginx.service --once -d 10\n",
	 top_run},
	{"record",
	 "[-F HZ] [-e EVENT] [-d TIME] [-o FILE] (-a | -p PID | -s SERVICE |\n"
	 "                      [--] COMMAND...)",
	 "record into one file what runs now, or a command",
	 "A session of the profd that runs, else of one that runs for as long as this takes. Ends\n"
	 "after -d, on Ctrl-C, with the process or with COMMAND, and writes the file then, whole\n"
	 "or not at all; nothing is in profd's store. COMMAND is sampled from its first\n"
	 "instruction, with what it starts; the exit status is COMMAND's then, and 125, 126 and\n"
	 "127 are as env(1) has them.\n"
	 "  -a, --all            everything; where profd is one of your own, your own processes\n"
	 "  -p, --pid PID        a process\n"
	 "  -s, --service S      a service, by its systemd unit\n"
	 "  -F, --frequency HZ   samples per second and CPU (profd.conf's, else 99)\n"
	 "  -e, --event EVENT    cpu-clock, cycles ...; :u or :k for one side only\n"
	 "  -d, --duration TIME  e.g. 30s; a COMMAND goes on after that\n"
	 "  -o, --output FILE    instead of ./profd.pb.gz; a name in .prof: a legacy CPU profile, "
	 "of\n"
	 "                       one process; in .collapsed: collapsed stacks; - is standard "
	 "output\n"
	 "\nExample: profctl record -d 10s -a && profctl report profd.pb.gz\n",
	 record_run},
	{0},
};
