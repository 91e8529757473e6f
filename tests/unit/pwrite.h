/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that replace pwrite: the C library's, which it hides. The system call takes its offset
 * in other ways on 32-bit arm.
 */
#ifndef TESTS_UNIT_PWRITE_H
#define TESTS_UNIT_PWRITE_H

#include <dlfcn.h>
#include <unistd.h>

static inline ssize_t test_pwrite(int file, const void *bytes, size_t size, off_t at)
{
    ssize_t (*next)(int, const void *, size_t, off_t);
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "pwrite64"); /* with 64 bits everywhere */
    return next(file, bytes, size, at);
}

#endif
