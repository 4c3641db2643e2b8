// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of operators: one row per (operator, versions with one meaning).
// Dispatch, the support page and the refusal messages all come from it.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_REGISTRY_H
#define ASHLAR_LIB_FRONTEND_ONNX_REGISTRY_H

#include "Node.h"

#include <vector>

namespace ashlar::frontend {

using Handler = void (*)(Node &);

struct OperatorRow {
  const char *op;
  /// Since-versions that this handler covers, ascending.
  std::vector<int> versions;
  Handler handler;
  /// What becomes of it and what is refused, for the support page.
  const char *notes;
  /// Empty for ONNX's own.
  const char *domain = "";
};

/// One function per family file.
std::vector<OperatorRow> elementwiseRows();
std::vector<OperatorRow> experimentalRows();
std::vector<OperatorRow> unaryRows();
std::vector<OperatorRow> trigonometryRows();
std::vector<OperatorRow> convRows();
std::vector<OperatorRow> gemmRows();
std::vector<OperatorRow> einsumRows();
std::vector<OperatorRow> poolRows();
std::vector<OperatorRow> quantizeRows();
std::vector<OperatorRow> quantizeLinearRows();
std::vector<OperatorRow> hostRows();
std::vector<OperatorRow> reduceRows();
std::vector<OperatorRow> normalizationRows();
std::vector<OperatorRow> movementRows();
std::vector<OperatorRow> slicingRows();
std::vector<OperatorRow> indexingRows();
std::vector<OperatorRow> resizeRows();
std::vector<OperatorRow> shapeRows();
std::vector<OperatorRow> attentionRows();
std::vector<OperatorRow> bitRows();
std::vector<OperatorRow> maskRows();
std::vector<OperatorRow> patchRows();
std::vector<OperatorRow> recurrentRows();
std::vector<OperatorRow> regionRows();
std::vector<OperatorRow> regionPoolRows();
std::vector<OperatorRow> samplingRows();
std::vector<OperatorRow> scatterRows();
std::vector<OperatorRow> signalRows();
std::vector<OperatorRow> sortingRows();
std::vector<OperatorRow> gramRows();
std::vector<OperatorRow> linearAttentionRows();
std::vector<OperatorRow> deformConvRows();
std::vector<OperatorRow> bitCastRows();
std::vector<OperatorRow> randomRows();
// Operators of other domains.
std::vector<OperatorRow> contribActivationRows();
std::vector<OperatorRow> contribNormalizationRows();
std::vector<OperatorRow> contribProductRows();
std::vector<OperatorRow> cachedAttentionRows();
std::vector<OperatorRow> diffusionRows();
std::vector<OperatorRow> embeddingRows();
std::vector<OperatorRow> cropRows();
std::vector<OperatorRow> fusionRows();
std::vector<OperatorRow> inverseRows();
std::vector<OperatorRow> gatedDeltaNetRows();
std::vector<OperatorRow> positionRows();
std::vector<OperatorRow> rotaryRows();
std::vector<OperatorRow> scaledWeightRows();
std::vector<OperatorRow> packedAttentionRows();
std::vector<OperatorRow> packedWeightRows();
std::vector<OperatorRow> qlinearRows();
std::vector<OperatorRow> linearModelRows();
std::vector<OperatorRow> qonnxRows();
std::vector<OperatorRow> quarkRows();
std::vector<OperatorRow> treeRows();

/// Slices of `x` at run-time indices, a vector, along `axis`
/// (Indexing.cpp).
Value takeRows(Node &n, Value x, int64_t axis, Value indices);

/// All rows, sorted by operator, then version.
const std::vector<OperatorRow> &operatorTable();

/// The row for the newest version not after `opset`; null with the reason in
/// `why` if there is none.
const OperatorRow *findOperator(StringRef domain, StringRef op, int64_t opset,
                                std::string &why);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_REGISTRY_H
