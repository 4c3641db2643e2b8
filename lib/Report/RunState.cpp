// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of the state that a run leaves for the next. A state means something
// only to programs of the same numeric plan, so the file names the plan by its
// checksum: how such a program was tiled and placed does not matter.

#include "ashlar/Container/Container.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::report;
using support::ElementType;
using support::HostTensor;
using support::NamedTensor;

namespace {

constexpr llvm::StringLiteral stateKey = "state", planKey = "plan";

template <typename T>
NamedTensor vectorOf(llvm::StringRef name, ElementType type,
                     llvm::ArrayRef<T> values) {
  NamedTensor array = {
      name.str(),
      HostTensor::zeros(type, {static_cast<int64_t>(values.size())})};
  std::memcpy(array.tensor.data.data(), values.data(),
              values.size() * sizeof(T));
  return array;
}

/// The arrays that make a state file of \p program.
std::vector<NamedTensor> arraysOf(const container::Program &program,
                                  llvm::ArrayRef<int16_t> state) {
  const uint64_t plan = llvm::xxh3_64bits(program.numericPlanJson);
  return {vectorOf(stateKey, ElementType::I16, state),
          vectorOf(planKey, ElementType::U64, llvm::ArrayRef<uint64_t>(plan))};
}

} // namespace

llvm::Expected<std::vector<int16_t>>
report::readState(const container::Program &program, llvm::StringRef path) {
  auto arrays = support::readNpz(path);
  if (!arrays)
    return arrays.takeError();
  std::vector<int16_t> state = program.state.initial;
  for (const NamedTensor &expected : arraysOf(program, state)) {
    auto found = llvm::find_if(*arrays, [&](const NamedTensor &array) {
      return array.name == expected.name;
    });
    if (found == arrays->end())
      return makeError(ErrorClass::Malformed,
                       "{}: no array '{}', expected a file of --state-out",
                       path.str(), expected.name);
    if (found->tensor.type != expected.tensor.type ||
        found->tensor.shape != expected.tensor.shape)
      return makeError(ErrorClass::Malformed,
                       "{}: array '{}' is {}, expected {}", path.str(),
                       expected.name, support::describe(found->tensor),
                       support::describe(expected.tensor));
    if (expected.name == planKey && found->tensor.data != expected.tensor.data)
      return makeError(ErrorClass::Malformed,
                       "{}: left by a program of another numeric plan",
                       path.str());
    if (expected.name == stateKey)
      std::memcpy(state.data(), found->tensor.data.data(),
                  found->tensor.data.size());
  }
  return state;
}

llvm::Error report::writeState(const container::Program &program,
                               llvm::ArrayRef<int16_t> state,
                               llvm::StringRef path) {
  return support::writeNpz(path, arraysOf(program, state));
}
