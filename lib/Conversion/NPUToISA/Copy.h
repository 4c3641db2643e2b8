// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided copies between views as DMA instructions.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_COPY_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_COPY_H

#include "ProgramBuilder.h"
#include "ashlar/Analysis/Cost/LaneCopies.h"

namespace ashlar::codegen {

using analysis::FoldedMap;
using analysis::identityPattern;
using analysis::Region;
using analysis::Shape;
using analysis::StorageType;
using analysis::View;

/// Emits DMA copies that do `pattern` from `source` to `result`. Both views
/// have the same storage type; exponent cells of encoded elements go along.
/// Every index of the pattern lies inside both views.
void emitPattern(ProgramBuilder &builder, const View &source,
                 const View &result, const npu::AccessPattern &pattern);

/// Copies the exponent cells of encoded elements of `source` to those of
/// `result`, index by index; plain elements have none.
void emitExponents(ProgramBuilder &builder, const View &source,
                   const View &result);

/// Copies all elements of `source` to `result`, index by index.
void emitCopy(ProgramBuilder &builder, const View &source, const View &result);

/// Copies `size` elements between maps in different lane folds
/// (analysis::forEachRelaid).
void emitRelaid(ProgramBuilder &builder, const FoldedMap &source,
                const FoldedMap &result, llvm::ArrayRef<int64_t> size);

/// Stores `bits` (the low bytes of one element) to every element of `view`;
/// exponent cells become those of blocks of zeros.
void emitFill(ProgramBuilder &builder, const View &view, uint64_t bits);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_COPY_H
