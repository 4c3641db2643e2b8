// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the formats that the user or the search requests to the products they
// are meant for. Input: products in `bfp`, epilogues fused or not. Output: the
// same with two attributes each, which choose-formats consumes.

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_ASSIGNFORMATS
#include "ashlar/Transforms/BFP/Passes.h.inc"

/// A format for everything, or a table as JSON.
static llvm::Expected<numerics::FormatTable> readTable(llvm::StringRef text) {
  if (text.starts_with("{"))
    return numerics::parseFormatTable(text, "formats");
  llvm::Expected<numerics::BlockFormat> format = numerics::parseFormat(text);
  if (!format)
    return format.takeError();
  numerics::FormatTable table;
  table.activations = table.weights = *format;
  return table;
}

namespace {
struct AssignFormats : impl::AssignFormatsBase<AssignFormats> {
  using AssignFormatsBase::AssignFormatsBase;

protected:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<numerics::FormatTable> table = readTable(format);
    if (!table) {
      module.emitError(llvm::toString(table.takeError()));
      return signalPassFailure();
    }
    Builder builder(&getContext());
    llvm::StringSet<> products;
    module.walk([&](Operation *op) {
      if (!isa<ConvOp, MatmulOp>(op))
        return;
      std::string node = analysis::getNodeName(op->getLoc());
      op->setAttr(kActivationsAttr, builder.getStringAttr(numerics::toString(
                                        table->activationsOf(node))));
      op->setAttr(kWeightsAttr, builder.getStringAttr(numerics::toString(
                                    table->weightsOf(node))));
      numOwn += table->nodes.contains(node);
      products.insert(node);
    });
    for (const auto &[name, formats] : table->nodes)
      if (!products.contains(name)) {
        module.emitError("expected formats for products, found '")
            << name << "', which is none";
        return signalPassFailure();
      }
    module->setAttr(kFormatAttr,
                    builder.getStringAttr(numerics::toString(*table)));
  }
};
} // namespace

} // namespace ashlar::bfp
