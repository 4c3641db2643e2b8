// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of a language model.

#include "LanguageModel.h"

#include "ashlar/Container/Container.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::report;
using container::TensorBinding;
using support::ElementType;
using support::HostTensor;

llvm::Expected<LanguageModel>
LanguageModel::load(container::Program program, const std::string &path,
                    const emulator::Options &how) {
  auto loaded = emulator::load(std::move(program), how);
  if (!loaded)
    return withContext(loaded.takeError(), path);
  LanguageModel model(std::move(*loaded));
  if (llvm::Error error = model.findPorts())
    return withContext(std::move(error), path);
  return model;
}

llvm::Error LanguageModel::findPorts() {
  for (const container::KeptTensor &kept : program().cache.tensors)
    if (kept.axis >= 0) {
      rows = kept.shape[static_cast<size_t>(kept.axis)];
      tokensPerRun = kept.rows;
    }
  if (rows == 0)
    return makeError(ErrorClass::Usage,
                     "--generate needs a program with a cache: compile with {}",
                     "--state=auto or --state=OUTPUT:INPUT");
  for (size_t i = 0; i < program().inputs.size(); ++i)
    if (llvm::Error error = findInput(i))
      return error;
  if (!tokenInput)
    return makeError(ErrorClass::Usage,
                     "--generate finds no input for tokens, input_ids of {} "
                     "integers; the inputs are:{}",
                     tokensPerRun, listBindings(program().inputs));
  return findLogits();
}

static bool holdsTokens(ElementType type) {
  return type == ElementType::I64 || type == ElementType::I32;
}

llvm::Error LanguageModel::findInput(size_t index) {
  const TensorBinding &binding = program().inputs[index];
  const llvm::StringRef name = binding.name;
  const bool row = holdsTokens(binding.type) && !binding.shape.empty() &&
                   *support::countElements(binding.shape) ==
                       static_cast<uint64_t>(binding.shape.back());
  const int64_t width = row ? binding.shape.back() : 0;
  const bool one =
      holdsTokens(binding.type) && *support::countElements(binding.shape) == 1;
  if (name == program().cache.position)
    filledInput = index;
  else if (name.contains("seqlens_k") && one)
    lastInput = index;
  else if ((name.contains("total_seq") || name.contains("nonpad")) && one)
    totalInput = index;
  else if (name.contains("write_ind") && one)
    writeInput = index;
  else if (name.contains("mask") && row &&
           (width == rows || width == rows + tokensPerRun))
    maskInput = index;
  else if (name.contains("position") && width == tokensPerRun)
    positionsInputs.push_back(index);
  else if (width == tokensPerRun && !tokenInput)
    tokenInput = index;
  else
    return makeError(
        ErrorClass::Usage,
        "--generate cannot fill input '{}', {}: expected input_ids and "
        "position_ids of {} integers, attention_mask of {} or {}, seqlens_k, "
        "total_sequence_length, nonpad_kv_seqlen and write_indices of one; "
        "make others constant with --constant when compiling",
        binding.name, support::describe(binding.type, binding.shape),
        tokensPerRun, rows, rows + tokensPerRun);
  return llvm::Error::success();
}

llvm::Error LanguageModel::findLogits() {
  const auto &outputs = program().outputs;
  auto fits = [&](const TensorBinding &binding) {
    return binding.type == ElementType::F32 && binding.shape.size() >= 2 &&
           binding.shape[binding.shape.size() - 2] == tokensPerRun &&
           *support::countElements(binding.shape) ==
               static_cast<uint64_t>(tokensPerRun * binding.shape.back());
  };
  for (size_t i = 0; i < outputs.size(); ++i)
    if (fits(outputs[i]) &&
        (outputs.size() == 1 || outputs[i].name == "logits")) {
      logits = i;
      return llvm::Error::success();
    }
  return makeError(ErrorClass::Usage,
                   "--generate finds no output 'logits', f32[1x{}xV]; the "
                   "outputs are:{}",
                   tokensPerRun, listBindings(outputs));
}

/// Writes an integer of the tensor's type.
static void put(HostTensor &tensor, size_t index, int64_t value) {
  if (tensor.type == ElementType::I32) {
    const auto narrow = static_cast<int32_t>(value);
    std::memcpy(&tensor.data[index * 4], &narrow, 4);
    return;
  }
  std::memcpy(&tensor.data[index * 8], &value, 8);
}

/// Tokens that are missing at the end repeat the last one; nothing reads their
/// rows, which the next run replaces.
std::vector<HostTensor> LanguageModel::inputsFor(llvm::ArrayRef<int64_t> tokens,
                                                 int64_t filled) const {
  std::vector<HostTensor> inputs;
  for (const TensorBinding &binding : program().inputs)
    inputs.push_back(HostTensor::zeros(binding.type, binding.shape));
  const auto count = static_cast<int64_t>(tokens.size());
  for (int64_t i = 0; i < tokensPerRun; ++i) {
    const int64_t from = std::min(i, count - 1);
    put(inputs[*tokenInput], i, tokens[from]);
    for (size_t input : positionsInputs)
      put(inputs[input], i, filled + from);
  }
  if (maskInput) {
    HostTensor &mask = inputs[*maskInput];
    const bool apart = mask.shape.back() != rows;
    for (int64_t i = 0; i < filled; ++i)
      put(mask, i, 1);
    // With the missing ones: the model counts the rows of a run by the mask.
    const int64_t added =
        apart ? tokensPerRun : std::min(tokensPerRun, rows - filled);
    for (int64_t i = 0; i < added; ++i)
      put(mask, (apart ? rows : filled) + i, 1);
  }
  for (auto input : {filledInput, writeInput})
    if (input)
      put(inputs[*input], 0, filled);
  // With the missing ones: a run writes as many rows as it takes tokens.
  if (lastInput)
    put(inputs[*lastInput], 0, filled + tokensPerRun - 1);
  if (totalInput)
    put(inputs[*totalInput], 0, filled + tokensPerRun);
  return inputs;
}

llvm::Expected<std::vector<double>>
LanguageModel::run(llvm::ArrayRef<int64_t> tokens, RunState &state,
                   emulator::Options how) {
  how.state = state.words;
  how.kept = state.kept;
  how.timing = how.timing && !measured;
  auto result = emulator::run(loaded, inputsFor(tokens, state.filled), how);
  if (!result)
    return result.takeError();
  if (result->timed) {
    StepCost cost;
    cost.cycles = result->totalCycles;
    for (const emulator::NodeStats &node : result->nodes) {
      cost.dramRead += node.dramRead;
      cost.dramWrite += node.dramWrite;
    }
    measured = cost;
  }
  state.words = std::move(result->state);
  state.kept = std::move(result->kept);
  state.filled += static_cast<int64_t>(tokens.size());
  const HostTensor &all = result->outputs[logits];
  const auto width = static_cast<size_t>(all.shape.back());
  std::vector<double> row(width);
  for (size_t i = 0; i < width; ++i)
    row[i] = all.asDouble((tokens.size() - 1) * width + i);
  return row;
}
