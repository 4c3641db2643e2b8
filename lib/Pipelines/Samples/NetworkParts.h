// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A quantised network cut into parts that compute the same bits one after the
// other. Networks that differ in a few formats have all other parts in common.

#ifndef ASHLAR_LIB_PIPELINES_SAMPLES_NETWORKPARTS_H
#define ASHLAR_LIB_PIPELINES_SAMPLES_NETWORKPARTS_H

#include "ashlar/Support/Memo.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace ashlar::pipelines {

/// A part: a module of the quantise phase by itself. Tensors of the network are
/// numbered: first the graph inputs, then the outputs of the parts in order.
struct NetworkPart {
  std::string module; ///< MLIR bytecode.
  /// Of the bytecode: parts of equal content compute the same.
  support::ArgumentDigest::Number content;
  std::vector<size_t> inputs; ///< Numbers of tensors.
  size_t firstOutput = 0;     ///< Number of the first output.
  size_t outputs = 0;         ///< How many there are.
};

/// The parts in order of execution; a part reads tensors of earlier ones only.
struct CutNetwork {
  std::vector<NetworkPart> parts;
  std::vector<size_t> results; ///< Numbers of the graph outputs.
};

/// Cuts \p quantised, a module after the quantise phase, where few bytes cross,
/// into parts of some products each. An encoded tensor crosses decoded, which
/// is exact, and is encoded again, which gives the same blocks and the same
/// scale exponent: only tensors that own an exponent cross, and only those
/// whose exponent depends on nothing but their blocks. A network that keeps
/// state, or has results whose extent is known at run time only, is one part.
CutNetwork cutNetwork(mlir::ModuleOp quantised);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_SAMPLES_NETWORKPARTS_H
