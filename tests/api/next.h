/* SPDX-License-Identifier: Apache-2.0
 *
 * For libraries that are preloaded into a daemon and replace functions of the C library; included
 * before anything else. Offsets have 64 bits in their source on every machine.
 */
#ifndef TESTS_API_NEXT_H
#define TESTS_API_NEXT_H

#define _GNU_SOURCE
#if __SIZEOF_LONG__ == 4
#define _FILE_OFFSET_BITS 64 /* elsewhere it would give the functions other names */
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the function `name` of the C library, which is never absent. */
static inline void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        (void)fprintf(stderr, "the C library has no %s\n", name);
        _exit(70);
    }
    return found;
}

/* The C library's function of files that is replaced here. The system itself takes offsets in
 * another way on each processor. */
#define NEXT(function) ((__typeof__(&(function)))next_of(#function "64"))

/* Where an offset had 32 bits once, a function with one of 64 bits has another name, and LMDB calls
 * the old one: it is defined as the new one. */
#if SIZE_MAX == UINT32_MAX
#define OLD(type, function, parameters, arguments)                                                 \
    type old_##function parameters __asm__(#function);                                             \
    type old_##function parameters                                                                 \
    {                                                                                              \
        return function arguments;                                                                 \
    }
#else
#define OLD(type, function, parameters, arguments)
#endif

#endif
