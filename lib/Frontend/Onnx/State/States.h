// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph inputs that an output of the run before replaces, as the caches of
// decoders (docs/decisions, kept tensors).

#ifndef ASHLAR_LIB_FRONTEND_ONNX_STATE_STATES_H
#define ASHLAR_LIB_FRONTEND_ONNX_STATE_STATES_H

#include "../Emitter.h"
#include "../Model.h"
#include "RowUpdates.h"

#include "ashlar/Frontend/Onnx/Import.h"

#include <map>

namespace ashlar::frontend {

/// An output and the input that it replaces for the next run, by name.
struct StatePair {
  std::string output, input;
};

/// The pairs that the options name, and with ImportOptions::autoStates those
/// that exporters name by convention: `present` and `past`, or
/// `past_key_values`, with the same rest. Usage errors for names that are no
/// input or output, and for those in two pairs.
llvm::Expected<std::vector<StatePair>>
resolveStates(const onnx::GraphProto &graph, const ImportOptions &options);

/// What of a state a run replaces.
struct StateUpdate {
  Value rows;        ///< The new content, of the whole or of `axis`.
  int64_t axis = -1; ///< That rows are added along; -1: all is replaced.
  Value position;    ///< An i64 of one element: where the rows begin.
  mlir::Operation *joined = nullptr; ///< The past with the new rows after it.
};

/// How `result`, the output called `name`, comes from `past`: a concatenation
/// with new rows after it, an update at a position (`updates`), or anything of
/// its type. Errors are Unsupported.
llvm::Expected<StateUpdate> updateOf(const StatePair &pair, Value past,
                                     Value result, const RowUpdates &updates);

/// A cache with rows joined after it.
struct JoinedCache {
  mlir::Operation *joined = nullptr; ///< The concatenation.
  int64_t axis = 0;
  int64_t capacity = 0; ///< Rows of the cache, filled or not.
};

/// Gives rows of caches that are filled only up to `position` no weight: every
/// softmax along their axis gets a term that excludes the others. Unsupported
/// where an operation would mix those rows with the rest in another way; the
/// message names it. All caches of one capacity belong together: the keys of
/// one give the weights of the values of another.
llvm::Error maskUnfilled(llvm::ArrayRef<JoinedCache> caches, Value position,
                         mlir::OpBuilder &builder, support::Budget &budget);

/// A cache with rows joined after it, by the names of the model.
struct CacheShape {
  std::string past, joined; ///< The input, and the output that replaces it.
  int64_t axis = 0;         ///< Of the rows.
  int64_t rank = 0;
  int64_t capacity = 0; ///< Rows of the input.
};

/// The integers of a value that is constant; nothing if it is none.
using ReadIntegers =
    llvm::function_ref<llvm::Expected<std::optional<std::vector<int64_t>>>(
        const std::string &)>;

/// Operands, by node and number, that hold places in a cache with new rows
/// after its capacity, where the node means positions: new rows come after the
/// filled ones. The values are capacities.
using PlaceUses = std::map<std::pair<std::string, size_t>, int64_t>;

/// Unsupported if a node of the model computes anything but extents of tensors
/// with the number of rows of a cache, and positions cannot stand for it: it
/// would be the capacity, where the model means the rows that are filled. The
/// message names the node. \p uses has what must become positions.
llvm::Error refuseCapacityAsData(const Model &model,
                                 llvm::ArrayRef<CacheShape> caches,
                                 ReadIntegers integers, PlaceUses &uses);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_STATE_STATES_H
