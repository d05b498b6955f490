/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SCRIPT_FRAMES_H
#define PROFD_OUTPUT_SCRIPT_FRAMES_H

#include "daemon/output/places.h"

frame_placer script_frames_place;

#endif
