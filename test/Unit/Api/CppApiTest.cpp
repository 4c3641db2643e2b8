// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C++ interface, through the shared libraries as users have them.

#include "ashlar/Api/Compiler.h"
#include "gtest/gtest.h"

#include <fstream>
#include <iterator>
#include <thread>

using namespace ashlar::api;

namespace {

const std::string demo = ASHLAR_DEMO_NETWORK "/glyphs.onnx";
const std::vector<int64_t> imageShape = {1, 1, 28, 28};

std::vector<float> pixels(int samples = 1) {
  std::vector<float> values(static_cast<size_t>(samples) * 28 * 28);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 37) % 255) / 128 - 1;
  return values;
}

ArrayView view(const std::vector<float> &values,
               const std::vector<int64_t> &shape,
               std::string_view name = "image") {
  return {name, ElementType::F32, shape, values.data(),
          values.size() * sizeof(float)};
}

Compiled
compileDemo(std::vector<std::pair<std::string, std::string>> options = {}) {
  CompileOptions how;
  how.options = {{"machine", "a1-tiny"}, {"threads", "1"}};
  how.options.insert(how.options.end(), options.begin(), options.end());
  Result<Compiled> compiled = compile(demo, how);
  if (!compiled)
    ADD_FAILURE() << compiled.error().message;
  return std::move(*compiled);
}

Result<RunResult> runOne(Program &program, const ArrayView &input,
                         RunOptions options = {}) {
  options.threads = 1;
  return program.run({&input, 1}, options);
}

std::vector<uint8_t> fileBytes(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace

TEST(CppApi, CompilesRunsAndReports) {
  Compiled compiled = compileDemo();
  Program &program = compiled.program;
  EXPECT_EQ(program.modelName(), "glyphs");
  EXPECT_EQ(program.machineName(), "a1-tiny");
  ASSERT_EQ(program.inputs().size(), 1u);
  EXPECT_EQ(program.inputs()[0].name, "image");
  EXPECT_EQ(program.inputs()[0].shape, imageShape);
  EXPECT_NE(compiled.report.find("\"decisions\""), std::string::npos);
  EXPECT_NE(compiled.formats.find("w=8"), std::string::npos);
  auto values = pixels();
  auto result = runOne(program, view(values, imageShape));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GT(result->cycles(), 1000u);
  ASSERT_EQ(result->outputs().size(), 1u);
  EXPECT_EQ(result->outputs()[0].shape, (std::vector<int64_t>{1, 16}));
  auto report = result->report();
  ASSERT_TRUE(report);
  EXPECT_NE(
      report->find("\"total_cycles\": " + std::to_string(result->cycles())),
      std::string::npos);
  RunOptions quick;
  quick.timing = false;
  auto untimed = runOne(program, view(values, imageShape), quick);
  ASSERT_TRUE(untimed);
  EXPECT_EQ(untimed->cycles(), 0u);
  EXPECT_EQ(untimed->outputs()[0].data, result->outputs()[0].data);
}

TEST(CppApi, BytesAndFilesGiveTheSameProgram) {
  Compiled compiled = compileDemo();
  std::vector<uint8_t> model = fileBytes(demo);
  CompileOptions how;
  how.options = {{"machine", "a1-tiny"}, {"threads", "1"}};
  auto again = compile(model, demo, how);
  ASSERT_TRUE(again) << again.error().message;
  auto one = compiled.program.bytes(), other = again->program.bytes();
  EXPECT_TRUE(std::equal(one.begin(), one.end(), other.begin(), other.end()));
  const std::string path = testing::TempDir() + "/api.ash";
  ASSERT_TRUE(compiled.program.save(path));
  auto loaded = Program::load(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto values = pixels();
  auto a = runOne(compiled.program, view(values, imageShape));
  auto b = runOne(*loaded, view(values, imageShape));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->outputs()[0].data, b->outputs()[0].data);
  EXPECT_EQ(a->cycles(), b->cycles());
}

TEST(CppApi, SamplesAreStacked) {
  Program program = compileDemo().program;
  auto values = pixels(3);
  auto all = runOne(program, view(values, {3, 1, 28, 28}));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->samples(), 3u);
  EXPECT_EQ(all->outputs()[0].shape, (std::vector<int64_t>{3, 16}));
  std::vector<float> last(values.begin() + 2 * 28 * 28, values.end());
  auto one = runOne(program, view(last, imageShape));
  ASSERT_TRUE(one);
  EXPECT_TRUE(std::equal(one->outputs()[0].data.begin(),
                         one->outputs()[0].data.end(),
                         all->outputs()[0].data.begin() + 2 * 64));
}

TEST(CppApi, BadInputsAreErrors) {
  Program program = compileDemo().program;
  auto values = pixels();
  auto code = [&](const ArrayView &input) {
    auto result = runOne(program, input);
    return result ? 0 : static_cast<int>(result.error().code);
  };
  ArrayView good = view(values, imageShape);
  EXPECT_EQ(code(good), 0);
  EXPECT_EQ(code(view(values, imageShape, "picture")), 2);
  EXPECT_EQ(code(view(values, {1, 28, 28})), 4);
  ArrayView wrong = good;
  wrong.type = ElementType::I32;
  EXPECT_EQ(code(wrong), 4);
  wrong = good;
  wrong.type = static_cast<ElementType>(200);
  EXPECT_EQ(code(wrong), 4);
  wrong = good;
  wrong.bytes -= 1;
  EXPECT_EQ(code(wrong), 4);
  wrong = good;
  wrong.data = nullptr;
  EXPECT_EQ(code(wrong), 4);
  const std::vector<int64_t> negative = {-1, 1, 28, 28};
  EXPECT_EQ(code(view(values, negative)), 4);
  const std::vector<int64_t> huge = {INT64_MAX, INT64_MAX, 28, 28};
  EXPECT_EQ(code(view(values, huge)), 4);
  auto none = program.run({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Usage);
  EXPECT_EQ(none.error().message.find("--input"), std::string::npos);
  const ArrayView twice[] = {good, good};
  EXPECT_FALSE(program.run(twice));
  RunOptions options;
  options.kernels = "abacus";
  EXPECT_EQ(runOne(program, good, options).error().code, ErrorCode::Usage);
}

TEST(CppApi, BadModelsAndOptionsAreErrors) {
  auto codeOf = [](std::vector<std::pair<std::string, std::string>> options) {
    CompileOptions how;
    how.options = std::move(options);
    auto compiled = compile(demo, how);
    return compiled ? 0 : static_cast<int>(compiled.error().code);
  };
  EXPECT_EQ(codeOf({{"machine", "b2"}}), 2);
  EXPECT_EQ(codeOf({{"colour", "red"}}), 2);
  EXPECT_EQ(codeOf({{"o", "file"}}), 2);
  EXPECT_EQ(codeOf({{"report", "file"}}), 2);
  EXPECT_EQ(codeOf({{"format", "auto"}}), 2);
  EXPECT_EQ(codeOf({{"large-constants", "maybe"}}), 2);
  const std::vector<uint8_t> nonsense = {1, 2, 3};
  EXPECT_EQ(compile(nonsense, "x").error().code, ErrorCode::Malformed);
  EXPECT_EQ(compile(std::span<const uint8_t>(), "x").error().code,
            ErrorCode::Malformed);
  EXPECT_EQ(compile("/nonexistent.onnx").error().code, ErrorCode::Malformed);
}

TEST(CppApi, ForeignProgramsAreRefused) {
  Compiled compiled = compileDemo();
  auto image = compiled.program.bytes();
  std::vector<uint8_t> bytes(image.begin(), image.end());
  EXPECT_TRUE(Program::fromBytes(bytes));
  for (size_t at : {size_t(0), size_t(8), bytes.size() / 2}) {
    std::vector<uint8_t> changed = bytes;
    changed[at] ^= 0x40;
    auto loaded = Program::fromBytes(changed);
    if (!loaded)
      EXPECT_EQ(loaded.error().code, ErrorCode::Malformed);
  }
  bytes.resize(bytes.size() / 2);
  auto half = Program::fromBytes(bytes, {}, "half.ash");
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::Malformed);
  EXPECT_NE(half.error().message.find("half.ash"), std::string::npos);
  LoadOptions small;
  small.maxMemory = 1000;
  EXPECT_EQ(
      Program::fromBytes({image.begin(), image.end()}, small).error().code,
      ErrorCode::Capacity);
}

TEST(CppApi, CalibrationAndConstantsFromMemory) {
  auto values = pixels(2);
  const std::vector<int64_t> shape = {2, 1, 28, 28};
  CompileOptions how;
  how.options = {{"machine", "a1-tiny"}, {"scale", "fixed"}, {"threads", "1"}};
  how.calibration = {view(values, shape)};
  auto compiled = compile(demo, how);
  ASSERT_TRUE(compiled) << compiled.error().message;
  how.calibration = {view(values, shape, "picture")};
  EXPECT_EQ(compile(demo, how).error().code, ErrorCode::Malformed);
  how.calibration.clear();
  how.options = {{"machine", "a1-tiny"}};
  how.constants = {view(values, imageShape)};
  EXPECT_EQ(compile(demo, how).error().code, ErrorCode::Malformed);
}

// Every thread compiles and runs on its own: the same bytes each time.
TEST(CppApi, ThreadsDoNotMeet) {
  auto values = pixels();
  std::vector<std::vector<uint8_t>> outputs(4);
  Program shared = compileDemo().program;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < outputs.size(); ++i)
    threads.emplace_back([&, i] {
      Program own = compileDemo().program;
      auto result = runOne(i % 2 ? own : shared, view(values, imageShape));
      if (result)
        outputs[i] = result->outputs()[0].data;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(outputs[0].empty());
  for (const auto &output : outputs)
    EXPECT_EQ(output, outputs[0]);
}

TEST(CppApi, AnotherMachineAndItsState) {
  Compiled compiled = compileDemo({{"scale", "stats(k=4,n=64)"}});
  auto image = compiled.program.bytes();
  LoadOptions options;
  options.machine = "a1-tiny";
  auto same = Program::fromBytes({image.begin(), image.end()}, options);
  ASSERT_TRUE(same) << same.error().message;
  auto values = pixels();
  auto first = runOne(*same, view(values, imageShape));
  auto second = runOne(*same, view(values, imageShape));
  same->resetState();
  auto third = runOne(*same, view(values, imageShape));
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->outputs()[0].data, third->outputs()[0].data);
  options.machine = "b2";
  EXPECT_EQ(
      Program::fromBytes({image.begin(), image.end()}, options).error().code,
      ErrorCode::Usage);
}

TEST(CppApi, BatchOfAModelOfOne) {
  Program one = compileDemo({{"format", "bfp16"}}).program;
  Program three = compileDemo({{"format", "bfp16"}, {"batch", "3"}}).program;
  EXPECT_EQ(three.inputs()[0].shape, (std::vector<int64_t>{3, 1, 28, 28}));
  EXPECT_EQ(three.outputs()[0].shape, (std::vector<int64_t>{3, 16}));
  auto values = pixels(3);
  auto together = runOne(three, view(values, {3, 1, 28, 28}));
  auto apart = runOne(one, view(values, {3, 1, 28, 28}));
  ASSERT_TRUE(together && apart);
  const auto *a =
      reinterpret_cast<const float *>(together->outputs()[0].data.data());
  const auto *b =
      reinterpret_cast<const float *>(apart->outputs()[0].data.data());
  for (int i = 0; i < 48; ++i)
    EXPECT_NEAR(a[i], b[i], 0.01) << i;
}
