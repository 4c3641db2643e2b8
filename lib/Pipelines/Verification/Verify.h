// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --verify: every node of the import against the definition of ONNX, every
// layer after every phase against the import, and on the emulator against
// binary64, with the error that its format guarantees (docs/Numerics.md 13).

#ifndef ASHLAR_LIB_PIPELINES_VERIFY_H
#define ASHLAR_LIB_PIPELINES_VERIFY_H

#include "../Samples/SampleArchive.h"
#include "ashlar/Pipelines/Compile.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace ashlar::pipelines {

/// A phase computed in binary64 without formats: import against what ONNX
/// defines for each node, the later ones against the network as imported.
struct PhaseCheck {
  Phase phase = Phase::Import;
  uint64_t layers = 0; ///< Layers (of import: values) that both have.
  /// Largest difference relative to the largest element of its layer, and
  /// where it is.
  double worst = 0;
  std::string layer;
};

/// One layer of the numeric plan on the emulator, all samples.
struct LayerCheck {
  std::string name, op;
  /// Of the whole network up to here, against binary64.
  double signal = 0, noise = 0;
  /// Of the layer alone, for the operands that it had; errors that have no
  /// guarantee are not among them.
  double maxError = 0, maxBound = 0;
  double ratio = 0;        ///< Largest error / bound of an element.
  bool guaranteed = false; ///< Some element has a bound.
  uint64_t saturated = 0;  ///< Limited elements, operands' fetch included.
  uint64_t vanished = 0;   ///< Non-zero elements stored as zero.
  uint64_t fetchSaturated = 0;
};

/// The first layer that leaves its bound.
struct Violation {
  std::string layer;
  Phase phase = Phase::Import;
  std::string pass; ///< What changed it; empty if no single pass did.
  std::string text;
};

struct Verification {
  uint64_t samples = 0;
  std::vector<PhaseCheck> phases;
  std::vector<LayerCheck> layers;
  std::optional<Violation> violation;
};

/// Signal-to-noise ratio in dB against fp32, of the layers that have noise.
std::map<std::string, double> layerRatios(const Verification &verification);

/// Largest relative difference that folding may cause: constants are rounded
/// to binary32 once, sums change their order.
inline constexpr double kFoldTolerance = 0x1p-16;

/// Compiles the model of `options` and checks it on the samples of `inputs`. A
/// violation is not an error here. The hook of the options is told of the
/// import too, under the name of the phase; it may change attributes there.
llvm::Expected<Verification> verify(const CompileOptions &options,
                                    const SampleArchive &inputs,
                                    mlir::MLIRContext &context);

/// The table and the verdict.
std::string describe(const Verification &verification);
llvm::json::Value toJson(const Verification &verification);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_VERIFY_H
