// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random reductions of windows, of feature maps and of PSUM.

#include "RandomProgram.h"

using namespace ashlar;
using namespace ashlar::test;

Instruction Generator::pool() {
  isa::VecPool op;
  op.kind = static_cast<isa::PoolKind>(between(0, 2));
  op.channels = static_cast<uint32_t>(between(1, 17));
  op.srcType = type();
  op.srcMantissa = mantissa();
  op.srcOffset = offset();
  op.inD = static_cast<int32_t>(between(1, 2));
  op.inH = static_cast<int32_t>(between(1, 8));
  op.inW = static_cast<int32_t>(between(1, 12));
  const auto size = static_cast<int32_t>(bytes(op.srcType, op.srcMantissa));
  op.srcStrideW = size * static_cast<int32_t>(between(1, 2));
  op.srcStrideH = op.srcStrideW * op.inW;
  op.srcStrideD = op.srcStrideH * op.inH;
  op.srcTileStride = op.srcStrideD * op.inD;
  auto small = [&](int64_t most) {
    return static_cast<uint32_t>(between(1, most));
  };
  op.outD = small(2);
  op.outH = small(5);
  op.outW = small(7);
  op.kD = small(2);
  op.kH = small(3);
  op.kW = small(3);
  op.sD = small(2);
  op.sH = small(3);
  op.sW = small(3);
  op.dD = small(2);
  op.dH = small(2);
  op.dW = small(2);
  op.pD = static_cast<int32_t>(between(-1, 1));
  op.pH = static_cast<int32_t>(between(-2, 2));
  op.pW = static_cast<int32_t>(between(-2, 2));
  op.cloH = static_cast<int32_t>(between(-2, 0));
  op.cloW = static_cast<int32_t>(between(-2, 0));
  op.chiD = op.inD;
  op.chiH = op.inH + static_cast<int32_t>(between(0, 1));
  op.chiW = op.inW + static_cast<int32_t>(between(0, 1));
  op.dstType = type();
  op.dstMantissa = mantissa();
  op.dstBlock = block();
  op.dstOffset = offset();
  op.dstXr = xr();
  encodeTarget(op, 30, true);
  int32_t stride[3];
  strides({{op.outD, op.outH, op.outW}}, bytes(op.dstType, op.dstMantissa),
          stride);
  op.dstStrideD = stride[0];
  op.dstStrideH = stride[1];
  op.dstStrideW = stride[2];
  op.dstTileStride = stride[0] * static_cast<int32_t>(op.outD);
  return op;
}

/// The drain of the vector unit that reduces windows of what `drain` drains.
isa::VecDrain Generator::pooledDrain(const isa::ActDrain &drain) {
  isa::VecDrain op;
  op.psum = drain.psum;
  op.psumStride = drain.psumStride1;
  op.cols = drain.cols;
  op.kind = static_cast<isa::PoolKind>(between(0, 2));
  op.mode = drain.mode;
  op.hasScale = drain.hasScale, op.hasBias = drain.hasBias;
  op.hasExp = drain.hasExp, op.alphaFromParam = drain.alphaFromParam;
  op.inH = drain.n1, op.inW = drain.n2;
  op.srcType = drain.dstType, op.srcMantissa = drain.dstMantissa;
  op.srcBlock = drain.dstBlock;
  auto small = [&](int64_t most) {
    return static_cast<uint32_t>(between(1, most));
  };
  op.outH = small(4), op.outW = small(5);
  op.kH = small(3), op.kW = small(3);
  op.sH = small(3), op.sW = small(3);
  op.dH = small(2), op.dW = small(2);
  op.pH = static_cast<int32_t>(between(-2, 2));
  op.pW = static_cast<int32_t>(between(-2, 2));
  op.cloH = static_cast<int32_t>(between(-2, 0));
  op.cloW = static_cast<int32_t>(between(-2, 0));
  op.chiH = static_cast<int32_t>(op.inH) + static_cast<int32_t>(between(0, 1));
  op.chiW = static_cast<int32_t>(op.inW) + static_cast<int32_t>(between(0, 1));
  op.dstType = type();
  op.dstMantissa = mantissa();
  op.dstBlock = 8u << between(0, 2);
  op.function = drain.function;
  op.alpha = drain.alpha, op.beta = drain.beta;
  op.xrA = drain.xrA, op.xrS = drain.xrS;
  op.shift = drain.shift;
  op.paramPart = drain.paramPart, op.paramOffset = drain.paramOffset;
  op.dstPart = drain.dstPart, op.dstOffset = offset();
  op.dstXr = xr();
  op.dstXrClear = chance(50);
  int32_t stride[3];
  strides({{1, op.outH, op.outW}}, bytes(op.dstType, op.dstMantissa), stride);
  op.dstStrideH = stride[1], op.dstStrideW = stride[2];
  return op;
}
