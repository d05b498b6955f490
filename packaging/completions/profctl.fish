# SPDX-License-Identifier: MIT
# Completion of profctl(1) for fish. Verbs and options are those that `profctl help` names, so that
# they are those of the profctl on the command line. Services and sessions are asked of the profd
# that it would talk to, for two seconds at most.

function __profctl_ask
    timeout 2 $__profctl_words $argv 2>/dev/null </dev/null
end

# The texts by the key $argv[1] in what the verb $argv[2] says, a line each.
function __profctl_texts
    __profctl_ask $argv[2] --json | string match -rg '^ *"'$argv[1]'": "(.*)",?$' |
        string replace -ra '\\\\(["\\\\])' '$1' | sort -u
end

# What is typed of a value, behind --option= as well.
function __profctl_word
    commandline -ct | string replace -r '^--?[a-z_-]+=' ''
end

# The values of the option $argv[1] of the verb $argv[2]; 1: it takes none.
function __profctl_value
    set -l option $argv[1]
    if contains -- "$argv[2]" report diff
        set option (string replace -r '^-(?=[a-z][a-z])' -- -- $option)
    else if test "$argv[2]$option" = convert-t
        set option --to
    end
    switch $option
        case -s --service
            __profctl_texts service list
            systemctl list-units --type=service --plain --no-legend 2>/dev/null |
                string replace -r ' .*' ''
        case -p --pid
            __fish_complete_pids
        case -t --tid
            string replace -r '.*/' '' /proc/*/task/*
        case --uid
            getent passwd | string replace -r '^([^:]*):[^:]*:([0-9]+):.*' '$2\t$1'
        case --comm
            sort -u /proc/*/comm 2>/dev/null
        case --cgroup
            __fish_complete_directories (__profctl_word)
        case -e --event
            for event in cpu-clock task-clock cycles instructions cache-misses branch-misses \
                page-faults context-switches
                printf '%s\n' $event $event:u\t'user mode' $event:k\t'kernel mode'
            end
            printf '%s\n' off-cpu\t'waiting time' wall\t'CPU and waiting time'
        case --session
            __profctl_texts id status | string match -r '^s[0-9].*'
        case --format
            printf '%s\n' pprof legacy collapsed
        case --formats
            printf '%s\n' pprof legacy pprof,legacy
        case --to
            printf '%s\n' pprof legacy collapsed speedscope firefox otlp
        case --symbolize
            printf '%s\n' none local fastlocal remote force
        case --sample_index
            printf '%s\n' samples cpu latency off_cpu wall alloc_objects alloc_space inuse_objects inuse_space \
                contentions delay
        case --unit
            printf '%s\n' auto minimum ns us ms s B kB MB GB
        case --since --until
            printf '%s\n' now today yesterday -10m -1h -1d -1w
        case --socket
            __fish_complete_path (__profctl_word)
        case '*'
            set -l pattern "(?:^|[^A-Za-z0-9_-])$option(?:, --[a-z_-]+)?[ =]([A-Z]+)"
            set -l what (string match -rg -- $pattern $__profctl_help)
            or return
            switch $what[1]
                case FILE
                    __fish_complete_path (__profctl_word)
                case DIR DIRS
                    __fish_complete_directories (__profctl_word)
            end
    end
    return 0
end

# The options in the help $argv[2..], with what is said of them; their dashes are $argv[1].
function __profctl_options
    set -l options (string match -ra -- '(?:^|[][ |,])--?[A-Za-z][A-Za-z0-9_-]*' $argv[2..-1] |
        string replace -ra '[][ |,]' '' | sort -u)
    for option in $options
        set -l pattern "^ +(?:-[A-Za-z], )?$option(?:, --[a-z_-]+)?(?:[ =][A-Z]+)?  +(.*)"
        set -l said (string match -rg -- $pattern $argv[2..-1])
        printf '%s\t%s\n' (string replace -r '^--' -- $argv[1] $option) "$said[1]"
    end
end

function __profctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -g __profctl_words $words[1]
    set -l verb
    set -l i 2
    while test $i -le (count $words)
        switch $words[$i]
            case --socket
                set -a __profctl_words --socket $words[(math $i + 1)]
                set i (math $i + 1)
            case '--socket=*' --user
                set -a __profctl_words $words[$i]
            case '-*'
            case '*'
                set verb $words[$i]
                break
        end
        set i (math $i + 1)
    end
    if contains -- "$verb" run record
        set -l valued -F -d -e -o -p -s --frequency --duration --event --output --pid --service
        set i (math $i + 1)
        while test $i -le (count $words)
            switch $words[$i]
                case $valued
                    set i (math $i + 1)
                case --
                    set i (math $i + 1)
                    break
                case '-*'
                case '*'
                    break
            end
            set i (math $i + 1)
        end
        # What follows an option of run's is its value; $i is behind the end then.
        if test $i -le (count $words); or contains -- -- $words
            complete -C (string join ' ' -- (string escape -- $words[$i..-1]) $current)
            return
        end
        if not string match -q -- '-*' $current
            and not contains -- "$words[-1]" $valued
            complete -C "$current"
            return
        end
    end
    set -l helper $verb
    set -l without '^$'
    if test "$verb" = diff # its base is an operand
        set helper report
        set without '^$|(^|[ ,[])(-s|--(diff_)?base|--since)([ =]|$)|--(service|until|store)='
    end
    set -g __profctl_help (__profctl_ask help $helper | string match -rv -- $without |
        sed '/^Example/,$d')
    set -l option (string match -rg '^(--?[a-z_-]+)=' -- $current)
    if test -n "$option"
        string replace -r -- '^' "$option=" (__profctl_value $option $verb)
    else if string match -q -- '-*' "$words[-1]"; and __profctl_value $words[-1] "$verb"
        return
    else if string match -qr -- '^-[A-Za-z]' $current; and contains -- "$verb" report diff
        __profctl_options - $__profctl_help
    else if string match -q -- '-*' $current
        __profctl_options -- $__profctl_help
    else if test -z "$verb" -o "$verb" = help
        __profctl_ask help | string match -rg '^  ([a-z]+) +(.*)' | while read -l name
            read -l said
            printf '%s\t%s\n' $name $said
        end
    else if test "$verb" = start
        __fish_complete_pids
    else if test "$verb" = stop -o "$verb" = flush
        __profctl_value --session
    else if string match -qr -- 'PROFILE|BASE|IMAGE' $__profctl_help
        __fish_complete_path $current
    end
end

complete -c profctl -f -a '(__profctl_complete)'
