; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A read of memory that nothing has written.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: not ashlar-run %t.ash 2>&1 | FileCheck %s
; CHECK: undefined read fault at instruction 1, sb address 3: reads sb[0..1)[0..4), of which unit 3 has not been written in

.machine name=a1-tiny
.memory dram=64
dma.fill dstMem=sb n4=3 dstStride4=1
dma.copy srcMem=sb dstMem=dram n4=4 srcStride4=1 dstStride4=1
