/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells clang-tidy, which sees one file at a time, that the functions that report an error return a
 * code that is not 0: without it, it follows failures into the code behind `if (rc == 0)`.
 * Only the linter includes this (see the Makefile).
 */
#ifndef NB_SCRIPTS_ERROR_MODEL_H
#define NB_SCRIPTS_ERROR_MODEL_H

#include "core/base/error.h"

#define nb_error_set(error, code, ...) (nb_error_set(error, code, __VA_ARGS__), (code))
#define nb_error_about(error, code, name, param) (nb_error_about(error, code, name, param), (code))
#define nb_error_no_memory(error) (nb_error_no_memory(error), NB_NO_MEMORY)
#define nb_error_errno(error, number, what) (nb_error_errno(error, number, what), NB_IO)

#endif
