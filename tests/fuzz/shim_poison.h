/* SPDX-License-Identifier: MIT
 *
 * shim_poison.h - memory that nobody may touch, where the build has AddressSanitizer; else nothing.
 *
 * Tests only.
 */
#ifndef FUZZ_SHIM_POISON_H
#define FUZZ_SHIM_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHIM_HAS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SHIM_HAS_ASAN 1
#endif

#ifdef SHIM_HAS_ASAN
#include <sanitizer/asan_interface.h>
#define poison(data, len) __asan_poison_memory_region(data, len)
#define unpoison(data, len) __asan_unpoison_memory_region(data, len)
#else
static inline void poison(const void *data, size_t len)
{
	(void)data;
	(void)len;
}

static inline void unpoison(const void *data, size_t len)
{
	(void)data;
	(void)len;
}
#endif

#endif
