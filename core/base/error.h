/* SPDX-License-Identifier: Apache-2.0
 *
 * Error codes and the message that goes with them. Any thread; an nb_error belongs to its caller.
 *
 * Functions that can fail return 0 or one of the negative codes below and, where the caller may
 * want to know more, fill an optional last argument `struct nb_error *` (NULL is allowed) at the
 * place where the fault is found. Libraries (core, tokenizer, config) never log and never exit.
 */
#ifndef NB_CORE_BASE_ERROR_H
#define NB_CORE_BASE_ERROR_H

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
    NB_CORRUPT = -10,    /* stored bytes do not read back as what they should be */
    NB_VERSION = -11,    /* a format newer than this program knows */
    NB_LOCKED = -12,     /* another process owns the data */
    NB_STOPPING = -13,   /* the engine no longer takes changes */
    NB_EXISTS = -14,     /* something of this name is already there */
    NB_UNKNOWN = -15,    /* it is not known who asks, or he is nobody */
    NB_FORBIDDEN = -16,  /* it is known, and he may not */
    NB_DAMAGED = -17,    /* a model whose stored bytes are damaged; others are not concerned */
};

#define NB_ERROR_TEXT 320

struct nb_error {
    int code; /* one of enum nb_code */
    char
        text[NB_ERROR_TEXT]; /* one sentence without a final point: what was wrong, what is right */
};

/* Fills `error` (may be NULL) with `code` and a printf-formatted sentence, cut to fit on a UTF-8
 * boundary. Returns `code`, so that a fault is reported in one statement:
 *     return nb_error_set(error, NB_INVALID, "line %zu: ...", line); */
int nb_error_set(struct nb_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an out-of-memory condition. Returns NB_NO_MEMORY. */
int nb_error_no_memory(struct nb_error *error);

/* Maps an errno value to a code: ENOSPC and EDQUOT to NB_DISK_FULL, ENOMEM to NB_NO_MEMORY,
 * ENOENT to NB_NOT_FOUND, others to NB_IO; the text is "`what`: strerror". Returns the code. */
int nb_error_errno(struct nb_error *error, int errno_value, const char *what);

#endif
