// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input arrays: fitting names, types and batches; seeded ones; samples.

#include "ashlar/Container/Container.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Half.h"
#include "ashlar/Support/Npy.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::report;
using container::TensorBinding;
using support::ElementType;
using support::HostTensor;
using support::NamedTensor;

std::string report::listBindings(llvm::ArrayRef<TensorBinding> bindings) {
  std::string text;
  for (const TensorBinding &binding : bindings)
    text +=
        fmt::format("\n  {}  {}{}", binding.name,
                    support::describe(binding.type, binding.shape),
                    binding.hasRunTimeExtent()
                        ? fmt::format(", at most; axis {} depends on the data",
                                      binding.extentAxis)
                        : "");
  return text;
}

namespace {

/// How many samples \p array holds for \p binding, or an error.
llvm::Expected<uint64_t> countSamples(const TensorBinding &binding,
                                      const HostTensor &array) {
  auto fail = [&] {
    return makeError(ErrorClass::Malformed, "input '{}' is {}, expected {}{}",
                     binding.name, support::describe(array),
                     support::describe(binding.type, binding.shape),
                     binding.shape.empty() ? ""
                                           : " or a multiple of it on axis 0");
  };
  if (!support::isStoredAs(array.type, binding.type) ||
      array.shape.size() != binding.shape.size())
    return fail();
  if (llvm::ArrayRef<int64_t>(array.shape) ==
      llvm::ArrayRef<int64_t>(binding.shape))
    return 1;
  // Equal ranks and unequal shapes: there is an axis 0.
  if (llvm::ArrayRef<int64_t>(array.shape).drop_front() !=
          llvm::ArrayRef<int64_t>(binding.shape).drop_front() ||
      binding.shape[0] <= 0 || array.shape[0] <= 0 ||
      array.shape[0] % binding.shape[0] != 0)
    return fail();
  return static_cast<uint64_t>(array.shape[0] / binding.shape[0]);
}

NamedTensor *findArray(llvm::MutableArrayRef<NamedTensor> arrays,
                       llvm::StringRef name) {
  for (NamedTensor &array : arrays)
    if (array.name == name)
      return &array;
  return nullptr;
}

llvm::Error checkNames(llvm::ArrayRef<TensorBinding> bindings,
                       llvm::MutableArrayRef<NamedTensor> arrays,
                       llvm::StringRef remedy) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    bool known = false;
    for (const TensorBinding &binding : bindings)
      known |= binding.name == arrays[i].name;
    if (!known)
      return makeError(ErrorClass::Usage,
                       "the program has no input '{}', expected:{}",
                       arrays[i].name, listBindings(bindings));
    if (findArray(arrays, arrays[i].name) != &arrays[i])
      return makeError(ErrorClass::Usage, "input '{}' is given twice",
                       arrays[i].name);
  }
  std::string missing;
  for (const TensorBinding &binding : bindings)
    if (!findArray(arrays, binding.name))
      missing += (missing.empty() ? "'" : ", '") + binding.name + "'";
  if (!missing.empty())
    return makeError(ErrorClass::Usage,
                     "no array for input {}; the program's inputs are:{}{}",
                     missing, listBindings(bindings), remedy.str());
  return llvm::Error::success();
}

} // namespace

llvm::Expected<InputSet>
report::bindInputs(llvm::ArrayRef<TensorBinding> bindings,
                   std::vector<NamedTensor> arrays, llvm::StringRef remedy) {
  if (llvm::Error error = checkNames(bindings, arrays, remedy))
    return error;
  InputSet set;
  for (size_t i = 0; i < bindings.size(); ++i) {
    NamedTensor *array = findArray(arrays, bindings[i].name);
    llvm::Expected<uint64_t> samples = countSamples(bindings[i], array->tensor);
    if (!samples)
      return samples.takeError();
    if (i == 0)
      set.samples = *samples;
    else if (*samples != set.samples)
      return makeError(ErrorClass::Malformed,
                       "input '{}' holds {} samples, but '{}' holds {}",
                       bindings[i].name, *samples, bindings[0].name,
                       set.samples);
    set.tensors.push_back(std::move(array->tensor));
    set.tensors.back().type = bindings[i].type;
  }
  return set;
}

llvm::Expected<InputSet> report::bindInputs(const container::Program &program,
                                            std::vector<NamedTensor> arrays,
                                            llvm::StringRef remedy) {
  auto isPosition = [&](const TensorBinding &binding) {
    return binding.name == program.cache.position;
  };
  auto position = llvm::find_if(program.inputs, isPosition);
  if (position == program.inputs.end() ||
      findArray(arrays, program.cache.position))
    return bindInputs(program.inputs, std::move(arrays), remedy);
  std::vector<TensorBinding> others;
  for (const TensorBinding &binding : program.inputs)
    if (!isPosition(binding))
      others.push_back(binding);
  llvm::Expected<InputSet> set = bindInputs(others, std::move(arrays), remedy);
  if (!set)
    return set;
  set->position = position - program.inputs.begin();
  set->tensors.insert(set->tensors.begin() +
                          static_cast<ptrdiff_t>(*set->position),
                      HostTensor::zeros(position->type, position->shape));
  return set;
}

namespace {

/// splitmix64: a well-known mixer of counters, the same on every host.
uint64_t nextRandom(uint64_t &state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <typename T>
void store(uint8_t *at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void storeRandom(ElementType type, uint64_t random, uint8_t *at) {
  // 24 bits: every value is a binary32 exactly.
  const float uniform =
      static_cast<float>(static_cast<int32_t>(random >> 40) - (1 << 23)) *
      0x1p-23f;
  const uint8_t byte = static_cast<uint8_t>(random >> 56);
  const int8_t small = static_cast<int8_t>(byte);
  switch (type) {
  case ElementType::F32:
    return store(at, uniform);
  case ElementType::F64:
    return store(at, static_cast<double>(uniform));
  case ElementType::F16:
    return store(at, support::floatToHalf(uniform));
  case ElementType::BF16:
    return store(at, support::floatToBfloat(uniform));
  case ElementType::I8:
    return store(at, small);
  case ElementType::U8:
    return store(at, byte);
  case ElementType::I16:
    return store(at, static_cast<int16_t>(small));
  case ElementType::U16:
    return store(at, static_cast<uint16_t>(byte));
  // Tokens, positions, lengths and masks: 0 and 1 are good for nearly all.
  case ElementType::I32:
  case ElementType::U32:
    return store(at, static_cast<uint32_t>(byte & 1));
  case ElementType::I64:
  case ElementType::U64:
    return store(at, static_cast<uint64_t>(byte & 1));
  case ElementType::Bool:
    return store(at, static_cast<uint8_t>(byte & 1));
  }
}

} // namespace

HostTensor report::randomInput(const TensorBinding &binding, uint64_t seed) {
  uint64_t state = seed;
  // FNV-1a of the name separates the inputs of one seed.
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : binding.name)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  state ^= hash;
  HostTensor tensor = HostTensor::zeros(binding.type, binding.shape);
  const unsigned width = support::byteSize(binding.type);
  for (size_t at = 0; at < tensor.data.size(); at += width)
    storeRandom(binding.type, nextRandom(state), &tensor.data[at]);
  return tensor;
}

HostTensor report::sampleOf(const HostTensor &array, uint64_t samples,
                            uint64_t index) {
  if (samples == 1)
    return array;
  HostTensor sample;
  sample.type = array.type;
  sample.shape = array.shape;
  sample.shape[0] /= static_cast<int64_t>(samples);
  const size_t bytes = array.data.size() / samples;
  const auto begin = array.data.begin() + static_cast<ptrdiff_t>(bytes * index);
  sample.data.assign(begin, begin + static_cast<ptrdiff_t>(bytes));
  return sample;
}

void report::appendSample(HostTensor &stacked, const HostTensor &sample,
                          uint64_t samples) {
  if (stacked.data.empty() && stacked.shape.empty()) {
    stacked.type = sample.type;
    stacked.shape = sample.shape;
    if (samples > 1) {
      if (stacked.shape.empty())
        stacked.shape.push_back(1);
      stacked.shape[0] *= static_cast<int64_t>(samples);
    }
    stacked.data.reserve(sample.data.size() * samples);
  }
  stacked.data.insert(stacked.data.end(), sample.data.begin(),
                      sample.data.end());
}
