// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The five loops of a transfer, with the strides of either side.

#ifndef ASHLAR_LIB_ISA_TRANSFERLOOPS_H
#define ASHLAR_LIB_ISA_TRANSFERLOOPS_H

#include "Collector.h"

namespace ashlar::isa {

template <typename Op>
Dims sourceLoops(const Op &x) {
  return {{x.n0, x.srcStride0},
          {x.n1, x.srcStride1},
          {x.n2, x.srcStride2},
          {x.n3, x.srcStride3},
          {x.n4, x.srcStride4}};
}

template <typename Op>
Dims resultLoops(const Op &x) {
  return {{x.n0, x.dstStride0},
          {x.n1, x.dstStride1},
          {x.n2, x.dstStride2},
          {x.n3, x.dstStride3},
          {x.n4, x.dstStride4}};
}

} // namespace ashlar::isa

#endif // ASHLAR_LIB_ISA_TRANSFERLOOPS_H
