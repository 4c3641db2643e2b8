// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drivers: several programs and runs at once, outputs that feed later runs, and
// parts that a scalar of an earlier run decides about.

#include "ashlar/Api/C/Driver.h"
#include "OnnxBytes.h"
#include "ashlar/Api/Compiler.h"
#include "ashlar/Api/Driver.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>

using namespace ashlar::api;
using test::OnnxGraph;

namespace {

const std::vector<int64_t> shape = {1, 64};

Program compiled(const OnnxGraph &graph) {
  CompileOptions how;
  how.options = {{"machine", "a1-tiny"}, {"threads", "1"}};
  Result<Compiled> result = compile(graph.bytes(), "model", how);
  if (!result)
    throw std::runtime_error(result.error().message);
  return std::move(result->program);
}

/// feat = relu(x), score = the largest x.
Program head() {
  OnnxGraph graph;
  graph.input("x", shape);
  graph.node("Relu", {"x"}, "feat");
  graph.node("ReduceMax", {"x"}, "score", {{"keepdims", 0}});
  graph.output("feat", shape).output("score", {});
  return compiled(graph);
}

/// y = 2 * feat.
Program tail() {
  OnnxGraph graph;
  graph.input("feat", shape);
  graph.node("Add", {"feat", "feat"}, "y");
  graph.output("y", shape);
  return compiled(graph);
}

Driver driverOf(unsigned accelerators, uint64_t dram = 0) {
  Result<Driver> driver = Driver::create({accelerators, dram});
  if (!driver)
    throw std::runtime_error(driver.error().message);
  return std::move(*driver);
}

template <typename T>
T valueOf(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return std::move(*result);
}

template <typename T>
std::string messageOf(const Result<T> &result) {
  return result ? "" : result.error().message;
}

std::vector<float> ramp(float largest) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = largest - static_cast<float>(values.size() - 1 - i) / 8;
  return values;
}

ArrayView view(const std::vector<float> &values, const char *name = "x") {
  return {name, ElementType::F32, shape, values.data(),
          values.size() * sizeof(float)};
}

RunOptions quick() {
  RunOptions run;
  run.threads = 1;
  return run;
}

RunId startHead(Driver &driver, ProgramId program, float largest) {
  const std::vector<float> values = ramp(largest);
  const ArrayView input = view(values);
  StartOptions how;
  how.run = quick();
  return valueOf(driver.start(program, {&input, 1}, how));
}

/// The tail of a head, if its score is below 1.
StartOptions afterHead(RunId run) {
  StartOptions how;
  how.run = quick();
  how.feeds = {{"feat", run, "feat"}};
  how.condition = Condition{run, "score", Comparison::Less, 1};
  return how;
}

const Array &named(const RunResult &result, const std::string &name) {
  return *std::find_if(result.outputs().begin(), result.outputs().end(),
                       [&](const Array &array) { return array.name == name; });
}

} // namespace

TEST(Driver, EarlyExitByAScalar) {
  Driver driver = driverOf(2);
  const ProgramId first = valueOf(driver.load(head()));
  const ProgramId second = valueOf(driver.load(tail()));
  for (const float largest : {0.5f, 3.0f}) {
    const RunId run = startHead(driver, first, largest);
    const RunId rest = valueOf(driver.start(second, {}, afterHead(run)));
    const bool exits = largest >= 1;
    EXPECT_EQ(valueOf(driver.wait(rest)),
              exits ? RunState::Skipped : RunState::Done);
    EXPECT_EQ(valueOf(driver.poll(run)), RunState::Done);
    if (exits) {
      EXPECT_EQ(messageOf(driver.take(rest)),
                "run " + std::to_string(rest) + " was skipped");
      // What needs a run that was left out is left out too.
      StartOptions third;
      third.feeds = {{"feat", rest, "y"}};
      const RunId more = valueOf(driver.start(second, {}, third));
      EXPECT_EQ(valueOf(driver.poll(more)), RunState::Skipped);
      EXPECT_EQ(valueOf(driver.span(more)).begin,
                valueOf(driver.span(more)).end);
      continue;
    }
    const RunSpan before = valueOf(driver.span(run));
    const RunSpan after = valueOf(driver.span(rest));
    EXPECT_GE(after.begin, before.end);
    EXPECT_GT(after.end, after.begin);
    const RunResult result = valueOf(driver.take(rest));
    const RunResult made = valueOf(driver.take(run));
    const auto *y =
        reinterpret_cast<const float *>(named(result, "y").data.data());
    const auto *feat =
        reinterpret_cast<const float *>(named(made, "feat").data.data());
    for (size_t i = 0; i < 64; ++i)
      EXPECT_EQ(y[i], 2 * feat[i]);
  }
}

TEST(Driver, ResultsAndSpansDoNotDependOnTheHost) {
  std::vector<std::vector<uint8_t>> expected;
  uint64_t single = 0;
  for (const unsigned accelerators : {1u, 3u}) {
    Driver driver = driverOf(accelerators);
    const ProgramId program = valueOf(driver.load(head()));
    std::vector<RunId> runs;
    for (int i = 0; i < 12; ++i)
      runs.push_back(startHead(driver, program, static_cast<float>(i) / 4));
    for (size_t i = 0; i < runs.size(); ++i) {
      const RunSpan span = valueOf(driver.span(runs[i]));
      const uint64_t cycles = span.end - span.begin;
      EXPECT_EQ(span.accelerator, i % accelerators);
      EXPECT_EQ(span.begin, i / accelerators * cycles);
      const RunResult result = valueOf(driver.take(runs[i]));
      EXPECT_EQ(result.cycles(), cycles);
      if (accelerators == 1) {
        expected.push_back(named(result, "feat").data);
        single = cycles;
      } else {
        EXPECT_EQ(named(result, "feat").data, expected[i]);
        EXPECT_EQ(cycles, single);
      }
      EXPECT_TRUE(driver.release(runs[i]));
      EXPECT_EQ(messageOf(driver.poll(runs[i])),
                "there is no run " + std::to_string(runs[i]));
    }
    EXPECT_TRUE(driver.unload(program));
  }
}

TEST(Driver, NoticesEveryEnd) {
  std::atomic<int> done = 0, skipped = 0;
  {
    Driver driver = driverOf(2);
    const ProgramId first = valueOf(driver.load(head()));
    const ProgramId second = valueOf(driver.load(tail()));
    std::vector<RunId> runs;
    for (int i = 0; i < 8; ++i) {
      const RunId run = startHead(driver, first, i % 2 == 0 ? 0.5f : 2.0f);
      StartOptions how = afterHead(run);
      how.completed = [&](RunId, RunState state) {
        ++(state == RunState::Done ? done : skipped);
      };
      runs.push_back(valueOf(driver.start(second, {}, how)));
    }
    for (const RunId run : runs)
      valueOf(driver.wait(run));
  }
  EXPECT_EQ(done, 4);
  EXPECT_EQ(skipped, 4);
}

TEST(Driver, StateGoesFromRunToRunInTheirOrder) {
  CompileOptions how;
  how.options = {
      {"machine", "a1-tiny"}, {"threads", "1"}, {"scale", "stats(k=2,n=64)"}};
  const auto model = compile(ASHLAR_DEMO_NETWORK "/glyphs.onnx", how);
  ASSERT_TRUE(model) << model.error().message;
  Program alone = valueOf(model->program.clone());
  ASSERT_TRUE(alone.carriesState());
  Driver driver = driverOf(3);
  const ProgramId program = valueOf(driver.load(valueOf(alone.clone())));
  const std::vector<int64_t> image = {1, 1, 28, 28};
  StartOptions options;
  options.run = quick();
  std::vector<RunId> runs;
  std::vector<std::vector<uint8_t>> expected;
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> values(28 * 28, static_cast<float>(i * i) / 4 + 1);
    const ArrayView input = {"image", ElementType::F32, image, values.data(),
                             values.size() * sizeof(float)};
    runs.push_back(valueOf(driver.start(program, {&input, 1}, options)));
    const RunResult one = valueOf(alone.run({&input, 1}, quick()));
    expected.push_back(one.outputs()[0].data);
  }
  uint64_t last = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunSpan span = valueOf(driver.span(runs[i]));
    EXPECT_GE(span.begin, last);
    last = span.end;
    EXPECT_EQ(valueOf(driver.take(runs[i])).outputs()[0].data, expected[i]);
  }
}

TEST(Driver, ProgramsShareDram) {
  Program one = head();
  const uint64_t bytes = one.dramBytes();
  ASSERT_GT(bytes, 0u);
  const uint64_t page = (bytes + 4095) / 4096 * 4096;
  Driver driver = driverOf(1, page + bytes);
  const ProgramId first = valueOf(driver.load(std::move(one)));
  const ProgramId second = valueOf(driver.load(head()));
  const auto full = driver.load(head());
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::Capacity);
  EXPECT_NE(full.error().message.find("bytes of DRAM"), std::string::npos);
  // Addresses of the second program follow those of the first.
  const RunId run = startHead(driver, second, 1);
  const std::vector<Descriptor> set = valueOf(driver.descriptors(run));
  ASSERT_EQ(set.size(), 3u);
  EXPECT_EQ(set[0].tensor, "x");
  EXPECT_EQ(set[0].direction, Descriptor::Direction::ToDevice);
  EXPECT_EQ(set[0].bytes, 256u);
  for (const Descriptor &descriptor : set) {
    EXPECT_GE(descriptor.address, page);
    EXPECT_LE(descriptor.address + descriptor.bytes, page + bytes);
  }
  EXPECT_EQ(set[1].direction, Descriptor::Direction::FromDevice);
  // The room of a program that is gone is used again.
  EXPECT_EQ(valueOf(driver.wait(run)), RunState::Done);
  EXPECT_TRUE(driver.unload(first));
  EXPECT_TRUE(driver.load(head()));
}

TEST(Driver, RefusesWithReasons) {
  EXPECT_EQ(messageOf(Driver::create({0, 0})),
            "0 accelerators, expected 1 to 64");
  Driver driver = driverOf(1);
  const ProgramId first = valueOf(driver.load(head()));
  const ProgramId second = valueOf(driver.load(tail()));
  const std::vector<float> values = ramp(0);
  const ArrayView input = view(values);
  EXPECT_EQ(messageOf(driver.start(99, {})), "there is no program 99");
  EXPECT_EQ(messageOf(driver.start(first, {})),
            "input 'x' (f32[1x64]) is missing");
  const ArrayView twice[] = {input, input};
  EXPECT_EQ(messageOf(driver.start(first, twice)), "input 'x' is given twice");
  EXPECT_EQ(messageOf(driver.start(second, {&input, 1})),
            "the program has no input 'x'");
  const RunId run = startHead(driver, first, 0);
  StartOptions how = afterHead(run);
  how.feeds[0].output = "nothing";
  EXPECT_EQ(messageOf(driver.start(second, {}, how)),
            "run " + std::to_string(run) + " has no output 'nothing'");
  how = afterHead(run);
  how.feeds[0].output = "score";
  EXPECT_EQ(messageOf(driver.start(second, {}, how)),
            "input 'feat' is f32[1x64], output 'score' of run " +
                std::to_string(run) + " is f32[]");
  how = afterHead(run);
  how.condition->output = "feat";
  EXPECT_EQ(messageOf(driver.start(second, {}, how)),
            "a condition reads output 'feat', which is f32[1x64]; expected one "
            "element");
  how = afterHead(run + 100);
  EXPECT_EQ(messageOf(driver.start(second, {}, how)),
            "there is no run " + std::to_string(run + 100));
  valueOf(driver.take(run));
  EXPECT_EQ(messageOf(driver.start(second, {}, afterHead(run))),
            "the result of run " + std::to_string(run) + " has been taken");
  EXPECT_EQ(messageOf(driver.take(run)),
            "the result of run " + std::to_string(run) + " has been taken");
  EXPECT_FALSE(driver.load("/nonexistent.ash"));
}

TEST(Driver, FailuresReachWhatNeedsThem) {
  Driver driver = driverOf(1);
  const ProgramId first = valueOf(driver.load(head()));
  const ProgramId second = valueOf(driver.load(tail()));
  const std::vector<float> values = ramp(0);
  const ArrayView input = view(values);
  StartOptions wrong;
  wrong.run.kernels = "none";
  const RunId run = valueOf(driver.start(first, {&input, 1}, wrong));
  const RunId rest = valueOf(driver.start(second, {}, afterHead(run)));
  EXPECT_EQ(valueOf(driver.wait(rest)), RunState::Failed);
  EXPECT_EQ(messageOf(driver.take(rest)),
            "run " + std::to_string(run) +
                ", which it needs, failed: " + messageOf(driver.take(run)));
  // Another start after the end says the same.
  const RunId late = valueOf(driver.start(second, {}, afterHead(run)));
  EXPECT_EQ(messageOf(driver.take(late)), messageOf(driver.take(rest)));
}

TEST(Driver, FromC) {
  const std::string folder = testing::TempDir();
  const std::string headPath = folder + "driver-head.ash",
                    tailPath = folder + "driver-tail.ash";
  ASSERT_TRUE(head().save(headPath));
  ASSERT_TRUE(tail().save(tailPath));
  ashlar_options *options = ashlar_options_create();
  ashlar_options_set(options, "accelerators", "2", nullptr);
  ashlar_driver *driver = nullptr;
  ASSERT_EQ(ashlar_driver_create(options, &driver, nullptr), ASHLAR_OK);
  ashlar_options_destroy(options);
  uint32_t first = 0, second = 0;
  ASSERT_EQ(
      ashlar_driver_load(driver, headPath.c_str(), nullptr, &first, nullptr),
      ASHLAR_OK);
  ASSERT_EQ(
      ashlar_driver_load(driver, tailPath.c_str(), nullptr, &second, nullptr),
      ASHLAR_OK);
  const std::vector<float> values = ramp(0.25f);
  const ashlar_array input = {"x",          ASHLAR_F32,    2,
                              shape.data(), values.data(), 256};
  ashlar_start start = {};
  ashlar_error *error = nullptr;
  uint64_t run = 0, rest = 0;
  EXPECT_EQ(ashlar_driver_start(driver, &start, &run, &error), ASHLAR_USAGE);
  EXPECT_STREQ(ashlar_error_message(error),
               "size of the ashlar_start is 0, expected sizeof(ashlar_start)");
  ashlar_error_destroy(error);
  start.size = sizeof start;
  start.program = first;
  start.inputs = &input;
  start.num_inputs = 1;
  ASSERT_EQ(ashlar_driver_start(driver, &start, &run, nullptr), ASHLAR_OK);
  const ashlar_feed feed = {"feat", run, "feat"};
  start = {};
  start.size = sizeof start;
  start.program = second;
  start.feeds = &feed;
  start.num_feeds = 1;
  start.condition_run = run;
  start.condition_output = "score";
  start.comparison = ASHLAR_LESS;
  start.condition_value = 1;
  ASSERT_EQ(ashlar_driver_start(driver, &start, &rest, nullptr), ASHLAR_OK);
  ashlar_run_state state = ASHLAR_RUN_WAITING;
  ASSERT_EQ(ashlar_driver_wait(driver, rest, &state, nullptr), ASHLAR_OK);
  EXPECT_EQ(state, ASHLAR_RUN_DONE);
  ASSERT_EQ(ashlar_driver_poll(driver, run, &state, nullptr), ASHLAR_OK);
  EXPECT_EQ(state, ASHLAR_RUN_DONE);
  ashlar_descriptor descriptor = {};
  descriptor.size = sizeof descriptor;
  ASSERT_EQ(ashlar_driver_descriptor(driver, rest, 1, &descriptor, nullptr),
            ASHLAR_OK);
  EXPECT_STREQ(descriptor.tensor, "y");
  EXPECT_EQ(descriptor.to_device, 0);
  EXPECT_EQ(ashlar_driver_descriptor(driver, rest, 2, &descriptor, nullptr),
            ASHLAR_USAGE);
  ashlar_span span = {};
  span.size = sizeof span;
  ASSERT_EQ(ashlar_driver_span(driver, rest, &span, nullptr), ASHLAR_OK);
  ashlar_result *result = nullptr;
  ASSERT_EQ(ashlar_driver_take(driver, rest, &result, nullptr), ASHLAR_OK);
  EXPECT_EQ(ashlar_result_cycles(result), span.end - span.begin);
  ashlar_result_destroy(result);
  EXPECT_EQ(ashlar_driver_release(driver, rest, nullptr), ASHLAR_OK);
  EXPECT_EQ(ashlar_driver_poll(driver, rest, &state, nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_driver_poll(nullptr, rest, &state, nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_driver_start(driver, nullptr, &rest, nullptr), ASHLAR_USAGE);
  EXPECT_EQ(ashlar_driver_create(nullptr, nullptr, nullptr), ASHLAR_USAGE);
  ashlar_driver_destroy(driver);
}
