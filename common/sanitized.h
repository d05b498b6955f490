/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SANITIZED_H
#define PROFD_COMMON_SANITIZED_H

/* Whether this build has sanitizers, which need address space without end and some more calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Whether each process has one thread more, and so can make no user namespace. */
#define HAS_THREAD_SANITIZER 0
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 1
#endif
#endif

#endif
