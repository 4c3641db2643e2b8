// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph inputs and outputs of narrow types, which have codes.

#include "NarrowValues.h"
#include "lib/Frontend/Onnx/Importer.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;

Error Importer::decodeInput(const std::string &name) {
  const NarrowType *type = model.narrow.find(name);
  if (!type)
    return Error::success();
  Emitter emitter(builder, nameLoc(name), options.maxElements, model.budget,
                  model.useHost);
  Value decoded = decodeNarrow(emitter, values.lookup(name), *type);
  if (emitter.failed())
    return makeError(emitter.errorClass(), "graph input '{}': {}",
                     printable(name), emitter.errorMessage());
  define(name, decoded);
  return Error::success();
}

Error Importer::encodeOutput(const onnx::ValueInfoProto &output,
                             Value &result) {
  const NarrowType *type = model.narrow.find(output.name()),
                   *declaredType =
                       findNarrow(output.type().tensor_type().elem_type());
  if (output.type().has_tensor_type() && type != declaredType &&
      output.type().tensor_type().elem_type() != 0)
    return makeError(ErrorClass::Malformed,
                     "graph output '{}' is computed as {}, declared as {}",
                     printable(output.name()),
                     type ? type->name : typeText(result),
                     declaredType ? declaredType->name : "another type");
  if (!type)
    return Error::success();
  Emitter emitter(builder, nameLoc(output.name()), options.maxElements,
                  model.budget, model.useHost);
  result = encodeNarrow(emitter, result, *type);
  if (emitter.failed())
    return makeError(emitter.errorClass(), "graph output '{}': {}",
                     printable(output.name()), emitter.errorMessage());
  return Error::success();
}
