// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of the state that a run leaves for the next. Numbers of scale policies
// mean something only to programs of the same numeric plan, kept tensors to
// those of the same model, so the file names both by checksums: how such a
// program was tiled and placed does not matter.

#include "ashlar/Report/RunState.h"

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Npz.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::report;
using support::ElementType;
using support::HostTensor;
using support::NamedTensor;

namespace {

constexpr llvm::StringLiteral stateKey = "state", planKey = "plan",
                              modelKey = "model", filledKey = "filled";

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
                                  const RunState &state) {
  std::vector<NamedTensor> arrays;
  if (!state.words.empty()) {
    const uint64_t plan = llvm::xxh3_64bits(program.numericPlanJson);
    arrays.push_back(vectorOf(stateKey, ElementType::I16,
                              llvm::ArrayRef<int16_t>(state.words)));
    arrays.push_back(
        vectorOf(planKey, ElementType::U64, llvm::ArrayRef<uint64_t>(plan)));
  }
  if (program.cache.empty())
    return arrays;
  arrays.push_back(vectorOf(modelKey, ElementType::U64,
                            llvm::ArrayRef<uint64_t>(program.cache.model)));
  arrays.push_back(vectorOf(filledKey, ElementType::I64,
                            llvm::ArrayRef<int64_t>(state.filled)));
  for (auto [binding, tensor] : llvm::zip(program.cache.tensors, state.kept))
    arrays.push_back({binding.name, tensor});
  return arrays;
}

/// What a file says in the place of \p expected, or an error.
llvm::Expected<HostTensor> find(llvm::MutableArrayRef<NamedTensor> arrays,
                                const NamedTensor &expected) {
  auto found = llvm::find_if(arrays, [&](const NamedTensor &array) {
    return array.name == expected.name;
  });
  if (found == arrays.end())
    return makeError(ErrorClass::Malformed,
                     "no array '{}', expected a file of --state-out",
                     expected.name);
  if (!support::isStoredAs(found->tensor.type, expected.tensor.type) ||
      found->tensor.shape != expected.tensor.shape)
    return makeError(ErrorClass::Malformed, "array '{}' is {}, expected {}",
                     expected.name, support::describe(found->tensor),
                     support::describe(expected.tensor));
  found->tensor.type = expected.tensor.type;
  return std::move(found->tensor);
}

/// Rows that the cache of \p program has room for; 0 without growing tensors.
int64_t roomOf(const container::Program &program) {
  for (const container::KeptTensor &kept : program.cache.tensors)
    if (kept.axis >= 0)
      return kept.shape[static_cast<size_t>(kept.axis)];
  return 0;
}

} // namespace

RunState RunState::initialOf(const container::Program &program) {
  RunState state;
  state.words = program.state.initial;
  for (const container::KeptTensor &kept : program.cache.tensors)
    state.kept.push_back(HostTensor::zeros(kept.type, kept.shape));
  return state;
}

llvm::Expected<RunState> report::readState(const container::Program &program,
                                           llvm::StringRef path) {
  auto arrays = support::readNpz(path);
  if (!arrays)
    return arrays.takeError();
  RunState state = RunState::initialOf(program);
  size_t kept = 0;
  // Keys before tensors: another plan or model is said first.
  for (const NamedTensor &expected : arraysOf(program, state)) {
    llvm::Expected<HostTensor> found = find(*arrays, expected);
    if (!found)
      return withContext(found.takeError(), path.str());
    const bool key = expected.name == planKey || expected.name == modelKey;
    if (key && found->data != expected.tensor.data)
      return makeError(ErrorClass::Malformed,
                       "{}: left by a program of another {}", path.str(),
                       expected.name == planKey ? "numeric plan" : "model");
    if (key)
      continue;
    if (expected.name == stateKey)
      std::memcpy(state.words.data(), found->data.data(), found->data.size());
    else if (expected.name == filledKey)
      std::memcpy(&state.filled, found->data.data(), sizeof(state.filled));
    else
      state.kept[kept++] = std::move(*found);
  }
  if (state.filled < 0 || state.filled > roomOf(program))
    return makeError(ErrorClass::Malformed,
                     "{}: {} rows are filled, expected 0 to {}", path.str(),
                     state.filled, roomOf(program));
  return state;
}

llvm::Error report::writeState(const container::Program &program,
                               const RunState &state, llvm::StringRef path) {
  return support::writeNpz(path, arraysOf(program, state));
}
