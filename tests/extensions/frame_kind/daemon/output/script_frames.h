/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SCRIPT_FRAMES_H
#define PROFD_OUTPUT_SCRIPT_FRAMES_H

#include "daemon/output/places.h"

extern const struct frame_class script_frames;

#endif
