; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The block floating point unit in four steps at W = 16 and W = 8, against the
; worked values of its source: matrix (.5 -.25 .125 | 1 .75 -.5), vector
; (1 2 -3), bias (.1 -.2). The exponents of both operands come from a measuring
; pass, that of the result from the largest sum; one rounding on each way.
;
; RUN: sed -e 's/WIDTH/16/; s/TYPE/i16/; s/BYTES/2/g; s/LANE0/3333efff/; s/LANE1/9a99efff/' %s > %t.16.asm
; RUN: ashlar-as %t.16.asm -o %t.16.ash
; RUN: ashlar-run %t.16.ash --functional | FileCheck %s --check-prefix=W16
; RUN: sed -e 's/WIDTH/8/; s/TYPE/i8/; s/BYTES/1/g; s/LANE0/3300f7ff/; s/LANE1/9afff7ff/' %s > %t.8.asm
; RUN: ashlar-as %t.8.asm -o %t.8.ash
; RUN: ashlar-run %t.8.ash --functional | FileCheck %s --check-prefix=W8

; Steps of 2^-13 and 2^-5: both are cell 1.
; W16: output 'y' i16[2]
; W16-NEXT: [1]=31130 [0]=-2253
; W16: output 'cell' i8[1]
; W16-NEXT: [0]=1
; W8: output 'y' i8[2]
; W8-NEXT: [1]=122 [0]=-9
; W8: output 'cell' i8[1]
; W8-NEXT: [0]=1

.machine name=a1-tiny
.model name=block-unit
.semaphores count=8
.data at=0 hex=0000003f0000803f0000803f000080be0000403f000000400000003e000000bf000040c0
.data at=64 hex=00000000LANE00000000000000000
.data at=80 hex=00000000LANE10000000000000000
.output name=y type=TYPE shape=[2] at=128
.output name=cell type=i8 shape=[1] at=160
; The floats: matrix columns at 0 and 4, vector at 8; records of the bias.
dma.copy dstMem=sb n3=3 n4=12 srcStride3=12 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcBase=64 dstMem=sb dstBase=64 n3=2 n4=16 srcStride3=16 srcStride4=1 dstStride3=65536 dstStride4=1
sem.signal queue=dma0 sem=0
sem.wait queue=vec sem=0
; Step 1: e1 and e2, mantissas.
vec.measure channels=3 n2=2 mantissa=WIDTH stride2=4 clear=1
vec.map op=copy channels=3 n2=2 aStride2=4 dstType=bfp dstMantissa=WIDTH dstOffset=32 dstStride2=2 cellFromXr=1
vec.measure channels=3 mantissa=WIDTH offset=8 xr=1 clear=1
vec.map op=copy channels=3 aOffset=8 dstType=bfp dstMantissa=WIDTH dstOffset=36 dstXr=1 cellFromXr=1
sem.signal queue=vec sem=1
sem.signal queue=vec sem=2
sem.wait queue=peload sem=1
; Step 2: r = M v, e3 = e1 + e2.
pe.load rows=3 cols=2 offset=32 colStride=2 type=bfp mantissa=WIDTH
sem.signal queue=peload sem=3
sem.wait queue=pe sem=2
sem.wait queue=pe sem=3
pe.swap
pe.matmul rows=3 cols=2 offset=36 type=bfp mantissa=WIDTH xr=1 hi0=1 hi1=1 hi2=1
sem.signal queue=pe sem=4
sem.wait queue=act sem=4
; Steps 3 and 4: r + (b shifted by e5 - e3); e4; shift.
act.drain mode=block cols=2 xrA=1 hasBias=1 biasAligned=1 paramOffset=64 dstType=bfp dstMantissa=WIDTH dstBlock=8 dstOffset=96 dstXr=2 dstXrClear=1
sem.signal queue=act sem=5
sem.wait queue=dma1 sem=5
dma.copy queue=dma1 srcMem=sb srcBase=96 dstBase=128 elemBytes=BYTES n4=2 srcStride4=65536 dstStride4=BYTES
dma.copy queue=dma1 srcMem=xm srcBase=96 dstBase=160
