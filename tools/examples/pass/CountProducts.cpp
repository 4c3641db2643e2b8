// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Example of a pass that is not part of Ashlar: says how many
// multiply-accumulates each product of a network takes. It names operations by
// their text and reads shapes only, so it needs MLIR's headers and none of
// Ashlar's.

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace {

/// Multiply-accumulates of a product: every element of the result sums over the
/// weights of one output channel, or over the inner axis of a matrix product.
int64_t productsOf(mlir::Operation *op) {
  auto result = llvm::cast<mlir::ShapedType>(op->getResult(0).getType());
  auto right = llvm::cast<mlir::ShapedType>(op->getOperand(1).getType());
  if (op->getName().getStringRef() == "nn.conv")
    return result.getNumElements() * right.getNumElements() /
           right.getDimSize(0);
  return result.getNumElements() * right.getDimSize(right.getRank() - 2);
}

struct CountProducts
    : mlir::PassWrapper<CountProducts, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountProducts)

  CountProducts() = default;
  // Options are copied by name, not with the pass.
  CountProducts(const CountProducts &other) : PassWrapper(other) {}

  Option<int64_t> least{
      *this, "least",
      llvm::cl::desc("Multiply-accumulates below which a product is "
                     "left out"),
      llvm::cl::init(0)};

  llvm::StringRef getArgument() const final { return "example-count-products"; }
  llvm::StringRef getDescription() const final {
    return "Says how many multiply-accumulates each product takes";
  }

  void runOnOperation() final {
    int64_t total = 0;
    getOperation().walk([&](mlir::Operation *op) {
      llvm::StringRef name = op->getName().getStringRef();
      if (name != "nn.conv" && name != "nn.matmul")
        return;
      int64_t products = productsOf(op);
      total += products;
      // Ashlar gives an operation the name of its ONNX node as its location.
      auto node = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
      if (products >= least)
        llvm::errs() << (node ? node.getName().strref() : name) << ": "
                     << products << " multiply-accumulates\n";
    });
    llvm::errs() << total << " multiply-accumulates in all\n";
    markAllAnalysesPreserved();
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "CountProducts", LLVM_VERSION_STRING,
          [] { mlir::PassRegistration<CountProducts>(); }};
}
