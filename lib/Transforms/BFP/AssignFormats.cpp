// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the formats that the user or the search requests to the products they
// are meant for. Input: products in `bfp`, epilogues fused or not. Output: the
// same with two attributes each, which choose-formats consumes.

#include "StoragePlan.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPAttrs.h"
#include "dialects/BFP/BFPOps.h"

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
  return numerics::FormatTable::uniform(*format);
}

/// True if the node asks for rows of weights to share exponents.
static bool asksForRows(const numerics::NodeFormats &formats) {
  return formats.weights && formats.weights->rows != 1;
}

/// Rows that a node asks for have to be those of constants; a format for all
/// weights leaves factors alone that are computed at run time.
static void refuseRows(ModuleOp module, llvm::StringRef node,
                       const numerics::BlockFormat &format) {
  module.emitError("format of the weights of '")
      << node << "' is " << numerics::toString(format)
      << ", but its second factor is no constant, or has more than two "
         "dimensions: rows of output channels share exponents in constants "
         "of convolutions and of matrix products with one matrix, leave "
         "rows= out";
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
    llvm::StringSet<> products, constant;
    module.walk([&](Operation *op) {
      if (!isa<ConvOp, MatmulOp>(op))
        return;
      std::string node = analysis::getNodeName(op->getLoc());
      op->setAttr(kActivationsAttr,
                  FormatAttr::get(&getContext(), table->activationsOf(node)));
      op->setAttr(kWeightsAttr,
                  FormatAttr::get(&getContext(), table->weightsOf(node)));
      if (isWeightUse(op->getOpOperand(1)))
        constant.insert(node);
      numOwn += table->nodes.contains(node);
      products.insert(node);
    });
    for (const auto &[name, formats] : table->nodes) {
      if (!products.contains(name)) {
        module.emitError("expected formats for products, found '")
            << name << "', which is none";
        return signalPassFailure();
      }
      if (asksForRows(formats) && !constant.contains(name)) {
        refuseRows(module, name, *formats.weights);
        return signalPassFailure();
      }
    }
    module->setAttr(kFormatAttr,
                    StringAttr::get(&getContext(), numerics::toString(*table)));
  }
};
} // namespace

} // namespace ashlar::bfp
