// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of all values of a model, also of one that the importer cannot read to
// its end.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_VALUETYPES_H
#define ASHLAR_LIB_FRONTEND_ONNX_VALUETYPES_H

#include "Proto.h"
#include "ashlar/Frontend/Onnx/Import.h"

#include <map>
#include <string>
#include <vector>

namespace ashlar::frontend {

/// A tensor type as ONNX writes it.
struct ValueType {
  int32_t elements = 0; ///< ONNX data type number.
  std::vector<int64_t> shape;
  bool operator==(const ValueType &other) const = default;
};

using ValueTypes = std::map<std::string, ValueType>;

/// Types by name: those that the importer finds up to the first node that it
/// cannot read, and where it finds none those that the file declares. The
/// importer runs in a process of its own, since the model may be one that
/// crashes it.
ValueTypes inferTypes(const std::string &path, const onnx::GraphProto &graph,
                      const ImportOptions &options);

/// Makes `value` a tensor of `type`.
void setType(onnx::ValueInfoProto &value, const ValueType &type);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_VALUETYPES_H
