// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the arithmetic of folds is told of a convolution.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_FOLDS_FOLDSHAPE_H
#define ASHLAR_LIB_TRANSFORMS_NN_FOLDS_FOLDSHAPE_H

#include "../Rewrite.h"
#include "FoldPlan.h"

namespace ashlar::nn {

/// The extents of a convolution of one group.
inline FoldConv foldConvOf(ConvOp op) {
  FoldConv conv;
  llvm::ArrayRef<int64_t> x = shapeOf(op.getX()), w = shapeOf(op.getW());
  conv.batch = x[0];
  conv.channels = x[1];
  conv.outputs = w[0];
  conv.input = llvm::to_vector<3>(x.drop_front(2));
  conv.kernel = llvm::to_vector<3>(w.drop_front(2));
  conv.output = llvm::to_vector<3>(shapeOf(op.getY()).drop_front(2));
  conv.strides = llvm::to_vector<3>(op.getStrides());
  conv.dilations = llvm::to_vector<3>(op.getDilations());
  conv.pads = llvm::to_vector<6>(op.getPads());
  conv.inputIsFloat = !op.getX().getDefiningOp<ConvOp>();
  conv.inputInDram = llvm::isa<mlir::BlockArgument>(op.getX());
  if (!isConstant(op.getW()))
    conv.kernelSource = llvm::isa<mlir::BlockArgument>(op.getW())
                            ? KernelSource::Dram
                            : KernelSource::Chip;
  return conv;
}

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_FOLDS_FOLDSHAPE_H
