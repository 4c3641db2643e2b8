// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One compilation for all samples; the emulator dumps every planned tensor.

#include "RunSamples.h"
#include "../ProveProgram.h"

namespace ashlar::pipelines {

llvm::Error runSamples(mlir::ModuleOp folded, CompileOptions options,
                       llvm::ArrayRef<Sample> samples,
                       mlir::MLIRContext &context,
                       llvm::function_ref<void(const container::Program &,
                                               const emulator::RunResult &)>
                           visit) {
  options.dumpPlan.clear();
  options.stopAfter = Phase::Emit;
  // Values are wanted, which are the same in the first program that runs.
  options.comparedWork = 0;
  options.schedule = "off";
  options.formats.scale = numerics::ScalePolicy();
  for (auto &[name, node] : options.formats.nodes)
    node.scale.reset();
  auto compiled = compileFrom(folded, Phase::Fold, options, context);
  if (!compiled)
    return compiled.takeError();
  emulator::Options how;
  how.threads = std::max(1u, options.threads);
  how.timing = false;
  how.dumpTensors = true;
  auto program = loadCompiled(std::move(*compiled->program), how);
  if (!program)
    return program.takeError();
  for (const Sample &sample : samples) {
    auto result = emulator::run(*program, sample, how);
    if (!result)
      return result.takeError();
    visit(program->program(), *result);
  }
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
