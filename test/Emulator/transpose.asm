; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The 4 x 4 identity transpose as text: words of two bytes through select mode,
; the drain one row after the stream. The identity enters anti-diagonal, last
; column first.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: ashlar-run %t.ash | FileCheck %s
; RUN: ashlar-dis %t.ash | FileCheck %s --check-prefix=DIS
; RUN: sed -e 's/offset=67 type=u8/offset=64 type=u8/' -e 's/stride2=-1 psum/stride2=1 psum/' %s > %t.asm
; RUN: ashlar-as %t.asm -o %t2.ash
; RUN: not ashlar-run %t2.ash 2>&1 | FileCheck %s --check-prefix=ORDER
; ORDER: the moving operand is not an identity window: row 0 of step 0 is zero

; CHECK: output 'y' u16[4x4]
; CHECK-NEXT: top: [3,3]=16 [2,3]=15 [1,3]=14 [0,3]=13 [3,2]=12
; DIS: pe.matmul {{.*}}mode=select{{.*}}window=identity
; DIS: act.drain {{.*}}order=row

.machine name=fig3-4x4
.model name=transpose
.semaphores count=8
.node name=Transpose_0 op=Transpose engine=pe
.data at=0 hex=0100020003000400050006000700080009000a000b000c000d000e000f001000
.data at=32 hex=00000001000001000001000001000000
.output name=y type=u16 shape=[4, 4] at=64
.for node=0
dma.copy elemBytes=2 dstMem=sb n3=4 n4=4 srcStride3=8 srcStride4=2 dstStride3=65536 dstStride4=2
dma.copy srcBase=32 dstMem=sb dstBase=64 n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
sem.wait queue=peload sem=0
pe.load rows=4 cols=4 colStride=2 type=u16 mode=select
sem.signal queue=peload sem=2
sem.wait queue=pe sem=1
sem.wait queue=pe sem=2
pe.swap
pe.matmul rows=4 cols=4 offset=67 type=u8 mode=select window=identity n2=4 stride2=-1 psumStride2=1 hi0=1 hi1=1 hi2=4
sem.signal queue=pe sem=3
sem.wait queue=act sem=3
act.drain mode=raw64 order=row cols=4 n2=4 psumStride2=1 dstType=u16 dstOffset=128 dstStride2=2
sem.signal queue=act sem=4
sem.wait queue=dma1 sem=4
dma.copy queue=dma1 elemBytes=2 srcMem=sb srcBase=128 dstBase=64 n3=4 n4=4 srcStride3=65536 srcStride4=2 dstStride3=8 dstStride4=2
