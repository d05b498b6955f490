/* SPDX-License-Identifier: MIT */
/*
 * Every verb with its task and its help: a row here, and a file that has its run function.
 */
#include "client/profctl/profctl.h"

const struct verb verbs[] = {
	{TASK_SEE, "list",
	 "[-s SERVICE] [--since T] [--until T] [--sort ORDER]\n"
	 "                    [--json | --url]",
	 "list services with their CPU time, or the windows of one",
	 "The CPU seconds of each service in the range, its share, and what the store has of it.\n"
	 "  -s, --service S   the windows of S; nginx is nginx.service. Several services\n"
	 "                    are listed as all are: a,b or 'web-*'\n"
	 "      --sort ORDER  services by cpu (the default), off-cpu, name, size or\n"
	 "                    time\n"
	 "      --since T     windows after this: -2h30m, 14:03, yesterday 14:03 or RFC 3339\n"
	 "      --until T     windows before this\n"
	 "      --url         print the address of profd's page for the same question\n"
	 "Times are local unless they end in Z.\n"
	 "\nExample: profctl list --since -1h; profctl list -s cron.service\n",
	 list_run},
	{TASK_SEE, "top",
	 "[-s SERVICE | -p PID] [--wall [--idle]] [-d TIME] [--rows N]\n"
	 "                   [--once] [--json | --url]",
	 "show the hottest functions live",
	 "Shares of the last interval and since the start: flat is the cost of a function itself,\n"
	 "cum includes everything it called. On a terminal it uses the full screen, h lists the\n"
	 "keys; otherwise, and with TERM=dumb, it prints a table per interval. Nothing is stored.\n"
	 "  -s, --service S   a service, by its systemd unit\n"
	 "  -p, --pid PID     a process\n"
	 "      --wall        wall-clock time: CPU and WAIT are the parts of cum\n"
	 "      --idle        with --wall: also threads that only wait for work\n"
	 "  -d, --delay TIME  the interval: seconds, or e.g. 500ms (2 s)\n"
	 "      --rows N      maximum number of functions when there is no screen (20)\n"
	 "      --once        one table, of one interval\n"
	 "      --json        one object per interval\n"
	 "      --url         print the address of profd's page for the last hour\n"
	 "Without privileges: -p with a process of your own, or profctl --user top.\n"
	 "\nExample: profctl top -s nginx.service --once -d 10\n",
	 top_run},
	{TASK_SEE, "web",
	 "[--store DIR | PROFILE...] [--listen ADDR] [--no-browser]\n"
	 "                   [--source_path P] [--trim_path P]",
	 "show the page with all services and profiles in a browser",
	 "Serves the page for you alone until Ctrl-C, on a port of this machine; opens it in\n"
	 "a browser, or prints its address, which works once. From another machine, forward\n"
	 "the port with ssh.\n"
	 "PROFILEs are files of any format that report reads; each is shown as a service.\n"
	 "      --store DIR     a store, of whatever machine, without its profd; only read\n"
	 "      --listen ADDR   127.0.0.1:PORT, [::1]:PORT or the path of a Unix socket\n"
	 "      --no-browser    print the address only\n"
	 "      --source_path P directories to search for sources, separated by : (here)\n"
	 "      --trim_path P   prefixes to remove from their names\n"
	 "Without privileges: profctl --user web, --store, or PROFILEs.\n"
	 "\nExample: profctl web\n"
	 "         scp -r web-3:/var/lib/profd copy; profctl web --store copy\n",
	 web_run},
	{TASK_SEE, "report",
	 "[OPTIONS] [PROGRAM] PROFILE...\n"
	 "       profctl report [OPTIONS] [-s SERVICE,...] [--since T] [--until T]",
	 "show where the time went: text, graphs, flame graphs, source",
	 "Reads profile.proto, legacy CPU profiles, image profiles, perf script output and\n"
	 "collapsed stacks, gzip'ed or not. Several are merged; of a directory, all files;\n"
	 "- is standard input; http://, https:// and HOST:PORT are fetched. PROGRAM, if given\n"
	 "first, provides names. -s, --since and --until read the store's profiles, of the "
	 "services "
	 "that are given or of the whole machine; does not need profd, which adds what it has not "
	 "written yet.\n"
	 "Without a view it starts a prompt on a terminal, and is --text otherwise. Options may\n"
	 "have one dash or two.\n"
	 "\nExample: profctl report --text profile.pb.gz\n"
	 "         profctl report --flame -o flame.html -s nginx.service --since -1h\n"
	 "         profctl report -s 'web-*,nginx' --since yesterday 14:00 --until yesterday "
	 "15:00\n"
	 "         profctl report --peek=malloc ./program program.prof\n"
	 "         profctl report --seconds=10 localhost:6060\n"
	 "         profctl report --diff_base=before.pb.gz --cum after.pb.gz\n",
	 report_run},
	{TASK_SEE, "diff", "[OPTIONS] BASE NEW",
	 "show what grew and what shrank between two profiles",
	 "Short for report --diff_base=BASE NEW, with the same options. Percentages are of BASE's\n"
	 "total; --normalize scales NEW to it first.\n"
	 "\nExample: profctl diff --cum before.pb.gz after.pb.gz\n",
	 diff_run},
	{TASK_SEE, "images",
	 "[IMAGE] [--db DIR] [--epoch E|all] [-e EVENT] [--json]\n"
	 "                      [--list=RE | --top=N | --diff EPOCH]\n"
	 "       profctl images --cat FILE",
	 "samples of each program and library, from the image profiles of the store",
	 "Without IMAGE: one line per image that was sampled. With IMAGE: one line per\n"
	 "procedure. IMAGE is a path, a name, or an id (eight digits are enough). Names and code\n"
	 "come from the file on this host, if it is the one sampled. Does not need profd.\n"
	 "      --db DIR          instead of /var/lib/profd/images (--user: your own profd's)\n"
	 "      --epoch E         YYMMDDHHMM, UTC, instead of the newest; or all\n"
	 "  -e, --event EVENT     if an epoch has more than one\n"
	 "      --list=RE         source lines and instructions of the procedures that match RE\n"
	 "      --top=N           the N hottest instructions, of IMAGE or of all\n"
	 "      --diff EPOCH      changes since that epoch\n"
	 "      --intel_syntax    instructions in Intel syntax\n"
	 "      --source_path P   directories to search for sources, separated by :\n"
	 "      --trim_path P     prefixes to remove from their names\n"
	 "      --cat FILE        one image profile as text: its header, then address and count\n"
	 "Root and members of the group profd can read the store's profiles.\n"
	 "\nExample: profctl images --top=10; profctl images libc.so.6 --list=malloc\n",
	 images_run},
	{TASK_RECORD, "record",
	 "[-F HZ] [-e EVENT | --wall | --off-cpu] [--wakers]\n"
	 "                      [--latency] [-d TIME] [-o FILE]\n"
	 "                      (-a | -p PID | -s SERVICE | [--] COMMAND...)",
	 "record running processes, or a command, into one file",
	 "Uses a session of the running profd, or starts a profd for the recording. Ends after "
	 "-d,\n"
	 "on Ctrl-C, or with the process or COMMAND; then writes the file, completely or not at\n"
	 "all. Nothing is added to the store. COMMAND and its children are sampled from their\n"
	 "first instruction; the exit status is then COMMAND's, and 125, 126 and 127 are as in\n"
	 "env(1).\n"
	 "  -a, --all            everything; with a profd of your own, your own processes\n"
	 "  -p, --pid PID        a process\n"
	 "  -s, --service S      a service, by its systemd unit\n"
	 "  -F, --frequency HZ   samples per second and CPU (profd.conf's, else 99)\n"
	 "  -e, --event EVENT    cpu-clock, cycles ...; :u or :k for user or kernel only\n"
	 "      --wall           CPU time, and the time that threads wait: short for -e wall\n"
	 "      --off-cpu        the time that threads wait: short for -e off-cpu\n"
	 "      --wakers         also record what woke each thread: the label waker\n"
	 "      --latency        also CPU time divided by the threads that ran: latency\n"
	 "  -d, --duration TIME  seconds, or e.g. 30m; COMMAND continues after that\n"
	 "  -o, --output FILE    instead of ./profd.pb.gz, or profd-2 ... if there is one; a name "
	 "in "
	 ".prof: a legacy CPU profile, of one process; in .collapsed: collapsed stacks; - is "
	 "standard output\n"
	 "\nExample: profctl record -d 10 -o all.pb.gz -a && profctl report all.pb.gz\n"
	 "         profctl record --wall -d 10 -o waits.pb.gz -p 812\n",
	 record_run},
	{TASK_RECORD, "run", "[-F HZ] [-o FILE] [--] COMMAND...",
	 "profile a command and its children, without profd or privileges",
	 "Runs COMMAND with libprofd.so loaded into it and all its child processes, and writes "
	 "the\n"
	 "profile when it ends, no matter how. Processes that it leaves in the background are no\n"
	 "longer sampled. Exits with COMMAND's status, or by the signal that ended it; 125, 126\n"
	 "and 127 are as in env(1).\n"
	 "  -F, --frequency HZ   samples per second of each thread's CPU time, 1 to 4000 (99)\n"
	 "  -o, --output FILE    instead of ./profd.pb.gz, or profd-2 ... if there is one; a name "
	 "in "
	 ".prof: a legacy CPU profile, in .collapsed: collapsed stacks\n"
	 "Programs that are statically linked, use musl, or run with other privileges than yours\n"
	 "are run but not sampled; a message says so if they use much of the CPU time.\n"
	 "\nExample: profctl run -o sort.pb.gz -- sort -u words && profctl report sort.pb.gz\n",
	 run_run},
	{TASK_RECORD, "start",
	 "TARGET... [-F HZ | -c N] [-e EVENT] [-d TIME] [--name NAME]\n"
	 "                     [--formats LIST] [--children] [--no-kernel] [--wakers]\n"
	 "                     [--latency] [--json]",
	 "start a session for a process, a service or more",
	 "Prints the session's id. Each TARGET gets its own session:\n"
	 "  PID                  a process\n"
	 "  -t, --tid TID        a thread\n"
	 "  -s, --service S      a service, by its systemd unit; it may start later\n"
	 "      --cgroup PATH    a cgroup, as in /proc/PID/cgroup\n"
	 "      --uid UID        the processes of a user\n"
	 "      --comm NAME      the threads with this name\n"
	 "  -C, --cpus LIST      CPUs, such as 0-3,8\n"
	 "      --all            everything\n"
	 "Options:\n"
	 "  -F, --frequency HZ   samples per second and CPU (profd.conf's, else 99)\n"
	 "  -c, --period N       one sample every N events\n"
	 "  -e, --event EVENT    cpu-clock, cycles ...; :u or :k for user or kernel only;\n"
	 "                       off-cpu: waiting time; wall: CPU and waiting time\n"
	 "  -d, --duration TIME  stop after this time: seconds, or e.g. 30m\n"
	 "      --name NAME      part of the directory's name\n"
	 "      --formats LIST   pprof, legacy or both\n"
	 "      --children       also the process's children, present and future\n"
	 "      --no-kernel      without kernel frames\n"
	 "      --wakers         also record what woke each thread: the label waker\n"
	 "      --latency        also CPU time divided by the threads that ran: latency\n"
	 "Without privileges: processes of your own, at most 1000 Hz and 4 sessions.\n"
	 "\nExample: id=$(profctl start -F 999 1234); sleep 10; profctl stop $id\n",
	 start_run},
	{TASK_RECORD, "stop", "ID|PID|--all [--json]", "stop a session and print its files",
	 "Writes the open window, then prints all files of the session, one path per line.\n"
	 "\nExample: profctl report $(profctl stop s1 | grep pb.gz)\n",
	 stop_run},
	{TASK_RECORD, "flush", "[ID] [--json]", "write the open window now and print its files",
	 "Returns when the files are durable. Without ID: all sessions that you may control.\n"
	 "\nExample: profctl flush\n",
	 flush_run},
	{TASK_RECORD, "collect",
	 "[-s SERVICE | --session ID | -p PID]\n"
	 "                       [--since T] [--until T] [--stored] [--times] [--json]\n"
	 "                       [--format pprof|legacy|collapsed] [-o FILE]",
	 "merge stored windows and the open one into one profile",
	 "Windows that overlap the range are merged; without -s, --session and -p those of the "
	 "whole\nmachine. Prints the file's name.\n"
	 "  -s, --service S     a service, or several: a,b or web-*\n"
	 "      --session ID    a session such as s1\n"
	 "  -p, --pid PID       a process, in any service\n"
	 "      --since T       start of the range: -2h30m, 14:03, yesterday 14:03 or RFC 3339\n"
	 "      --until T       end of the range\n"
	 "      --format F      pprof (the default), legacy (needs -p) or collapsed\n"
	 "  -o, --output FILE   instead of ./profd.pb.gz (.prof, .collapsed), or profd-2 ... if "
	 "there is one; - is standard output\n"
	 "      --stored        without the open window\n"
	 "      --times         with the 100 ms in which stacks were sampled\n"
	 "Without privileges: your own sessions, and your own running processes.\n"
	 "\nExample: profctl report --top $(profctl collect -s nginx.service --since -1h)\n",
	 collect_run},
	{TASK_FILES, "convert", "--to FORMAT [-o FILE] PROFILE...",
	 "convert profiles to another format, merged",
	 "  -t, --to FORMAT     pprof, legacy, collapsed, speedscope, firefox or otlp\n"
	 "  -o, --output FILE   instead of standard output\n"
	 "Legacy profiles have user frames only; collapsed stacks have names only.\n"
	 "\nExample: perf script | profctl convert --to pprof -o perf.pb.gz -\n",
	 convert_run},
	{TASK_FILES, "symbolize", "[--lines] [--debuginfod URL]... -o FILE PROFILE",
	 "add names to the addresses of a profile",
	 "Reads PROFILE (of any format that report reads; - is standard input) and writes it\n"
	 "as gzip'ed profile.proto, with names from the programs and libraries on this host.\n"
	 "Files whose build ids differ from the profile's are not used. Does not need profd.\n"
	 "      --lines            also source lines and inlined functions\n"
	 "      --debuginfod URL   fetch debug files that are not on this host from this server\n"
	 "  -o, --output FILE      - is standard output\n"
	 "\nExample: profctl symbolize --lines -o named.pb.gz profile.pb.gz\n",
	 symbolize_run},
	{TASK_PROFD, "status", "[-v] [-w] [--json]", "what profd does, and what it costs",
	 "Shows the rate, how many stacks are complete, profd's cost, the store, sessions and "
	 "warnings.\n"
	 "  -v, --verbose  all of it: what became of every tick (the ledger), and counters\n"
	 "  -w, --watch    refresh every two seconds\n"
	 "\nExample: profctl status --json | jq .ledger\n",
	 status_run},
	{TASK_PROFD, "doctor", "[--json]", "check what this host offers to profd",
	 "Does not need a running profd. One line per check: ok, warn (profd works, but not at\n"
	 "its best) or bad, with a remedy. Exit status 1 if anything is bad.\n"
	 "\nExample: sudo profctl doctor\n",
	 doctor_run},
	{TASK_PROFD, "config", "[--json]", "print the configuration in effect",
	 "Prints it as a configuration file.\n"
	 "\nExample: profctl config --json | jq .sampling.frequency\n",
	 plain_run},
	{TASK_PROFD, "pause", "[--for TIME]", "pause the system session",
	 "Until `profctl resume`. Sessions from `profctl start` continue.\n"
	 "      --for TIME   resume by itself after this time, e.g. 10m\n"
	 "\nExample: profctl pause --for 10m\n",
	 pause_run},
	{TASK_PROFD, "resume", "", "resume the system session", "\nExample: profctl resume\n",
	 plain_run},
	{TASK_PROFD, "epoch", "[--json]", "begin a new epoch of image profiles and print its name",
	 "\nExample: profctl epoch && systemctl restart myservice\n", plain_run},
	{TASK_PROFD, "export", "--to NAME --since T [--until T] [-s SERVICE]",
	 "send stored windows to a server",
	 "To a target of profd.conf ([export NAME]), which has new windows from profd-gateway as\n"
	 "they are written: this sends older ones, each once more if it has them already.\n"
	 "      --to NAME         the target\n"
	 "      --since T         from then on: a moment, or an age, e.g. -2h\n"
	 "      --until T         up to then; default: now\n"
	 "  -s, --service S       a service, or several and patterns; default: the target's\n"
	 "      --config FILE     default: /etc/profd/profd.conf\n"
	 "\nExample: profctl export --to pyroscope --since -2h --until -1h\n",
	 export_run},
	{TASK_PROFD, "vacuum", "[--max-age T] [--max-size S] [-n] [--json]",
	 "delete old profiles now",
	 "Limits that are not given are the configured ones; the newest windows of each service\n"
	 "are kept. Prints what was freed.\n"
	 "  -n, --dry-run      delete nothing, print what would be freed\n"
	 "      --max-age T    delete older profiles, e.g. 12h or 3d\n"
	 "      --max-size S   delete the oldest until the store is no larger, e.g. 500M\n"
	 "\nExample: profctl vacuum --max-size 500M\n",
	 vacuum_run},
	{0},
};
