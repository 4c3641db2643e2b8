// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who owns a scale exponent (docs/Numerics.md 5): numbers the encode events of
// a function and tells which event each encoded value reads. Assumption: the
// function has one block, as the `nn` dialect says.

#ifndef ASHLAR_DIALECTS_BFP_ENCODEEVENTS_H
#define ASHLAR_DIALECTS_BFP_ENCODEEVENTS_H

#include "ashlar/Numerics/ScalePolicy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace ashlar::bfp {

/// One scale exponent of an activation tensor.
struct EncodeEvent {
  /// The value whose production makes the event: the result of an encode, of a
  /// computing op, or of a concat of several events.
  mlir::Value root;
  /// For a concat: the events whose maximum this one is, in operand order,
  /// without repetition. Empty for an event that blocks are encoded into.
  llvm::SmallVector<unsigned> parts;
};

/// The policy of the event that `op` makes.
numerics::ScalePolicy getScalePolicy(mlir::Operation *op);

/// True for an op that moves encoded elements and changes none: its result
/// shares blocks with its operands.
bool isMovement(mlir::Operation *op);

/// The events of a function, numbered from 0 in program order. Movement of one
/// parent inherits the parent's event; a concat of several events is an event
/// of its own, the maximum of theirs. Weights have none: every output channel
/// owns its exponent.
class EncodeEvents {
public:
  explicit EncodeEvents(mlir::func::FuncOp function);

  /// The event that `value` reads; nothing if it is not encoded or is weights.
  std::optional<unsigned> getEvent(mlir::Value value) const;

  llvm::ArrayRef<EncodeEvent> getEvents() const { return events; }

  /// The events that blocks are encoded into and whose maximum `event` is: the
  /// event itself, or the leaves of its parts in increasing order.
  llvm::SmallVector<unsigned> getLeaves(unsigned event) const;

private:
  void visit(mlir::Operation *op);
  unsigned addEvent(mlir::Value root, llvm::ArrayRef<unsigned> parts);

  llvm::SmallVector<EncodeEvent> events;
  llvm::DenseMap<mlir::Value, unsigned> eventOf;
};

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_ENCODEEVENTS_H
