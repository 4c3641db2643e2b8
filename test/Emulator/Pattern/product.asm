; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; N:M weights: four rows of two columns, of each two cells that are not zero,
; (1 0 2 0) and (0 0 3 -1); five positions of four rows. The sums are those of
; the dense product; two positions are streamed a step, 3 steps instead of 5,
; and half of the cells multiply.
;
; RUN: rm -rf %t && mkdir %t
; RUN: sed 's/FLAG/pattern=1/; s/KEPT/2/; s/GROUP/4/' %s > %t/sparse.asm
; RUN: sed 's/FLAG//; s/KEPT/2/; s/GROUP/4/' %s > %t/dense.asm
; RUN: ashlar-as %t/sparse.asm -o %t/sparse.ash
; RUN: ashlar-as %t/dense.asm -o %t/dense.ash
; RUN: ashlar-dis %t/sparse.ash | FileCheck %s --check-prefix=TEXT
; TEXT: pe.load {{.*}}pattern=1
; TEXT: pe.matmul {{.*}}pattern=1
; RUN: ashlar-run %t/sparse.ash --outputs=%t/y.npz --report=%t/sparse.json | FileCheck %s
; RUN: ashlar-run %t/sparse.ash --threads=2 --expect=%t/y.npz
; RUN: ashlar-run %t/dense.ash --expect=%t/y.npz --report=%t/dense.json
; Column 0: a + 2 c; column 1: 3 c - d.
; CHECK: output 'y' i32[2x5]
; CHECK: [0,4]=35 [0,3]=32 [0,2]=29 [0,1]=26 [1,4]=25
; RUN: %python %S/compare.py %t/dense.json %t/sparse.json
;
; A machine that keeps fewer words, one that keeps every row, a set that was
; loaded without the pattern, and words that nothing multiplies.
; RUN: sed 's/FLAG/pattern=1/; s/KEPT/1/; s/GROUP/4/' %s > %t/one.asm
; RUN: ashlar-as %t/one.asm -o %t/one.ash
; RUN: not ashlar-run %t/one.ash 2>&1 | FileCheck %s --check-prefix=ONE
; ONE: column 0 has more than 1 cells in 4 neighbouring rows that are not zero, which is not 1:4 weights
; RUN: sed 's/FLAG/pattern=1/; s/KEPT/2/; s/GROUP/0/' %s > %t/none.asm
; RUN: not ashlar-as %t/none.asm -o %t/none.ash 2> %t/none.txt || not ashlar-run %t/none.ash 2> %t/none.txt
; RUN: FileCheck %s --check-prefix=NONE < %t/none.txt
; NONE: N:M weights, the array of machine {{.*}} keeps every row (pe.pattern_group is 0)
; RUN: sed 's/colStride=1 type=i8 mode=int FLAG/colStride=1 type=i8 mode=int/; s/FLAG/pattern=1/; s/KEPT/2/; s/GROUP/4/' %s > %t/other.asm
; RUN: not ashlar-as %t/other.asm -o %t/other.ash 2> %t/other.txt || not ashlar-run %t/other.ash 2> %t/other.txt
; RUN: FileCheck %s --check-prefix=OTHER < %t/other.txt
; OTHER: pattern 1, the active set was loaded with 0

.machine yaml="name: nm\nbase: a1-tiny\npe: {pattern_group: GROUP, pattern_kept: KEPT}\n"
.model name=product
.semaphores count=8
.node name=Gemm_0 op=Gemm engine=pe
.data at=0 hex=0102030405060708090a0b0c0d0e0f1011121314
.data at=32 hex=01000000020300ff
.output name=y type=i32 shape=[2, 5] at=64
.for node=0
dma.copy dstMem=sb n3=4 n4=5 srcStride3=5 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcBase=32 dstMem=sb dstBase=32 n3=4 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
sem.wait queue=peload sem=0
pe.load rows=4 cols=2 offset=32 colStride=1 type=i8 mode=int FLAG
sem.signal queue=peload sem=2
sem.wait queue=pe sem=1
sem.wait queue=pe sem=2
pe.swap
pe.matmul rows=4 cols=2 type=i8 mode=int n2=5 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=5 FLAG
sem.signal queue=pe sem=3
sem.wait queue=act sem=3
act.drain mode=int cols=2 n2=5 psumStride2=1 dstType=i32 dstOffset=64 dstStride2=4
sem.signal queue=act sem=4
sem.wait queue=dma1 sem=4
dma.copy queue=dma1 elemBytes=4 srcMem=sb srcBase=64 dstBase=64 n3=2 n4=5 srcStride3=65536 srcStride4=4 dstStride3=20 dstStride4=4
