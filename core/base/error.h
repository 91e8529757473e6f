/* SPDX-License-Identifier: Apache-2.0
 *
 * Error codes and their messages. Any thread; an nb_error belongs to its caller.
 *
 * Functions that can fail return 0 or one of the negative codes below. Many have an optional last
 * argument `struct nb_error *`, which may be NULL; the function that finds the fault fills it. The
 * libraries (core, tokenizer, config) never log and never exit.
 */
#ifndef NB_CORE_BASE_ERROR_H
#define NB_CORE_BASE_ERROR_H

#include <stdbool.h>

enum nb_code {
    NB_OK = 0,
    NB_NO_MEMORY = -1,   /* an allocation failed */
    NB_INVALID = -2,     /* malformed input: syntax, type, unknown or missing member */
    NB_UNUSABLE = -3,    /* well-formed input whose value cannot be used (empty label, range) */
    NB_TOO_LARGE = -4,   /* input over a named limit */
    NB_NOT_FOUND = -5,   /* no such model, label, document, file */
    NB_CONFLICT = -6,    /* the state forbids it */
    NB_UNSUPPORTED = -7, /* unknown charset, media type or encoding */
    NB_IO = -8,          /* the operating system refused a read or a write */
    NB_DISK_FULL = -9,   /* no space left; nothing was changed */
    NB_CORRUPT = -10,    /* stored bytes are damaged */
    NB_VERSION = -11,    /* a format newer than this program knows */
    NB_LOCKED = -12,     /* another process owns the data */
    NB_STOPPING = -13,   /* the engine no longer takes changes */
    NB_EXISTS = -14,     /* something of this name is already there */
    NB_UNKNOWN = -15,    /* the caller has no token, or an unknown one */
    NB_FORBIDDEN = -16,  /* the caller is known, but not allowed to do it */
    NB_DAMAGED = -17,   /* the stored bytes of a model are damaged; other models are not affected */
    NB_BUSY = -18,      /* the caller asks for too much at once; it may retry later */
    NB_ELSEWHERE = -19, /* this node is configured not to have it; other nodes may have it */
};

#define NB_ERROR_TEXT 320

struct nb_error {
    int code; /* one of enum nb_code */
    /* One sentence without a final full stop, which says what is wrong and how to correct it. */
    char text[NB_ERROR_TEXT];
    const char *name; /* a constant: what is at fault more exactly than `code` says, for programs
                         (server/base/problem.h lists the names); NULL: `code` is all */
    char param[64];   /* the parameter or member at fault, cut if it is longer; "": none */
};

/* Fills `error`, which may be NULL, with `code` and a sentence formatted as by printf. A sentence
 * that is too long is cut between characters. Returns `code`, so that one statement reports a
 * fault: return nb_error_set(error, NB_INVALID, "line %zu: ...", line); */
int nb_error_set(struct nb_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the name and the parameter (NULL: none) to the error that was set last. Returns `code`, so
 * that one statement does both:
 *     return nb_error_about(error, nb_error_set(error, NB_INVALID, "..."), NULL, "limit"); */
int nb_error_about(struct nb_error *error, int code, const char *name, const char *param);

/* Fills `error` for a failed allocation. Returns NB_NO_MEMORY. */
int nb_error_no_memory(struct nb_error *error);

/* Fills `error` for an errno value. The code is NB_DISK_FULL for ENOSPC and EDQUOT, NB_NO_MEMORY
 * for ENOMEM, NB_NOT_FOUND for ENOENT, NB_IO for all others. The text is `what`, ": " and strerror.
 * Returns the code. */
int nb_error_errno(struct nb_error *error, int errno_value, const char *what);

/* Whether a code describes the present state of this machine and not a fault of the request: the
 * same request may succeed later, or elsewhere. */
static inline bool nb_error_is_passing(int code)
{
    return code == NB_NO_MEMORY || code == NB_IO || code == NB_DISK_FULL || code == NB_STOPPING ||
           code == NB_BUSY || code == NB_CORRUPT;
}

#endif
