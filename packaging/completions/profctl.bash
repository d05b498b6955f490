# SPDX-License-Identifier: MIT
# Completion of profctl(1) for bash, by bash-completion. Verbs and options are those that `profctl
# help` names, so that they are those of the profctl on the command line. Services and sessions are
# asked of the profd that it would talk to, for two seconds at most.

# Those of the lines on standard input that $cur begins, quoted where they need it.
_profctl_choose()
{
	local line quoted

	while IFS= read -r line; do
		quoted=$line
		[[ $line != *[!A-Za-z0-9@%+=:,./_-]* ]] || printf -v quoted %q "$line"
		[[ $line != "$cur"* && $quoted != "$cur"* ]] || COMPREPLY+=("$quoted")
	done
	[[ $cur != *:* ]] || __ltrim_colon_completions "$cur"
}

_profctl_ask()
{
	timeout 2 "${ask[@]}" "$@" 2>/dev/null </dev/null
}

# A text of JSON by its key, a line each.
_profctl_texts()
{
	sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" | sed 's/\\\(["\\]\)/\1/g' | sort -u
}

_profctl_services()
{
	{
		_profctl_ask list --json | _profctl_texts service
		systemctl list-units --type=service --plain --no-legend 2>/dev/null | sed 's/ .*//'
	} | sort -u
}

_profctl_sessions()
{
	_profctl_ask status --json | _profctl_texts id | grep '^s[0-9]'
}

# One's own, or for root all.
_profctl_pids()
{
	local folder

	for folder in /proc/[0-9]*; do
		[[ $EUID -ne 0 && ! -O $folder ]] || echo "${folder#/proc/}"
	done
}

_profctl_events()
{
	local event

	for event in cpu-clock task-clock cycles instructions cache-misses branch-misses \
		page-faults context-switches; do
		printf '%s\n' "$event" "$event:u" "$event:k"
	done
	printf '%s\n' off-cpu wall
}

# The options in $help; what begins with one dash has one, where that is as good as two.
_profctl_options()
{
	local dashes=--

	[[ $cur != -[A-Za-z]* || $verb != @(report|diff) ]] || dashes=-
	grep -oE '(^|[][ |,])--?[A-Za-z][A-Za-z0-9_-]*' <<<"$help" | tr -d '][ |,' |
		sed "s/^--/$dashes/" | sort -u
}

# The values of option $1; 1: it takes none.
_profctl_value()
{
	[[ $verb != @(report|diff) || $1 != -[a-z][a-z]* ]] || set -- "-$1"
	[[ $verb$1 != convert-t ]] || set -- --to
	case $1 in
	-s | --service) _profctl_choose < <(_profctl_services) ;;
	-p | --pid) _profctl_choose < <(_profctl_pids) ;;
	-t | --tid) _profctl_choose < <(ls -d /proc/[0-9]*/task/[0-9]* 2>/dev/null | sed 's,.*/,,') ;;
	--uid) _profctl_choose < <(getent passwd | cut -d: -f3) ;;
	--comm) _profctl_choose < <(sort -u /proc/[0-9]*/comm 2>/dev/null) ;;
	--cgroup) _filedir -d ;;
	-e | --event) _profctl_choose < <(_profctl_events) ;;
	--session) _profctl_choose < <(_profctl_sessions) ;;
	--format) _profctl_choose <<<$'pprof\nlegacy\ncollapsed' ;;
	--formats) _profctl_choose <<<$'pprof\nlegacy\npprof,legacy' ;;
	--to) _profctl_choose <<<$'pprof\nlegacy\ncollapsed\nspeedscope\nfirefox\notlp' ;;
	--symbolize) _profctl_choose <<<$'none\nlocal\nfastlocal\nremote\nforce' ;;
	--sample_index)
		_profctl_choose < <(printf '%s\n' samples cpu latency off_cpu wall alloc_objects alloc_space \
			inuse_objects inuse_space contentions delay)
		;;
	--unit) _profctl_choose < <(printf '%s\n' auto minimum ns us ms s B kB MB GB) ;;
	--since | --until) _profctl_choose <<<$'now\ntoday\nyesterday\n-10m\n-1h\n-1d\n-1w' ;;
	--socket) _filedir ;;
	*)
		[[ $help =~ (^|[^A-Za-z0-9_-])"$1"(, --[a-z_-]+)?[\ =]([A-Z]+) ]] || return
		case ${BASH_REMATCH[3]} in
		FILE) _filedir ;;
		DIR | DIRS) _filedir -d ;;
		esac
		;;
	esac
}

# Where the command of `run` or `record` begins; 1: not yet.
_profctl_find_command()
{
	local i

	for ((i = $1; i <= cword; i++)); do
		case ${words[i]} in
		-[Fdeops] | --frequency | --output | --duration | --event | --pid | --service)
			((i++))
			;;
		--)
			((i++ < cword)) && at=$i
			return
			;;
		-*) ;;
		*)
			at=$i
			return
			;;
		esac
	done
	return 1
}

_profctl()
{
	local cur prev words cword split verb= help= at i
	local -a ask

	_init_completion -s -n : || return
	ask=("${words[0]/#\~\//$HOME/}")
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		--socket)
			ask+=(--socket "${words[i + 1]/#\~\//$HOME/}")
			((i++))
			;;
		--socket=* | --user) ask+=("${words[i]}") ;;
		-*) ;;
		*)
			verb=${words[i]}
			break
			;;
		esac
	done
	if [[ $verb == @(run|record) ]] && _profctl_find_command $((i + 1)); then
		_command_offset "$at"
		return
	fi
	# Neither the verb nor what belongs to nothing has a help: then it is that of profctl.
	help=$(_profctl_ask help ${verb/#diff/report})
	help=${help%%$'\nExample'*}
	# Its base is an operand.
	[[ $verb != diff ]] || help=$(sed -E '/(^|[ ,[])(-s|--(diff_)?base|--since)([ =]|$)/d
		/--(service|until|store)=/d' <<<"$help")
	if [[ $prev == -* ]] && _profctl_value "$prev"; then
		return
	elif [[ $split == true ]]; then
		return
	elif [[ $cur == -* ]]; then
		_profctl_choose < <(_profctl_options)
	elif [[ -z $verb || $verb == help ]]; then
		_profctl_choose < <(_profctl_ask help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p')
	elif [[ $verb == start ]]; then
		_profctl_choose < <(_profctl_pids)
	elif [[ $verb == stop || $verb == flush ]]; then
		_profctl_choose < <(_profctl_sessions)
	elif [[ $help =~ PROFILE|BASE|IMAGE ]]; then
		_filedir
	fi
} &&
	complete -F _profctl profctl
