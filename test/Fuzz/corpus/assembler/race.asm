; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A drain that waits for the swap behind a matmul, not for the matmul.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: not ashlar-run %t.ash 2>&1 | FileCheck %s
; CHECK: race fault at instruction 18, psum address 0: act reads psum[0..1)[0..1) while instruction 11 of queue pe writes psum[0..1)[0..1): no semaphore orders them in 'act.drain dstOffset=128'

.machine name=a1-tiny
.semaphores count=5
dma.fill dstMem=sb n4=64 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
sem.wait queue=peload sem=0
sem.wait queue=pe sem=1
pe.load type=i8 mode=int
sem.signal queue=peload sem=2
sem.wait queue=pe sem=2
pe.swap
sem.signal queue=pe sem=3
sem.wait queue=peload sem=3
pe.matmul type=i8 mode=int hi0=1 hi1=1 hi2=1
pe.load type=i8 mode=int
sem.signal queue=peload sem=2
sem.wait queue=pe sem=2
pe.swap
sem.signal queue=pe sem=4
sem.wait queue=act sem=4
act.drain dstOffset=128
