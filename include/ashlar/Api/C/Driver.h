/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host's side of several accelerators (libashlar-runtime): keeps compiled
 * programs, starts runs of them, says how far they are, and takes their
 * results. Ownership, errors and null pointers as in Runtime.h; functions may
 * be called by any thread. Since version 2 of the interface.
 *
 * Structures begin with their size, which the caller sets to sizeof the
 * structure, so that they can grow.
 */

#ifndef ASHLAR_API_C_DRIVER_H
#define ASHLAR_API_C_DRIVER_H

#include "ashlar/Api/C/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ashlar_driver ashlar_driver;

/* How far a run is; the last three are final. */
typedef enum ashlar_run_state {
  ASHLAR_RUN_WAITING = 0,
  ASHLAR_RUN_RUNNING = 1,
  ASHLAR_RUN_DONE = 2,
  ASHLAR_RUN_SKIPPED = 3,
  ASHLAR_RUN_FAILED = 4
} ashlar_run_state;

typedef enum ashlar_comparison {
  ASHLAR_LESS = 0,
  ASHLAR_LESS_OR_EQUAL = 1,
  ASHLAR_GREATER = 2,
  ASHLAR_GREATER_OR_EQUAL = 3,
  ASHLAR_EQUAL = 4,
  ASHLAR_NOT_EQUAL = 5
} ashlar_comparison;

/* An output of an earlier run becomes an input of this one. */
typedef struct ashlar_feed {
  const char *input;
  uint64_t run;
  const char *output;
} ashlar_feed;

/* What a run is started with. A run with a condition, `condition_output` not
 * null, begins only if that output of an earlier run, which has one element,
 * compares so with `condition_value`; otherwise it is skipped. */
typedef struct ashlar_start {
  size_t size;
  uint32_t program;
  const ashlar_array *inputs;
  size_t num_inputs;
  const ashlar_feed *feeds;
  size_t num_feeds;
  uint64_t condition_run;
  const char *condition_output;
  ashlar_comparison comparison;
  double condition_value;
  /* As for ashlar_program_run; may be null. */
  const ashlar_options *options;
} ashlar_start;

/* A transfer between the host and the DRAM of an accelerator. */
typedef struct ashlar_descriptor {
  size_t size;
  int32_t to_device;  /* 1: input, 0: output */
  const char *tensor; /* lives as long as the driver */
  uint64_t address;
  uint64_t bytes;
} ashlar_descriptor;

/* When a run used an accelerator, in cycles. */
typedef struct ashlar_span {
  size_t size;
  uint32_t accelerator;
  uint64_t begin;
  uint64_t end;
} ashlar_span;

/* Options (may be null): `accelerators` (1 to 64, default 1), `dram` (bytes of
 * each accelerator for all programs together, default no limit). */
ashlar_code ashlar_driver_create(const ashlar_options *options,
                                 ashlar_driver **out, ashlar_error **error);
/* Abandons runs that wait, and waits for those that are under way. */
void ashlar_driver_destroy(ashlar_driver *driver);

/* Reads and proves a program; options as for ashlar_program_load. */
ashlar_code ashlar_driver_load(ashlar_driver *driver, const char *path,
                               const ashlar_options *options, uint32_t *program,
                               ashlar_error **error);
ashlar_code ashlar_driver_unload(ashlar_driver *driver, uint32_t program,
                                 ashlar_error **error);

/* Copies inputs and returns at once. */
ashlar_code ashlar_driver_start(ashlar_driver *driver,
                                const ashlar_start *start, uint64_t *run,
                                ashlar_error **error);
ashlar_code ashlar_driver_poll(ashlar_driver *driver, uint64_t run,
                               ashlar_run_state *state, ashlar_error **error);
/* The same once the run has ended. */
ashlar_code ashlar_driver_wait(ashlar_driver *driver, uint64_t run,
                               ashlar_run_state *state, ashlar_error **error);
/* Waits and hands the result over, once. The error of a run that failed;
 * ASHLAR_USAGE if it was skipped. */
ashlar_code ashlar_driver_take(ashlar_driver *driver, uint64_t run,
                               ashlar_result **out, ashlar_error **error);
/* Transfer `index` of a run: inputs, then outputs. */
ashlar_code ashlar_driver_descriptor(ashlar_driver *driver, uint64_t run,
                                     size_t index, ashlar_descriptor *out,
                                     ashlar_error **error);
/* Waits for the end of this and all earlier runs. */
ashlar_code ashlar_driver_span(ashlar_driver *driver, uint64_t run,
                               ashlar_span *out, ashlar_error **error);
/* Forgets a run that has ended. */
ashlar_code ashlar_driver_release(ashlar_driver *driver, uint64_t run,
                                  ashlar_error **error);

#ifdef __cplusplus
}
#endif

#endif /* ASHLAR_API_C_DRIVER_H */
