// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of the quantise phase.

#include "ashlar/Transforms/BFP/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace ashlar::bfp {

void buildQuantisePipeline(OpPassManager &manager,
                           const QuantiseOptions &options) {
  manager.addPass(createConvertProducts());
  // Before formats: an absorbed op has no result to store.
  manager.addPass(createFuseEpilogues());
  manager.addPass(createFuseRequantise());
  manager.addPass(createFuseZeroPoints());
  manager.addPass(createFuseQuantisedMaps());
  // What is left of sums and products with constants.
  manager.addPass(createFuseAffine());
  AssignFormatsOptions asked;
  asked.format = options.format;
  manager.addPass(createAssignFormats(asked));
  ChooseFormatsOptions formats;
  formats.strictRange = options.strictRange;
  formats.residual = options.residual;
  formats.blockArithmetic = options.blockArithmetic;
  manager.addPass(createChooseFormats(formats));
  manager.addPass(createFuseEncodes());
  if (options.blockArithmetic)
    manager.addPass(createUseBlockArithmetic());
  if (options.weightScaling)
    manager.addPass(createScaleChannels());
  manager.addPass(createNarrowWeights());
  // Last, when every event is there.
  ChooseScalesOptions scales;
  scales.format = llvm::StringRef(options.format).starts_with("{")
                      ? options.format
                      : std::string();
  scales.exponents = options.exponents;
  manager.addPass(createChooseScales(scales));
  manager.addPass(createVerifyPlan());
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("bfp8, w=8,block=16,range=7, or a table as JSON"),
      llvm::cl::init("bfp8")};
  Option<bool> strictRange{
      *this, "strict-range",
      llvm::cl::desc("Refuse a range that cannot be proven"),
      llvm::cl::init(false)};
  Option<std::string> residual{*this, "residual",
                               llvm::cl::desc("bfp, bf16 or f32"),
                               llvm::cl::init("bfp")};
  Option<std::string> exponents{
      *this, "exponents",
      llvm::cl::desc("Measured scale exponents by tensor as JSON"),
      llvm::cl::init("")};
  Option<bool> weightScaling{
      *this, "weight-scaling",
      llvm::cl::desc("Scale weights per output channel to round them better"),
      llvm::cl::init(true)};
  Option<bool> blockArithmetic{
      *this, "block-arithmetic",
      llvm::cl::desc("Keep epilogues and arithmetic in integers"),
      llvm::cl::init(false)};
};
} // namespace

void registerQuantisePipeline() {
  PassPipelineRegistration<PipelineOptions>(
      "ashlar-quantise", "The quantise phase: canonical nn to numeric plan",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildQuantisePipeline(manager,
                              {options.format, options.strictRange,
                               options.residual, options.exponents,
                               options.weightScaling, options.blockArithmetic});
      });
}

} // namespace ashlar::bfp
