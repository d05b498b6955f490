/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_LEGACY_FRAMES_H
#define PROFD_COMMON_PROFILE_LEGACY_FRAMES_H

/*
 * drop_frames and keep_frames that go tool pprof gives to profiles in gperftools' formats: what
 * counted is not what is counted. The names are those of its profile/legacy_profile.go.
 */

/* libprofiler's signal handler; of profiles of everything that is not below. */
#define LEGACY_DROP_HANDLER \
	"(CpuProfiler|ProfileData)::prof_handler|ProfileData::Add|__pthread_sighandler|__restore"

/* Allocators; but not what Go's runtime calls functions by. */
#define LEGACY_DROP_ALLOCATOR                                                              \
	"(tc_)?(c|m|re|v|pv)alloc|(tc_)?c?free|(do_|tc_)?memalign|(__|tc_)?posix_memalign" \
	"|tc_(new|delete)(array)?|tc_new(array)?_nothrow|tcmalloc::.*|__libc_malloc"       \
	"|malloc_zone_(malloc|calloc|valloc|realloc|memalign|free)|runtime\\..*"           \
	"|(::)?do_malloc(_no_errno|_pages)?|DoSampledAllocation|BaseArena::.*"             \
	"|MallocedMemBlock::MallocedMemBlock|operator new(\\[\\])?"                        \
	"|__builtin_(vec_)?(new|delete)|_M_allocate|cpp_alloc"                             \
	"|((__gnu_cxx::new_allocator|__malloc_alloc_template|simple_alloc)::)?allocate"
#define LEGACY_KEEP_ALLOCATOR "runtime\\.(panic|reflectcall|call[0-9]*)"

/* What releases locks, and counts who waited. */
#define LEGACY_DROP_LOCK                                                            \
	"(base::)?(RecordLockProfileData|Submit(Mutex|SpinLock)ProfileData).*"      \
	"|((base::)?Mutex::)?(AwaitCommon|Unlock|ReaderUnlock).*"                   \
	"|((base::)?MutexLock::)?~MutexLock.*|(SpinLockHolder::)?~SpinLockHolder.*" \
	"|(SpinLock::)?(Unlock|SlowUnlock).*"

#endif
