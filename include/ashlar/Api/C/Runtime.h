/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface to compiled programs (libashlar-runtime): load, look at, run,
 * report. It stays compatible: functions, structures and values are added, none
 * changes (ASHLAR_API_VERSION counts additions).
 *
 * Ownership: what a function stores through an `out` pointer is the caller's,
 * who gives it back to the `_destroy` function of its type; null is allowed
 * there. Pointers that a function returns, and those inside an ashlar_array
 * that it filled, belong to the object that was asked and live as long as it
 * does. Arguments are read during the call only.
 *
 * Errors: functions return ASHLAR_OK or a code. If `error` is not null, it
 * becomes an object with the code and a message; it is set to null on success.
 * A null pointer where an object is needed is ASHLAR_USAGE, never a crash.
 *
 * Threads: different objects may be used at the same time; runs of one program
 * wait for each other.
 */

#ifndef ASHLAR_API_C_RUNTIME_H
#define ASHLAR_API_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the interface at compile time. */
#define ASHLAR_API_VERSION 2

/* Version of the interface that the library has; at least that of the header.
 */
int ashlar_api_version(void);
/* Version of Ashlar, "0.1.0". */
const char *ashlar_version(void);

/* The values are the exit codes of the tools. */
typedef enum ashlar_code {
  ASHLAR_OK = 0,
  ASHLAR_INTERNAL = 1,    /* a bug of Ashlar: please report it */
  ASHLAR_USAGE = 2,       /* a wrong option, name or argument */
  ASHLAR_UNSUPPORTED = 3, /* well formed, but outside what is compiled or run */
  ASHLAR_MALFORMED = 4,   /* a file or array that is not what it claims to be */
  ASHLAR_CAPACITY = 5, /* more memory or space than there is or was allowed */
  ASHLAR_MISMATCH = 6  /* computed and expected results differ */
} ashlar_code;

/* Types of elements, little endian. */
typedef enum ashlar_type {
  ASHLAR_F32 = 0,
  ASHLAR_F16 = 1,
  ASHLAR_BF16 = 2,
  ASHLAR_I8 = 3,
  ASHLAR_U8 = 4,
  ASHLAR_I16 = 5,
  ASHLAR_U16 = 6,
  ASHLAR_I32 = 7,
  ASHLAR_U32 = 8,
  ASHLAR_I64 = 9,
  ASHLAR_U64 = 10,
  ASHLAR_BOOL = 11, /* one byte, 0 or 1 */
  ASHLAR_F64 = 12
} ashlar_type;

/* An array, row major without gaps. */
typedef struct ashlar_array {
  const char *name;
  ashlar_type type;
  int32_t rank;
  const int64_t *shape; /* rank extents */
  const void *data;     /* null in descriptions of inputs and outputs */
  size_t bytes;
} ashlar_array;

typedef struct ashlar_error ashlar_error;
typedef struct ashlar_options ashlar_options;
typedef struct ashlar_program ashlar_program;
typedef struct ashlar_result ashlar_result;

/* Bytes of an element; 0 for an unknown type. */
size_t ashlar_type_size(ashlar_type type);

ashlar_code ashlar_error_code(const ashlar_error *error);
const char *ashlar_error_message(const ashlar_error *error);
void ashlar_error_destroy(ashlar_error *error);

/* Options by name and value; which ones there are depends on the function that
 * reads them, and it refuses others. Null if there is no memory. */
ashlar_options *ashlar_options_create(void);
ashlar_code ashlar_options_set(ashlar_options *options, const char *name,
                               const char *value, ashlar_error **error);
void ashlar_options_destroy(ashlar_options *options);

/* Loads a program from a file that ashlarc or ashlar_program_save wrote, or
 * from the bytes of one. Options (may be null): `machine` (another one than it
 * was compiled for: a name or a YAML file), `max-memory` (bytes). */
ashlar_code ashlar_program_load(const char *path, const ashlar_options *options,
                                ashlar_program **out, ashlar_error **error);
ashlar_code ashlar_program_from_bytes(const void *data, size_t bytes,
                                      const ashlar_options *options,
                                      ashlar_program **out,
                                      ashlar_error **error);
/* Writes the file whole or not at all. */
ashlar_code ashlar_program_save(const ashlar_program *program, const char *path,
                                ashlar_error **error);
/* The image of the file; null and 0 for a null program. */
const void *ashlar_program_bytes(const ashlar_program *program, size_t *bytes);
void ashlar_program_destroy(ashlar_program *program);

size_t ashlar_program_num_inputs(const ashlar_program *program);
size_t ashlar_program_num_outputs(const ashlar_program *program);
/* Describes input or output `index`: name, type, shape, bytes. */
ashlar_code ashlar_program_input(const ashlar_program *program, size_t index,
                                 ashlar_array *out, ashlar_error **error);
ashlar_code ashlar_program_output(const ashlar_program *program, size_t index,
                                  ashlar_array *out, ashlar_error **error);
const char *ashlar_program_model(const ashlar_program *program);
const char *ashlar_program_machine(const ashlar_program *program);

/* Runs once with every input, by name, in any order; axis 0 may be n times the
 * compiled one. Options (may be null): `threads`, `kernels`, `functional`
 * (`true`: no cycles), `timeline` (`true`: keeps it), `energy-table`. */
ashlar_code ashlar_program_run(ashlar_program *program,
                               const ashlar_array *inputs, size_t num_inputs,
                               const ashlar_options *options,
                               ashlar_result **out, ashlar_error **error);
/* What the scale policies `stats` and `predict` carry becomes what it was after
 * loading. */
void ashlar_program_reset_state(ashlar_program *program);

size_t ashlar_result_num_outputs(const ashlar_result *result);
ashlar_code ashlar_result_output(const ashlar_result *result, size_t index,
                                 ashlar_array *out, ashlar_error **error);
/* Cycles of the first sample; 0 if they were not counted. */
uint64_t ashlar_result_cycles(const ashlar_result *result);
size_t ashlar_result_num_warnings(const ashlar_result *result);
/* Null if there is no such warning. */
const char *ashlar_result_warning(const ashlar_result *result, size_t index);
/* The report of ashlar-run, JSON, until the result is destroyed. One thread at
 * a time may ask a result. */
ashlar_code ashlar_result_report(ashlar_result *result, const char **json,
                                 ashlar_error **error);
void ashlar_result_destroy(ashlar_result *result);

#ifdef __cplusplus
}
#endif

#endif /* ASHLAR_API_C_RUNTIME_H */
