/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * classify-c MODEL.onnx: compiles a network of one input of floats and runs it.
 */

#include <ashlar/Api/C/Compiler.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(ashlar_error *error) {
  int code = (int)ashlar_error_code(error);
  fprintf(stderr, "classify-c: %s\n", ashlar_error_message(error));
  ashlar_error_destroy(error);
  return code;
}

int main(int argc, char **argv) {
  ashlar_error *error = NULL;
  ashlar_options *options = ashlar_options_create();
  ashlar_options_set(options, "machine", "a1-tiny", NULL);

  ashlar_model model = {0};
  model.size = sizeof model;
  model.path = argc > 1 ? argv[1] : "";
  ashlar_compiled *compiled = NULL;
  ashlar_code code = ashlar_compile(&model, options, &compiled, &error);
  ashlar_options_destroy(options);
  if (code != ASHLAR_OK)
    return fail(error);
  ashlar_program *program = ashlar_compiled_take_program(compiled);
  ashlar_compiled_destroy(compiled);

  /* The description of the input becomes the input. */
  ashlar_array input;
  if (ashlar_program_input(program, 0, &input, &error) != ASHLAR_OK)
    return fail(error);
  input.data = calloc(1, input.bytes);
  ashlar_result *result = NULL;
  code = ashlar_program_run(program, &input, 1, NULL, &result, &error);
  free((void *)input.data);
  if (code != ASHLAR_OK)
    return fail(error);

  for (size_t i = 0; i < ashlar_result_num_outputs(result); ++i) {
    ashlar_array output;
    if (ashlar_result_output(result, i, &output, &error) != ASHLAR_OK)
      return fail(error);
    printf("%s: %zu bytes\n", output.name, output.bytes);
  }
  printf("%llu cycles on %s, Ashlar %s\n",
         (unsigned long long)ashlar_result_cycles(result),
         ashlar_program_machine(program), ashlar_version());
  ashlar_result_destroy(result);
  ashlar_program_destroy(program);
  return 0;
}
