/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_API_PRINT_H
#define PROFD_CLIENT_GATEWAY_API_PRINT_H

/* What profd answers, as JSON. Pure; errors stay in the stream. */
#include <stdint.h>
#include <stdio.h>

#include "control.pb-c.h"

void api_print_machine(FILE *out, const Profd__Control__Response *response, uint64_t now_ns);
void api_print_usage(FILE *out, const Profd__Control__Response *response, uint64_t now_ns);

#endif
