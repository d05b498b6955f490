/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/complaint.h"

#include <microhttpd.h>
#include <stdio.h>

unsigned http_complaint_status(const char *line)
{
	unsigned status;
	char behind;

	if (sscanf(line, "Error processing request (HTTP response code is %3u%c", &status,
		   &behind) != 2 ||
	    behind != ' ' || status < 100 || status > 599)
		return 0;
	return status;
}

bool http_status_is_too_large(unsigned status)
{
	return status == MHD_HTTP_CONTENT_TOO_LARGE || status == MHD_HTTP_URI_TOO_LONG ||
	       status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
}
