/* SPDX-License-Identifier: Apache-2.0
 *
 * The assembler includes the file as it is (.incbin), which gcc and clang both support. Paths are
 * relative to the top of the tree, where make runs.
 */
#include "server/api/openapi.h"

__asm__(".section .rodata\n"
        ".global nb_openapi_begin\n"
        ".hidden nb_openapi_begin\n"
        "nb_openapi_begin:\n"
        ".incbin \"server/api/openapi.json\"\n"
        ".global nb_openapi_end\n"
        ".hidden nb_openapi_end\n"
        "nb_openapi_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char nb_openapi_begin[] __attribute__((visibility("hidden")));
extern const char nb_openapi_end[] __attribute__((visibility("hidden")));

struct nb_string nb_openapi(void)
{
    return (struct nb_string){nb_openapi_begin, (size_t)(nb_openapi_end - nb_openapi_begin)};
}
