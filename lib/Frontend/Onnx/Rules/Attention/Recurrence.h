// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recurrence of attention without a softmax: a matrix per head of keys is
// the state, which every token decays, corrects and reads.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_ATTENTION_RECURRENCE_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_ATTENTION_RECURRENCE_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// Operands in binary32, by heads.
struct Recurrence {
  int64_t batch = 0, length = 0, heads = 0; ///< Of keys and states.
  int64_t group = 0;                        ///< Heads of queries per state.
  int64_t keySize = 0, valueSize = 0;
  Value query; ///< [batch, heads, group, length, keySize], scaled.
  Value key, value;
  Value
      decay;  ///< Logarithm, [batch, heads, length, 1 or keySize]; may be null.
  Value rate; ///< [batch, 1 or heads, length, 1]; null without correction.
  Value state;      ///< [batch, heads, keySize, valueSize]; null for zeros.
  int64_t keep = 1; ///< States after this many last tokens are wanted.
};

/// What a recurrence gives.
struct RecurrenceResult {
  Value y; ///< [batch, heads, group, length, valueSize].
  /// After each of the last tokens, at most as many as were wanted.
  SmallVector<Value> states;
};

RecurrenceResult runRecurrence(Node &n, const Recurrence &r);

/// Checks the name of an update rule, and that there is a decay and a rate
/// where it asks for one; false after recording an error.
bool checkUpdateRule(Node &n, const std::string &rule, bool hasDecay,
                     bool hasRate);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_ATTENTION_RECURRENCE_H
