/* SPDX-License-Identifier: MIT */
#include "client/analysis/view.h"

#include <string.h>

#include "common/profile/profile.h"

int report_view_new(struct view **ret, const struct view_class *class,
		    const struct view_options *options, struct profile_message *message)
{
	struct view_options defaults;

	if (!options) {
		view_options_init(&defaults);
		options = &defaults;
	}
	return class->make(ret, options, message);
}

void report_view_free(struct view *view)
{
	if (view)
		view->class->destroy(view);
}

int report_view_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	return view->class->add(view, input, stack);
}

int report_view_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		    struct profile_message *message)
{
	return view->class->end(view, input, out, ret_again, message);
}

void view_options_init(struct view_options *options)
{
	*options = (struct view_options){
		.unit = "minimum",
		.divide_by = 1,
		.nodecount = VIEW_NODECOUNT_DEFAULT,
		.nodefraction = .005,
		.edgefraction = .001,
	};
}

bool view_is_base_label(const struct profile *p, const struct profile_label *label)
{
	return label->str && strcmp(profile_string(p, label->key), "pprof::base") == 0;
}
