; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A fill that crosses the ends of partitions is ordered as if it wrote whole
; partitions, but it defines none of the bytes between its own.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: not ashlar-run %t.ash 2>&1 | FileCheck %s
; CHECK: undefined read fault at instruction 1, sb address 100: reads sb[0..1)[100..104), of which unit 100 has not been written in

.machine name=a1-tiny
.memory dram=64
dma.fill elemBytes=4 dstMem=sb n4=3 dstBase=2 dstStride4=65534
dma.copy srcMem=sb srcBase=100 dstMem=dram n4=4 srcStride4=1 dstStride4=1
