// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a driver refuses before a run begins, and the scalars that decide about
// runs.

#include "DriverState.h"
#include "ashlar/Support/Tensor.h"

#include <algorithm>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::api;

static Error usage(std::string message) {
  return {api::ErrorCode::Usage, std::move(message)};
}

static std::string describe(const TensorInfo &tensor) {
  return support::describe(static_cast<support::ElementType>(tensor.type),
                           tensor.shape);
}

static const TensorInfo *named(const std::vector<TensorInfo> &tensors,
                               std::string_view name) {
  auto found = std::find_if(
      tensors.begin(), tensors.end(),
      [&](const TensorInfo &tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// Where programs begin in DRAM: pages keep their constants apart.
static uint64_t pages(uint64_t bytes) {
  constexpr uint64_t page = 4096;
  return (bytes + page - 1) / page * page;
}

Status Driver::Impl::place(LoadedProgram &program,
                           const std::string &name) const {
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  uint64_t used = 0;
  for (const auto &[id, other] : programs) {
    taken.emplace_back(other.base, other.base + pages(other.bytes));
    used += pages(other.bytes);
  }
  std::sort(taken.begin(), taken.end());
  uint64_t base = 0;
  for (const auto &[begin, end] : taken) {
    if (begin - base >= pages(program.bytes))
      break;
    base = end;
  }
  if (options.dramBytes > 0 && (program.bytes > options.dramBytes ||
                                base > options.dramBytes - program.bytes))
    return Error{
        api::ErrorCode::Capacity,
        fmt::format("program '{}' needs {} bytes of DRAM in one piece, "
                    "an accelerator has {} and other programs use {}",
                    name, program.bytes, options.dramBytes, used)};
  program.base = base;
  for (Descriptor &descriptor : program.descriptors)
    descriptor.address += base;
  return std::monostate();
}

/// An output of a run that others may still read.
Result<const TensorInfo *>
Driver::Impl::outputOf(RunId run, const std::string &output) const {
  auto found = runs.find(run);
  if (found == runs.end() || found->second.released)
    return usage(fmt::format("there is no run {}", run));
  if (found->second.taken)
    return usage(fmt::format("the result of run {} has been taken", run));
  auto program = programs.find(found->second.program);
  if (program != programs.end())
    if (const TensorInfo *tensor = named(program->second.outputs, output))
      return tensor;
  return usage(fmt::format("run {} has no output '{}'", run, output));
}

Status Driver::Impl::checkFeed(const LoadedProgram &program,
                               const Feed &feed) const {
  auto output = outputOf(feed.run, feed.output);
  if (!output)
    return output.error();
  const TensorInfo *input = named(program.inputs, feed.input);
  if (!input)
    return usage(fmt::format("the program has no input '{}'", feed.input));
  if (input->type == (*output)->type && input->shape == (*output)->shape)
    return std::monostate();
  return Error{api::ErrorCode::Malformed,
               fmt::format("input '{}' is {}, output '{}' of run {} is {}",
                           feed.input, describe(*input), feed.output, feed.run,
                           describe(**output))};
}

Status Driver::Impl::checkCondition(const Condition &condition) const {
  if (condition.comparison > Comparison::NotEqual)
    return usage(fmt::format("comparison {} of a condition, expected 0 to 5",
                             static_cast<unsigned>(condition.comparison)));
  auto output = outputOf(condition.run, condition.output);
  if (!output)
    return output.error();
  if (support::countElements((*output)->shape).value_or(0) == 1)
    return std::monostate();
  return Error{api::ErrorCode::Malformed,
               fmt::format("a condition reads output '{}', which is {}; "
                           "expected one element",
                           condition.output, describe(**output))};
}

Status Driver::Impl::check(const LoadedProgram &program, const Run &run) const {
  std::vector<std::string> given;
  for (const Array &array : run.inputs)
    given.push_back(array.name);
  for (const Feed &feed : run.how.feeds) {
    if (Status wrong = checkFeed(program, feed); !wrong)
      return wrong;
    given.push_back(feed.input);
  }
  if (run.how.condition)
    if (Status wrong = checkCondition(*run.how.condition); !wrong)
      return wrong;
  for (const std::string &name : given) {
    if (!named(program.inputs, name))
      return usage(fmt::format("the program has no input '{}'", name));
    if (std::count(given.begin(), given.end(), name) > 1)
      return usage(fmt::format("input '{}' is given twice", name));
  }
  for (const TensorInfo &input : program.inputs)
    if (std::count(given.begin(), given.end(), input.name) == 0)
      return usage(fmt::format("input '{}' ({}) is missing", input.name,
                               describe(input)));
  return std::monostate();
}

Result<double> api::scalarOf(const Array &array) {
  support::HostTensor tensor;
  tensor.type = static_cast<support::ElementType>(array.type);
  tensor.shape.assign(array.shape.begin(), array.shape.end());
  tensor.data = array.data;
  if (tensor.numElements() != 1)
    return Error{api::ErrorCode::Malformed,
                 fmt::format("a condition reads output '{}' of several "
                             "samples, expected one",
                             array.name)};
  return tensor.asDouble(0);
}

bool api::holds(const Condition &condition, double value) {
  switch (condition.comparison) {
  case Comparison::Less:
    return value < condition.value;
  case Comparison::LessOrEqual:
    return value <= condition.value;
  case Comparison::Greater:
    return value > condition.value;
  case Comparison::GreaterOrEqual:
    return value >= condition.value;
  case Comparison::Equal:
    return value == condition.value;
  case Comparison::NotEqual:
    return value != condition.value;
  }
  return false;
}
