/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface to the compiler (libashlar-compiler). Ownership, errors and
 * threads are those of ashlar/Api/C/Runtime.h.
 */

#ifndef ASHLAR_API_C_COMPILER_H
#define ASHLAR_API_C_COMPILER_H

#include "ashlar/Api/C/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a compilation gave: a program and texts about it. */
typedef struct ashlar_compiled ashlar_compiled;

/* A model and what goes with it. Set it to zero first; fields are only added at
 * the end. */
typedef struct ashlar_model {
  size_t size;      /* sizeof(ashlar_model) */
  const char *path; /* of the file, or what messages call the bytes */
  const void *data; /* the model itself, or null */
  size_t bytes;
  const ashlar_array *calibration; /* samples by input name */
  size_t num_calibration;
  const ashlar_array *constants; /* graph inputs that become constants */
  size_t num_constants;
} ashlar_model;

/* Compiles an ONNX model. Options (may be null) are those of ashlarc without
 * dashes, as `machine`, `format`, `batch`; switches have the value `true`. */
ashlar_code ashlar_compile(const ashlar_model *model,
                           const ashlar_options *options, ashlar_compiled **out,
                           ashlar_error **error);

/* The program, which is the caller's from then on; null if it was taken. */
ashlar_program *ashlar_compiled_take_program(ashlar_compiled *compiled);
/* The report of ashlarc, JSON. */
const char *ashlar_compiled_report(const ashlar_compiled *compiled);
/* The formats that were compiled, JSON. */
const char *ashlar_compiled_formats(const ashlar_compiled *compiled);
void ashlar_compiled_destroy(ashlar_compiled *compiled);

#ifdef __cplusplus
}
#endif

#endif /* ASHLAR_API_C_COMPILER_H */
