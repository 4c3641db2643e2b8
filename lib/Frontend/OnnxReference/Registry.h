// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of evaluators: one row per (operator, versions with one meaning),
// as the importer's table has its handlers. A test holds the two against each
// other.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_REGISTRY_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_REGISTRY_H

#include "Call.h"

namespace ashlar::onnxref {

using Evaluator = void (*)(Call &);

/// How a result follows the operands.
enum class Continuity {
  /// A small change of the operands is a small change of the result.
  Smooth,
  /// Results move by steps: rounding, comparison, choice of an index.
  Steps,
  /// Steps after sums and factors of the node's own, whose rounding ONNX
  /// leaves open: integer products with scales.
  OpenSteps,
};

struct EvaluatorRow {
  const char *op;
  /// Since-versions with this meaning, ascending.
  std::vector<int> versions;
  /// Operands that are always there.
  size_t leastOperands;
  Evaluator evaluate;
  Continuity continuity = Continuity::Smooth;
  /// Empty for ONNX's own.
  const char *domain = "";
};

/// One function per family file.
std::vector<EvaluatorRow> arithmeticEvaluators();
std::vector<EvaluatorRow> experimentalEvaluators();
std::vector<EvaluatorRow> functionEvaluators();
std::vector<EvaluatorRow> shapeEvaluators();
std::vector<EvaluatorRow> movementEvaluators();
std::vector<EvaluatorRow> indexingEvaluators();
std::vector<EvaluatorRow> reductionEvaluators();
std::vector<EvaluatorRow> normalisationEvaluators();
std::vector<EvaluatorRow> convolutionEvaluators();
std::vector<EvaluatorRow> poolingEvaluators();
std::vector<EvaluatorRow> productEvaluators();
std::vector<EvaluatorRow> resizeEvaluators();
std::vector<EvaluatorRow> quantisationEvaluators();
std::vector<EvaluatorRow> attentionEvaluators();
std::vector<EvaluatorRow> choiceEvaluators();
std::vector<EvaluatorRow> maskEvaluators();
std::vector<EvaluatorRow> patchEvaluators();
std::vector<EvaluatorRow> recurrentEvaluators();
std::vector<EvaluatorRow> regionEvaluators();
std::vector<EvaluatorRow> samplingEvaluators();
std::vector<EvaluatorRow> scatterEvaluators();
std::vector<EvaluatorRow> signalEvaluators();
std::vector<EvaluatorRow> gramEvaluators();
std::vector<EvaluatorRow> recurrenceEvaluators();
std::vector<EvaluatorRow> deformConvEvaluators();
std::vector<EvaluatorRow> bitCastEvaluators();
std::vector<EvaluatorRow> randomEvaluators();
// Operators of other domains.
std::vector<EvaluatorRow> contribEvaluators();
std::vector<EvaluatorRow> cachedAttentionEvaluators();
std::vector<EvaluatorRow> diffusionEvaluators();
std::vector<EvaluatorRow> embeddingEvaluators();
std::vector<EvaluatorRow> cropEvaluators();
std::vector<EvaluatorRow> fusionEvaluators();
std::vector<EvaluatorRow> transformEvaluators();
std::vector<EvaluatorRow> gatedDeltaNetEvaluators();
std::vector<EvaluatorRow> positionEvaluators();
std::vector<EvaluatorRow> packedWeightEvaluators();
std::vector<EvaluatorRow> quantisedLstmEvaluators();
std::vector<EvaluatorRow> scaledWeightEvaluators();
std::vector<EvaluatorRow> packedAttentionEvaluators();
std::vector<EvaluatorRow> contribQuantisedEvaluators();
std::vector<EvaluatorRow> modelEvaluators();
std::vector<EvaluatorRow> qonnxEvaluators();
std::vector<EvaluatorRow> quarkEvaluators();

const std::vector<EvaluatorRow> &evaluatorTable();

/// The row for the newest version not after `opset`; null if there is none.
const EvaluatorRow *findEvaluator(StringRef domain, StringRef op,
                                  int64_t opset);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_REGISTRY_H
