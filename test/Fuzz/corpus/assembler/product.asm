; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A small integer product with padding, two passes into one accumulator and
; a drain, against values computed by hand: weights (1, 2 | 3, -1), moving rows
; (1 2 3) and (4 5 6), one column of padding on either side.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: ashlar-run %t.ash | FileCheck %s
; RUN: ashlar-run %t.ash --threads=2 | FileCheck %s
; RUN: ashlar-run %t.ash --functional | FileCheck %s --check-prefix=OUT

; Column 0: 2 * (1*a + 3*b); column 1: 2 * (2*a - b); the ends read nothing.
; OUT: output 'y' i32[2x5]
; OUT: [0,3]=42 [0,2]=34 [0,1]=26 [0,0]=0 [0,4]=0
; CHECK: output 'y' i32[2x5]
; CHECK: [0,3]=42 [0,2]=34 [0,1]=26 [0,0]=0 [0,4]=0
; CHECK: product on a1-tiny: {{[0-9]+}} cycles
; CHECK: 40 MACs

.machine name=a1-tiny
.model name=product
.semaphores count=8
.node name=Gemm_0 op=Gemm engine=pe
.data at=0 hex=010203040506
.data at=8 hex=010203ff
.output name=y type=i32 shape=[2, 5] at=16
.for node=0
dma.copy dstMem=sb n3=2 n4=3 srcStride3=3 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcBase=8 dstMem=sb dstBase=32 n3=2 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
sem.wait queue=peload sem=0
pe.load rows=2 cols=2 offset=32 colStride=1 type=i8 mode=int
sem.signal queue=peload sem=2
sem.wait queue=pe sem=1
sem.wait queue=pe sem=2
pe.swap
pe.matmul rows=2 cols=2 offset=-1 type=i8 mode=int n2=5 stride2=1 psumStride2=1 hi0=1 hi1=1 lo2=1 hi2=4
pe.matmul rows=2 cols=2 offset=-1 type=i8 mode=int n2=5 stride2=1 psumStride2=1 hi0=1 hi1=1 lo2=1 hi2=4 accumulate=1
sem.signal queue=pe sem=3
sem.wait queue=act sem=3
act.drain mode=int cols=2 n2=5 psumStride2=1 dstType=i32 dstOffset=64 dstStride2=4
sem.signal queue=act sem=4
sem.wait queue=dma1 sem=4
dma.copy queue=dma1 elemBytes=4 srcMem=sb srcBase=64 dstBase=16 n3=2 n4=5 srcStride3=65536 srcStride4=4 dstStride3=20 dstStride4=4
