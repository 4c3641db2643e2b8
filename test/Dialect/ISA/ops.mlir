// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op of the dialect, printed as it was written.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s | ashlar-opt | FileCheck --match-full-lines --strict-whitespace %s

//      CHECK:  isa.sem.wait(queue = pe, sem = 3)
isa.sem.wait(queue = pe, sem = 3)
// CHECK-NEXT:  isa.sem.signal(queue = dma1, sem = 3)
isa.sem.signal(sem = 3, queue = dma1)
// CHECK-NEXT:  isa.xr.set(xr = 1, value = -6)
isa.xr.set(xr = 1, value = -6)
// CHECK-NEXT:  isa.xr.merge(dst = 4, src = 2, clear = 1)
isa.xr.merge(dst = 4, src = 2, clear = 1)
// CHECK-NEXT:  isa.dma.copy(queue = dma1, elemBytes = 4, dstMem = sb, srcBase = 64, n4 = 16, srcStride4 = -4, dstStride4 = 4)
isa.dma.copy(queue = dma1, elemBytes = 4, srcMem = dram, dstMem = sb, srcBase = 64, n4 = 16, srcStride4 = -4, dstStride4 = 4)
// CHECK-NEXT:  isa.dma.fill(dstMem = xm, n4 = 256, dstStride4 = 1, value = "0x80")
isa.dma.fill(queue = dma0, dstMem = xm, n4 = 256, dstStride4 = 1, value = "0x80")
// CHECK-NEXT:  isa.pe.load(rows = 16, cols = 4, colStride = 1, type = bfp, mantissa = 8, range = 7)
isa.pe.load(rows = 16, cols = 4, colStride = 1, type = bfp, mantissa = 8, range = 7)
// CHECK-NEXT:  isa.pe.swap
isa.pe.swap
// CHECK-NEXT:  isa.pe.matmul(rows = 16, cols = 4, type = i8, mode = int, n2 = 9, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 9)
isa.pe.matmul(rows = 16, cols = 4, type = i8, mode = int, n2 = 9, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 9)
// CHECK-NEXT:  isa.act.drain(psumStride2 = 1, n2 = 9, cols = 4, shift = -14, function = leakyRelu, alpha = "0.1", dstStride2 = 4)
isa.act.drain(cols = 4, n2 = 9, psumStride2 = 1, shift = -14, function = leakyRelu, alpha = "0.1", dstType = f32, dstStride2 = 4)
// CHECK-NEXT:  isa.vec.map(op = and, channels = 8, n2 = 16, aType = bool, aStride2 = 4, bMode = tensor, bOffset = 64, bStride2 = 4, dstOffset = 128, dstStride2 = 4)
isa.vec.map(op = and, channels = 8, n2 = 16, aType = bool, aStride2 = 4, bMode = tensor, bType = f32, bOffset = 64, bStride2 = 4, dstType = f32, dstOffset = 128, dstStride2 = 4)
// CHECK-NEXT:  isa.vec.pool(kind = avg, channels = 8, inD = 1, inH = 8, inW = 8, outH = 4, outW = 4, kH = 2, kW = 2, sH = 2, sW = 2)
isa.vec.pool(kind = avg, channels = 8, inD = 1, inH = 8, inW = 8, outH = 4, outW = 4, kH = 2, kW = 2, sH = 2, sW = 2)
// CHECK-NEXT:  isa.vec.reduce(kind = mean, channels = 8, r0 = 4, r1 = 4, srcStrideR0 = 16, srcStrideR1 = 4)
isa.vec.reduce(kind = mean, channels = 8, r0 = 4, r1 = 4, srcStrideR0 = 16, srcStrideR1 = 4)
// CHECK-NEXT:  isa.vec.reduce_channels(kind = max, channels = 8, n2 = 16, srcStride2 = 4, dstStride2 = 4) {note = 1 : i64}
isa.vec.reduce_channels(kind = max, channels = 8, n2 = 16, srcStride2 = 4, dstStride2 = 4) {note = 1}
