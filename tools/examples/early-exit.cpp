// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// early-exit HEAD.ash TAIL.ash SCORE LIMIT: a network in two parts. The head
// makes features, and a scalar that says how sure it is; the tail runs only if
// the output SCORE is below LIMIT. Needs the runtime alone.

#include <ashlar/Api/Driver.h>

#include <cstdio>
#include <cstdlib>

using namespace ashlar::api;

static int fail(const Error &error) {
  std::fprintf(stderr, "early-exit: %s error: %s\n", errorName(error.code),
               error.message.c_str());
  return static_cast<int>(error.code);
}

/// Arrays of one value for all inputs.
static std::vector<Array> filled(const std::vector<TensorInfo> &inputs) {
  std::vector<Array> arrays;
  for (const TensorInfo &input : inputs) {
    size_t count = 1;
    for (int64_t extent : input.shape)
      count *= static_cast<size_t>(extent);
    arrays.push_back({input.name, input.type, input.shape,
                      std::vector<uint8_t>(count * byteSize(input.type))});
  }
  return arrays;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return fail({ErrorCode::Usage, "expected HEAD.ash TAIL.ash SCORE LIMIT"});
  Result<Driver> driver = Driver::create({.accelerators = 2, .dramBytes = 0});
  if (!driver)
    return fail(driver.error());
  Result<ProgramId> head = driver->load(argv[1]);
  if (!head)
    return fail(head.error());
  Result<ProgramId> tail = driver->load(argv[2]);
  if (!tail)
    return fail(tail.error());

  std::vector<ArrayView> views;
  const std::vector<Array> arrays = filled(*driver->inputs(*head));
  for (const Array &array : arrays)
    views.push_back({array.name, array.type, array.shape, array.data.data(),
                     array.data.size()});
  Result<RunId> first = driver->start(*head, views);
  if (!first)
    return fail(first.error());

  // The tail's inputs are outputs of the head.
  const std::vector<TensorInfo> features = *driver->inputs(*tail);
  StartOptions rest;
  for (const TensorInfo &input : features)
    rest.feeds.push_back({input.name, *first, input.name});
  rest.condition =
      Condition{*first, argv[3], Comparison::Less, std::atof(argv[4])};
  Result<RunId> second = driver->start(*tail, {}, rest);
  if (!second)
    return fail(second.error());

  for (RunId run : {*first, *second}) {
    Result<RunState> state = driver->wait(run);
    if (*state == RunState::Failed)
      return fail(driver->take(run).error());
    const RunSpan span = *driver->span(run);
    std::printf("%s: %s, cycles %llu to %llu on accelerator %u\n",
                run == *first ? "head" : "tail", runStateName(*state),
                static_cast<unsigned long long>(span.begin),
                static_cast<unsigned long long>(span.end), span.accelerator);
  }
  return 0;
}
