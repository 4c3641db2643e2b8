// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors are stored encoded, along which dimension and in which
// format, without changing the IR (docs/Numerics.md 1, "What is encoded").
// Private to the quantise phase.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_STORAGEPLAN_H
#define ASHLAR_LIB_TRANSFORMS_BFP_STORAGEPLAN_H

#include "NonNegative.h"

#include "ashlar/Numerics/Format.h"
#include "dialects/BFP/BFPTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::bfp {

/// Formats requested for the factors of one product.
struct ProductFormats {
  numerics::BlockFormat activations, weights;
};
using AskedFormats = llvm::DenseMap<mlir::Operation *, ProductFormats>;

/// Storage of what a residual add reads next to its product.
enum class ResidualStorage { Bfp, Bf16, F32 };

/// Storage decisions for one function of one block, taken in one backward walk:
/// when the producer of a value is reached, all its uses have been seen. Every
/// encoding takes the widest of the formats that its readers ask for; a
/// data movement and what it moves share one.
class StoragePlan {
public:
  /// With \p inBlocks sums, differences, products and quotients of encoded
  /// tensors read blocks (UseBlockArithmetic.cpp).
  StoragePlan(mlir::func::FuncOp function, const AskedFormats &formats,
              ResidualStorage residual, bool inBlocks);

  /// The dimension along which the operand must be encoded, or nothing if its
  /// reader has no such need.
  std::optional<int64_t> getRequiredAxis(mlir::OpOperand &use) const;

  /// The dimension along which `value` itself is stored encoded, or nothing if
  /// it keeps its float type.
  std::optional<int64_t> getStoredAxis(mlir::Value value) const;

  /// True if `value` is stored as bfloat16 for the residual adds that read it.
  bool isStoredAsBf16(mlir::Value value) const;

  /// The type in which `value` is stored encoded.
  BlockType getStoredType(mlir::Value value) const;

  /// The type of the encoding that an operand with a required axis reads.
  BlockType getRequiredType(mlir::OpOperand &use) const;

  /// Lowers ranges of single encodings until every accumulator is proven
  /// (docs/Numerics.md 4). Emits an error and fails where no range suffices, or
  /// if `strict` and a range would have to be lowered. Returns why ranges were
  /// lowered, empty if none was.
  mlir::FailureOr<std::string> proveRanges(mlir::func::FuncOp function,
                                           bool strict);

private:
  void visitValue(mlir::Value value);
  bool canStoreEncoded(mlir::Operation *op, int64_t axis,
                       const numerics::BlockFormat &format) const;
  numerics::BlockFormat askedBy(mlir::OpOperand &use);
  size_t root(size_t encoding) const;
  size_t addEncoding(const numerics::BlockFormat &format);
  void join(size_t a, size_t b);
  void dropSigns();

  mlir::MLIRContext *context;
  const AskedFormats &formats;
  ResidualStorage residual;
  bool inBlocks;
  llvm::DenseMap<mlir::Value, int64_t> storedAxis;
  llvm::DenseMap<mlir::Value, size_t> stored;
  /// Encoding that an operand reads; operands of one value, axis and kind share
  /// one.
  llvm::DenseMap<mlir::OpOperand *, size_t> read;
  std::vector<size_t> parents;
  std::vector<numerics::BlockFormat> chosen; ///< Valid at roots.
  std::vector<bool> signless; ///< No value is negative; valid at roots.
  NonNegative nonNegative;
};

/// The function of blocks that an operation on floats is, or nothing.
std::optional<llvm::StringRef> arithmeticKind(mlir::Operation *op);

/// The dimension of \p operand that dimension \p axis of the result of an
/// element-wise operation is, if the operand has all of its extent.
std::optional<int64_t> mapBroadcastAxis(llvm::ArrayRef<int64_t> operand,
                                        llvm::ArrayRef<int64_t> result,
                                        int64_t axis);

/// True for the operand of a residual add, fused into a product or not: of the
/// result's shape and no constant.
bool isResidualUse(mlir::OpOperand &use);

/// Attribute of a residual add: its storage and the bytes of the alternatives.
inline constexpr llvm::StringLiteral kResidualDecisionAttr =
    "ashlar.decision.residual";

/// Attribute of a product: whether its epilogue stays in integers, and why not.
inline constexpr llvm::StringLiteral kEpilogueDecisionAttr =
    "ashlar.decision.epilogue";

/// Sets kResidualDecisionAttr on every residual add of a function whose storage
/// is chosen.
void explainResiduals(mlir::func::FuncOp function);

/// True if the constant operand is a factor whose output channels own a scale
/// exponent each: the second operand of a convolution, or of a product with a
/// matrix of rank 2.
bool isWeightUse(mlir::OpOperand &use);

/// True for an op whose operands are decoded as they are read, so that an
/// encoded operand needs no explicit decode.
bool readsEncoded(mlir::Operation *op);

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_STORAGEPLAN_H
