// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface: ownership, and null pointers wherever one can be given.

#include "ashlar/Api/C/Compiler.h"
#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

namespace {

const char *const demo = ASHLAR_DEMO_NETWORK "/glyphs.onnx";

ashlar_program *compileDemo() {
  ashlar_options *options = ashlar_options_create();
  ashlar_options_set(options, "machine", "a1-tiny", nullptr);
  ashlar_options_set(options, "threads", "1", nullptr);
  ashlar_model model = {};
  model.size = sizeof model;
  model.path = demo;
  ashlar_compiled *compiled = nullptr;
  ashlar_error *error = nullptr;
  EXPECT_EQ(ashlar_compile(&model, options, &compiled, &error), ASHLAR_OK)
      << ashlar_error_message(error);
  EXPECT_EQ(error, nullptr);
  ashlar_options_destroy(options);
  EXPECT_NE(std::string(ashlar_compiled_report(compiled)).find("decisions"),
            std::string::npos);
  EXPECT_NE(std::string(ashlar_compiled_formats(compiled)), "");
  ashlar_program *program = ashlar_compiled_take_program(compiled);
  EXPECT_EQ(ashlar_compiled_take_program(compiled), nullptr);
  ashlar_compiled_destroy(compiled);
  return program;
}

} // namespace

TEST(CApi, WholeWay) {
  EXPECT_EQ(ashlar_api_version(), ASHLAR_API_VERSION);
  ashlar_program *program = compileDemo();
  ASSERT_EQ(ashlar_program_num_inputs(program), 1u);
  ASSERT_EQ(ashlar_program_num_outputs(program), 1u);
  EXPECT_STREQ(ashlar_program_model(program), "glyphs");
  EXPECT_STREQ(ashlar_program_machine(program), "a1-tiny");
  ashlar_array input;
  ASSERT_EQ(ashlar_program_input(program, 0, &input, nullptr), ASHLAR_OK);
  EXPECT_STREQ(input.name, "image");
  EXPECT_EQ(input.bytes, 28u * 28 * 4);
  std::vector<float> zeros(28 * 28);
  input.data = zeros.data();
  ashlar_result *result = nullptr;
  ASSERT_EQ(ashlar_program_run(program, &input, 1, nullptr, &result, nullptr),
            ASHLAR_OK);
  EXPECT_GT(ashlar_result_cycles(result), 0u);
  ashlar_array output;
  ASSERT_EQ(ashlar_result_output(result, 0, &output, nullptr), ASHLAR_OK);
  EXPECT_EQ(output.bytes, 64u);
  EXPECT_NE(output.data, nullptr);
  const char *json = nullptr, *again = nullptr;
  ASSERT_EQ(ashlar_result_report(result, &json, nullptr), ASHLAR_OK);
  ASSERT_EQ(ashlar_result_report(result, &again, nullptr), ASHLAR_OK);
  EXPECT_EQ(json, again);
  size_t bytes = 0;
  const void *image = ashlar_program_bytes(program, &bytes);
  ashlar_program *copy = nullptr;
  EXPECT_EQ(ashlar_program_from_bytes(image, bytes, nullptr, &copy, nullptr),
            ASHLAR_OK);
  ashlar_program_destroy(copy);
  ashlar_result_destroy(result);
  ashlar_program_destroy(program);
}

TEST(CApi, NullPointersAreUsageErrors) {
  ashlar_error *error = nullptr;
  ashlar_program *program = nullptr;
  EXPECT_EQ(ashlar_program_load(nullptr, nullptr, &program, &error),
            ASHLAR_USAGE);
  EXPECT_STREQ(ashlar_error_message(error), "path is a null pointer");
  EXPECT_EQ(ashlar_error_code(error), ASHLAR_USAGE);
  ashlar_error_destroy(error);
  EXPECT_EQ(ashlar_program_load("x", nullptr, nullptr, nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_program_from_bytes(nullptr, 3, nullptr, &program, nullptr),
            ASHLAR_USAGE);
  EXPECT_EQ(ashlar_program_save(nullptr, "x", nullptr), ASHLAR_USAGE);
  ashlar_result *result = nullptr;
  EXPECT_EQ(ashlar_program_run(nullptr, nullptr, 0, nullptr, &result, nullptr),
            ASHLAR_USAGE);
  ashlar_array array;
  EXPECT_EQ(ashlar_program_input(nullptr, 0, &array, nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_result_output(nullptr, 0, &array, nullptr), ASHLAR_USAGE);
  const char *json = nullptr;
  EXPECT_EQ(ashlar_result_report(nullptr, &json, nullptr), ASHLAR_USAGE);
  ashlar_compiled *compiled = nullptr;
  EXPECT_EQ(ashlar_compile(nullptr, nullptr, &compiled, nullptr), ASHLAR_USAGE);
  ashlar_model model = {};
  EXPECT_EQ(ashlar_compile(&model, nullptr, &compiled, nullptr), ASHLAR_USAGE);
  model.size = sizeof model;
  EXPECT_EQ(ashlar_compile(&model, nullptr, &compiled, nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_options_set(nullptr, "a", "b", nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_program_bytes(nullptr, nullptr), nullptr);
  EXPECT_EQ(ashlar_program_num_inputs(nullptr), 0u);
  EXPECT_EQ(ashlar_result_cycles(nullptr), 0u);
  EXPECT_EQ(ashlar_result_warning(nullptr, 0), nullptr);
  EXPECT_STREQ(ashlar_compiled_report(nullptr), "");
  ashlar_program_reset_state(nullptr);
  ashlar_program_destroy(nullptr);
  ashlar_result_destroy(nullptr);
  ashlar_options_destroy(nullptr);
  ashlar_compiled_destroy(nullptr);
}

TEST(CApi, BadArgumentsAreErrors) {
  ashlar_program *program = compileDemo();
  ashlar_array array;
  ASSERT_EQ(ashlar_program_input(program, 7, &array, nullptr), ASHLAR_USAGE);
  ASSERT_EQ(ashlar_program_input(program, 0, nullptr, nullptr), ASHLAR_USAGE);
  ASSERT_EQ(ashlar_program_input(program, 0, &array, nullptr), ASHLAR_OK);
  ashlar_result *result = nullptr;
  auto run = [&](const ashlar_array *inputs, size_t count) {
    return ashlar_program_run(program, inputs, count, nullptr, &result,
                              nullptr);
  };
  EXPECT_EQ(run(nullptr, 1), ASHLAR_USAGE);
  EXPECT_EQ(run(&array, 1), ASHLAR_MALFORMED); // No data.
  EXPECT_EQ(run(&array, 0), ASHLAR_USAGE);
  ashlar_array wrong = array;
  wrong.name = nullptr;
  EXPECT_EQ(run(&wrong, 1), ASHLAR_USAGE);
  wrong = array;
  wrong.shape = nullptr;
  EXPECT_EQ(run(&wrong, 1), ASHLAR_MALFORMED);
  wrong.rank = -1;
  EXPECT_EQ(run(&wrong, 1), ASHLAR_MALFORMED);
  wrong = array;
  wrong.type = ASHLAR_F64;
  EXPECT_EQ(run(&wrong, 1), ASHLAR_MALFORMED);
  // Not a type, though its low byte is the right one.
  std::vector<char> bytes(array.bytes);
  wrong = array;
  wrong.data = bytes.data();
  const int number = static_cast<int>(array.type) + 256;
  std::memcpy(&wrong.type, &number, sizeof number);
  EXPECT_EQ(run(&wrong, 1), ASHLAR_MALFORMED);
  ashlar_options *options = ashlar_options_create();
  ashlar_options_set(options, "speed", "high", nullptr);
  ashlar_error *error = nullptr;
  EXPECT_EQ(ashlar_program_run(program, &array, 1, options, &result, &error),
            ASHLAR_USAGE);
  EXPECT_NE(std::string(ashlar_error_message(error)).find("'speed'"),
            std::string::npos);
  ashlar_error_destroy(error);
  ashlar_program_destroy(program);
  EXPECT_EQ(ashlar_program_load("/nonexistent", nullptr, &program, nullptr),
            ASHLAR_MALFORMED);
  EXPECT_EQ(program, nullptr);
  ashlar_options_destroy(options);
}
