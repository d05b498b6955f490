/* SPDX-License-Identifier: MIT */
/* For programs that were written for gperftools. */
#include <profd/profiler.h>
