/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes the encoded parts of a mail with GMime, which only mail_decode.c includes: encoded words,
 * parameters of header fields, transfer encodings. Any thread. No input is an error.
 */
#ifndef NB_TOKENIZER_MAIL_DECODE_H
#define NB_TOKENIZER_MAIL_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

enum {
    NB_MAIL_MEDIA = 80,     /* bytes of "type/subtype" */
    NB_MAIL_CHARSET = 48,   /* bytes of a charset's name */
    NB_MAIL_TRANSFER = 24,  /* bytes of a transfer encoding's name */
    NB_MAIL_BOUNDARY = 256, /* bytes of a boundary */
    NB_MAIL_FILE_NAME = 256 /* bytes of a file name, in UTF-8 */
};

enum nb_mail_encoding {
    NB_MAIL_IDENTITY, /* 7bit, 8bit, binary; also a missing or unknown encoding */
    NB_MAIL_QUOTED_PRINTABLE,
    NB_MAIL_BASE64,
    NB_MAIL_UUENCODE
};

/* The header fields of a part about its content. C strings; "" for a missing one. */
struct nb_mail_type {
    char media[NB_MAIL_MEDIA]; /* lower-case */
    char charset[NB_MAIL_CHARSET];
    char boundary[NB_MAIL_BOUNDARY];
    char file_name[NB_MAIL_FILE_NAME];
    char transfer[NB_MAIL_TRANSFER]; /* the word of Content-Transfer-Encoding */
    enum nb_mail_encoding encoding;
    bool is_flowed; /* lines are to be joined: format=flowed with delsp=yes (RFC 3676) */
};

/* Prepare and release the MIME library (see nb_tokenizer_setup). */
void nb_mail_decode_setup(void);
void nb_mail_decode_teardown(void);

/* Read the value of Content-Type, Content-Disposition or Content-Transfer-Encoding into `type`.
 * Parameters are decoded (RFC 2231, RFC 2047). */
void nb_mail_read_type(struct nb_mail_type *type, struct nb_string value);
void nb_mail_read_disposition(struct nb_mail_type *type, struct nb_string value);
void nb_mail_read_encoding(struct nb_mail_type *type, struct nb_string value);

/* Sets is_flowed by the parameters format and delsp of text/plain. */
void nb_mail_read_flowed(struct nb_mail_type *type, struct nb_string format,
                         struct nb_string delsp);

/* Appends a body with its transfer encoding undone as far as possible. Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_decode_body(enum nb_mail_encoding encoding, struct nb_string body,
                        struct nb_buffer *out);

#endif
