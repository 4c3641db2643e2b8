/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * queue COUNT PROGRAM.ash...: starts COUNT runs of each program on zeros, on
 * two accelerators, and prints when each of them ran. Needs the runtime alone.
 */

#include <ashlar/Api/C/Driver.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(ashlar_error *error) {
  fprintf(stderr, "queue: %s\n", ashlar_error_message(error));
  const int code = (int)ashlar_error_code(error);
  ashlar_error_destroy(error);
  return code;
}

/* Inputs of zeros; the program says which. */
static ashlar_array *zeros(ashlar_program *program, size_t *count) {
  *count = ashlar_program_num_inputs(program);
  ashlar_array *inputs = calloc(*count + 1, sizeof *inputs);
  for (size_t i = 0; i < *count; ++i)
    if (ashlar_program_input(program, i, &inputs[i], NULL) == ASHLAR_OK)
      inputs[i].data = calloc(1, inputs[i].bytes + 1);
  return inputs;
}

/* Starts the runs of one program. Run numbers count from 1. */
static ashlar_code start(ashlar_driver *driver, const char *path, int count,
                         ashlar_error **error) {
  ashlar_program *program = NULL;
  ashlar_start how = {0};
  how.size = sizeof how;
  ashlar_code code =
      ashlar_driver_load(driver, path, NULL, &how.program, error);
  if (code == ASHLAR_OK)
    code = ashlar_program_load(path, NULL, &program, error);
  ashlar_array *inputs = zeros(program, &how.num_inputs);
  how.inputs = inputs;
  uint64_t run = 0;
  for (int i = 0; code == ASHLAR_OK && i < count; ++i)
    code = ashlar_driver_start(driver, &how, &run, error);
  for (size_t i = 0; i < how.num_inputs; ++i)
    free((void *)inputs[i].data);
  free(inputs);
  ashlar_program_destroy(program);
  return code;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  ashlar_error *error = NULL;
  ashlar_driver *driver = NULL;
  ashlar_options *options = ashlar_options_create();
  ashlar_code code = ashlar_options_set(options, "accelerators", "2", &error);
  if (code == ASHLAR_OK)
    code = ashlar_driver_create(options, &driver, &error);
  ashlar_options_destroy(options);
  uint64_t runs = 0;
  for (int i = 2; code == ASHLAR_OK && i < argc; ++i, runs += count)
    code = start(driver, argv[i], count, &error);
  for (uint64_t run = 1; code == ASHLAR_OK && run <= runs; ++run) {
    ashlar_run_state state = ASHLAR_RUN_WAITING;
    ashlar_span span = {0};
    span.size = sizeof span;
    code = ashlar_driver_wait(driver, run, &state, &error);
    if (code == ASHLAR_OK)
      code = ashlar_driver_span(driver, run, &span, &error);
    if (code == ASHLAR_OK)
      printf("run %d: state %d, cycles %lu to %lu on accelerator %u\n",
             (int)run, (int)state, (unsigned long)span.begin,
             (unsigned long)span.end, (unsigned)span.accelerator);
  }
  ashlar_driver_destroy(driver);
  return code == ASHLAR_OK ? 0 : fail(error);
}
