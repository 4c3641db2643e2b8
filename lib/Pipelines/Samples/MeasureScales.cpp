// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model with `runmax` and keeps the largest exponents. Assumption: the
// policies of scales change no format, so both programs have the same tensors.

#include "MeasureScales.h"

#include "RunSamples.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace ashlar::pipelines {

using numerics::FormatTable;
using numerics::ScalePolicy;

bool needsScales(const FormatTable &formats) {
  auto open = [](const ScalePolicy &policy) {
    return policy.isConstant() && !policy.exponent;
  };
  return open(formats.scale) ||
         llvm::any_of(formats.nodes, [&](const auto &node) {
           return node.second.scale && open(*node.second.scale);
         });
}

namespace {

/// Raises `largest` to what one run showed.
void collect(const container::Program &program,
             const emulator::RunResult &result,
             std::map<std::string, int> &largest) {
  for (const emulator::TensorDump &dump : result.dumps) {
    const container::TensorPlacement &placement = program.dumps[dump.placement];
    // What E is if all blocks are zero says nothing about other samples.
    const int zero = -128 - (static_cast<int>(placement.mantissa) - 2);
    if (!placement.encoded || dump.scaleExponent <= zero)
      continue;
    auto [entry, added] = largest.insert({placement.name, dump.scaleExponent});
    entry->second = std::max(entry->second, dump.scaleExponent);
  }
}

} // namespace

llvm::Expected<std::string> measureScales(const CompileOptions &options,
                                          const SampleArchive &archive,
                                          mlir::MLIRContext &context) {
  auto evaluator = Evaluator::create(options, context);
  if (!evaluator)
    return evaluator.takeError();
  auto samples = readSamples(evaluator->folded(), archive);
  if (!samples)
    return samples.takeError();
  std::map<std::string, int> largest;
  auto keep = [&](const container::Program &program,
                  const emulator::RunResult &result) {
    collect(program, result, largest);
  };
  if (llvm::Error error =
          runSamples(evaluator->folded(), options, *samples, context, keep))
    return error;
  llvm::json::Object object;
  for (const auto &[name, exponent] : largest)
    object[llvm::json::fixUTF8(name)] = exponent;
  return llvm::formatv("{0}", llvm::json::Value(std::move(object))).str();
}

} // namespace ashlar::pipelines
