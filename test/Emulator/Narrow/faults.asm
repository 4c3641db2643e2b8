; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Narrow operands where they cannot be: an array whose cells have one sum,
; mantissas that are too wide, of the stream or of the active set, and integers.
;
; RUN: rm -rf %t && mkdir %t
; RUN: sed 's/BITS/0/; s/LOADED/4/; s/STREAMED/type=bfp mantissa=4/' %s > %t/none.asm
; RUN: ashlar-as %t/none.asm -o %t/none.ash
; RUN: not ashlar-run %t/none.ash 2>&1 | FileCheck %s --check-prefix=NONE
; NONE: narrow operands, the array of machine n multiplies one element at a time (pe.narrow_bits is 0)
; RUN: sed 's/BITS/4/; s/LOADED/4/; s/STREAMED/type=bfp mantissa=5/' %s > %t/wide.asm
; RUN: ashlar-as %t/wide.asm -o %t/wide.ash
; RUN: not ashlar-run %t/wide.ash 2>&1 | FileCheck %s --check-prefix=WIDE
; WIDE: narrow operands of 5 bits, expected at most pe.narrow_bits 4
; RUN: sed 's/BITS/4/; s/LOADED/8/; s/STREAMED/type=bfp mantissa=4/' %s > %t/set.asm
; RUN: ashlar-as %t/set.asm -o %t/set.ash
; RUN: not ashlar-run %t/set.ash 2>&1 | FileCheck %s --check-prefix=SET
; SET: narrow operands, the active set has 8 bits, expected mantissas of at most pe.narrow_bits 4
; RUN: sed 's/BITS/4/; s/LOADED/4/; s/STREAMED/type=i8 mode=int/' %s > %t/int.asm
; RUN: ashlar-as %t/int.asm -o %t/int.ash
; RUN: not ashlar-run %t/int.ash 2>&1 | FileCheck %s --check-prefix=INT
; INT: narrow operands in mode int

.machine yaml="name: n\nbase: a1-tiny\npe: {narrow_bits: BITS}\n"
.semaphores count=8
xr.set
sem.signal queue=vec sem=3
sem.signal queue=vec sem=4
dma.fill dstMem=sb n3=8 n4=16 dstStride3=65536 dstStride4=1
dma.fill dstMem=xm n3=2 n4=16 dstStride3=65536 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
sem.wait queue=peload sem=0
sem.wait queue=peload sem=3
pe.load rows=4 cols=2 offset=8 colStride=1 type=bfp mantissa=LOADED range=7
sem.signal queue=peload sem=2
sem.wait queue=pe sem=1
sem.wait queue=pe sem=4
sem.wait queue=pe sem=2
pe.swap
pe.matmul rows=4 cols=2 STREAMED n2=5 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=5 narrow=1
