// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the evaluators and looks them up.

#include "Registry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace ashlar;
using namespace ashlar::onnxref;

const std::vector<EvaluatorRow> &onnxref::evaluatorTable() {
  static const std::vector<EvaluatorRow> table = [] {
    std::vector<EvaluatorRow> rows;
    for (auto family : {arithmeticEvaluators,
                        experimentalEvaluators,
                        functionEvaluators,
                        shapeEvaluators,
                        movementEvaluators,
                        indexingEvaluators,
                        reductionEvaluators,
                        normalisationEvaluators,
                        convolutionEvaluators,
                        poolingEvaluators,
                        productEvaluators,
                        resizeEvaluators,
                        quantisationEvaluators,
                        attentionEvaluators,
                        maskEvaluators,
                        patchEvaluators,
                        recurrentEvaluators,
                        regionEvaluators,
                        samplingEvaluators,
                        choiceEvaluators,
                        scatterEvaluators,
                        signalEvaluators,
                        gramEvaluators,
                        recurrenceEvaluators,
                        deformConvEvaluators,
                        bitCastEvaluators,
                        randomEvaluators,
                        contribEvaluators,
                        cachedAttentionEvaluators,
                        diffusionEvaluators,
                        embeddingEvaluators,
                        cropEvaluators,
                        fusionEvaluators,
                        transformEvaluators,
                        gatedDeltaNetEvaluators,
                        positionEvaluators,
                        packedWeightEvaluators,
                        quantisedLstmEvaluators,
                        scaledWeightEvaluators,
                        packedAttentionEvaluators,
                        contribQuantisedEvaluators,
                        modelEvaluators,
                        qonnxEvaluators,
                        quarkEvaluators})
      llvm::append_range(rows, family());
    return rows;
  }();
  return table;
}

const EvaluatorRow *onnxref::findEvaluator(StringRef domain, StringRef op,
                                           int64_t opset) {
  const EvaluatorRow *found = nullptr;
  for (const EvaluatorRow &row : evaluatorTable())
    if (row.op == op && row.domain == domain && row.versions.front() <= opset &&
        (!found || found->versions.front() < row.versions.front()))
      found = &row;
  return found;
}
