/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts for libmilter. Pure function; any thread.
 */
#ifndef NB_MILTER_LIBMILTER_TEXT_H
#define NB_MILTER_LIBMILTER_TEXT_H

/* For parameters that libmilter declares as char * and only reads. */
static inline char *nb_milter_text(const char *text)
{
    union {
        const char *given;
        char *taken;
    } both = {.given = text};
    return both.taken;
}

#endif
