# SPDX-License-Identifier: MIT
#
# awk -v out=DIRECTORY -f split.awk profctl.1: makes profctl(1), and a page of each verb, such as
# profctl-list(1), of the one source, so that no text is there twice.
#
# The source has a section (.Ss) per verb, which begins with a comment: its group and its summary,
# that of `profctl help`. What precedes and follows the sections of verbs, and what introduces a
# group of sections, is profctl(1)'s, which lists the verbs by group instead. In a verb's section
# come first the lines of its synopsis, up to the first paragraph that does not begin with .Nm.

BEGIN {
	n_groups = split("look record convert profd", groups)
	heading["look"] = "See where the time went"
	heading["record"] = "Record"
	heading["convert"] = "Work on files"
	heading["profd"] = "Run profd"
	part = "before"
}

function page_of(name) {
	return out "/profctl-" name ".1"
}

function put(line) {
	print line > page_of(verb)
}

# In another page than profctl(1) the name is not the page's, nor is a section of that page here.
function put_body(line) {
	if (line ~ /^\.Nm( [.,:;)]+)*$/)
		sub(/^\.Nm/, ".Nm profctl", line)
	sub(/^\.Sx ENVIRONMENT/, ".Xr profctl 1", line)
	put(line)
}

function end_verb() {
	if (verb == "")
		return
	put(".Sh SEE ALSO")
	put(".Xr profctl 1")
	close(page_of(verb))
	verb = ""
}

function begin_verb(group, summary) {
	verb = wanted
	state = "synopsis"
	list[group] = list[group] ".It Xr profctl-" verb " 1\n" summary "\n"
	put(".\\\" SPDX-License-Identifier: MIT")
	put(date)
	put(".Dt PROFCTL-" toupper(verb) " 1")
	put(".Os profd")
	put(".Sh NAME")
	put(".Nm profctl-" verb)
	put(".Nd " summary)
	put(".Sh SYNOPSIS")
}

/^\.Dd / { date = $0 }

/^\.Sh / {
	end_verb()
	if ($2 == "SESSIONS")
		part = "between"
	if ($2 == "ENVIRONMENT")
		part = "after"
	section = $0
	next_is_new = part == "between"
	if (!next_is_new)
		text[part] = text[part] $0 "\n"
	next
}

/^\.Ss / && part == "between" {
	# Whether a verb begins here its comment tells.
	wanted = substr($0, 5)
	pending = $0
	next
}

pending != "" {
	if ($0 ~ /^\.\\" @[a-z]+ /) {
		end_verb()
		group = substr($2, 2)
		summary = $0
		sub(/^[^@]*@[a-z]+ /, "", summary)
		begin_verb(group, summary)
		pending = ""
		next
	}
	put_body(pending)
	pending = ""
}

verb != "" && state == "synopsis" && $0 == ".Pp" { state = "gap"; next }
verb != "" && state == "gap" {
	state = $0 == ".Nm" ? "synopsis" : "body"
	if (state == "body")
		put(".Sh DESCRIPTION")
	else
		put(".Pp")
}
verb != "" { put_body($0); next }

part == "between" {
	if (next_is_new)
		text[part] = text[part] section "\n"
	next_is_new = 0
}
{ text[part] = text[part] $0 "\n" }

END {
	end_verb()
	main = out "/profctl.1"
	printf "%s.Sh VERBS\n", text["before"] > main
	print "Each verb has a page of its own." > main
	for (i = 1; i <= n_groups; i++) {
		printf ".Ss %s\n", heading[groups[i]] > main
		printf ".Bl -tag -width profctl-symbolize(1) -compact\n%s.El\n", list[groups[i]] > main
	}
	printf "%s%s", text["between"], text["after"] > main
}
