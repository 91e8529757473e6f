/* SPDX-License-Identifier: Apache-2.0
 *
 * What is encoded in a mail, decoded by GMime, which only mail_decode.c includes: encoded words,
 * parameters of header fields, transfer encodings. Any thread. Whatever the bytes, these find
 * something to return.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_DECODE_H
#define NB_TOKENIZER_MAIL_MAIL_DECODE_H

#include <stddef.h>

#include "core/base/buffer.h"

enum {
    NB_MAIL_MEDIA = 80,      /* bytes of "type/subtype", each as RFC 6838 bounds it in practice */
    NB_MAIL_CHARSET = 48,    /* of a charset's name */
    NB_MAIL_TRANSFER = 24,   /* of a transfer encoding's name */
    NB_MAIL_BOUNDARY = 256,  /* of a boundary */
    NB_MAIL_FILE_NAME = 256, /* of a file name, in UTF-8 */
    NB_MAIL_FIELD = 65536    /* of one header field that is read */
};

enum nb_mail_encoding {
    NB_MAIL_IDENTITY, /* 7bit, 8bit, binary, none and unknown ones */
    NB_MAIL_QUOTED_PRINTABLE,
    NB_MAIL_BASE64,
    NB_MAIL_UUENCODE
};

/* What the header of a part says about its content; C strings, "" for what it does not say. */
struct nb_mail_type {
    char media[NB_MAIL_MEDIA]; /* lower-case */
    char charset[NB_MAIL_CHARSET];
    char boundary[NB_MAIL_BOUNDARY];
    char file_name[NB_MAIL_FILE_NAME];
    char transfer[NB_MAIL_TRANSFER]; /* Content-Transfer-Encoding as it stands */
    enum nb_mail_encoding encoding;
};

/* Prepares and releases the MIME library (see nb_tokenizer_setup). */
void nb_mail_decode_setup(void);
void nb_mail_decode_teardown(void);

/* Read the values of Content-Type, Content-Disposition and Content-Transfer-Encoding into `type`,
 * parameters after RFC 2231 and RFC 2047. */
void nb_mail_read_type(struct nb_mail_type *type, struct nb_string value);
void nb_mail_read_disposition(struct nb_mail_type *type, struct nb_string value);
void nb_mail_read_encoding(struct nb_mail_type *type, struct nb_string value);

/* Appends the unfolded value of a header field with its encoded words (RFC 2047) decoded to UTF-8;
 * a value without any is appended as it is, in whatever charset. At most NB_MAIL_FIELD bytes of it
 * are read. Returns 0 or NB_NO_MEMORY. */
int nb_mail_decode_words(struct nb_string value, struct nb_buffer *out);

/* Appends a body with its transfer encoding undone, as far as it can be. Returns 0 or
 * NB_NO_MEMORY. */
int nb_mail_decode_body(enum nb_mail_encoding encoding, struct nb_string body,
                        struct nb_buffer *out);

#endif
