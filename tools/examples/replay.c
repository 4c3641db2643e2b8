/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * replay PROGRAM.ash: runs a compiled program on zeros and prints its report.
 * Needs the runtime alone.
 */

#include <ashlar/Api/C/Runtime.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  ashlar_error *error = NULL;
  ashlar_program *program = NULL;
  ashlar_result *result = NULL;
  const char *report = "";
  ashlar_code code =
      ashlar_program_load(argc > 1 ? argv[1] : "", NULL, &program, &error);
  size_t count = ashlar_program_num_inputs(program);
  ashlar_array *inputs = calloc(count + 1, sizeof *inputs);
  for (size_t i = 0; code == ASHLAR_OK && i < count; ++i) {
    code = ashlar_program_input(program, i, &inputs[i], &error);
    inputs[i].data = calloc(1, inputs[i].bytes + 1);
  }
  if (code == ASHLAR_OK)
    code = ashlar_program_run(program, inputs, count, NULL, &result, &error);
  if (code == ASHLAR_OK)
    code = ashlar_result_report(result, &report, &error);
  if (code == ASHLAR_OK)
    puts(report);
  else
    fprintf(stderr, "replay: %s\n", ashlar_error_message(error));
  for (size_t i = 0; i < count; ++i)
    free((void *)inputs[i].data);
  free(inputs);
  ashlar_error_destroy(error);
  ashlar_result_destroy(result);
  ashlar_program_destroy(program);
  return (int)code;
}
