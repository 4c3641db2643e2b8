// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats per product, as the user or the format search requests them from the
// quantise phase, and their JSON form.

#ifndef ASHLAR_NUMERICS_FORMATTABLE_H
#define ASHLAR_NUMERICS_FORMATTABLE_H

#include "ashlar/Numerics/Format.h"
#include "ashlar/Numerics/ScalePolicy.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>

namespace ashlar::numerics {

/// Formats of one product's factors where they differ from the table's.
struct NodeFormats {
  std::optional<BlockFormat> activations, weights;
  /// Of the encodings that the product reads.
  std::optional<ScalePolicy> scale;
  bool operator==(const NodeFormats &other) const = default;
};

/// Formats of a whole network.
struct FormatTable {
  BlockFormat activations, weights;
  ScalePolicy scale;
  std::map<std::string, NodeFormats> nodes; ///< By ONNX node name.

  bool operator==(const FormatTable &other) const = default;

  /// One format for everything; rows are those of weights.
  static FormatTable uniform(const BlockFormat &format);

  /// Formats of the product of node `name`.
  BlockFormat activationsOf(llvm::StringRef name) const;
  BlockFormat weightsOf(llvm::StringRef name) const;
  /// Scale policy of what the product of node `name` reads.
  ScalePolicy scaleOf(llvm::StringRef name) const;
};

/// Reads {"activations": FORMAT, "weights": FORMAT, "nodes": {NAME:
/// {"activations": FORMAT, "weights": FORMAT, "scale": POLICY}}, "scale":
/// POLICY}, every key optional, formats and policies as parseFormat and
/// parseScalePolicy take them. Errors are Malformed and name \p source and the
/// key.
llvm::Expected<FormatTable> parseFormatTable(llvm::StringRef text,
                                             llvm::StringRef source);

/// The same JSON with canonical formats.
llvm::json::Value toJson(const FormatTable &table);

/// One line for reports: the format of the table, or both formats, and how many
/// nodes have their own.
std::string toString(const FormatTable &table);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_FORMATTABLE_H
