; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; dma.copy: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

dma.copy queue=dma1 elemBytes=4 srcMem=dram dstMem=sb srcBase=64 n4=16 srcStride4=4 dstStride4=4
; WORDS: {{^}} 0e00000000000110{{$}}
; WORDS-NEXT: {{^}} 0000000000010084{{$}}
; WORDS-NEXT: {{^}} 0000010000000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000010{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; TEXT: dma.copy queue=dma1 elemBytes=4 dstMem=sb srcBase=64 n4=16 srcStride4=4 dstStride4=4

dma.copy queue=dma3 elemBytes=8 srcMem=wm dstMem=fmu srcBase=1099511627775 dstBase=1 n0=1048575 n1=2 n2=3 n3=4 n4=5 srcStride0=-549755813888 srcStride1=1 srcStride2=2 srcStride3=3 srcStride4=-8 dstStride0=549755813887 dstStride1=-1 dstStride2=-2 dstStride3=-3 dstStride4=8
; WORDS-NEXT: {{^}} 0e00000000000310{{$}}
; WORDS-NEXT: {{^}} 0003fffffffffdc8{{$}}
; WORDS-NEXT: {{^}} 0fffff0000000001{{$}}
; WORDS-NEXT: {{^}} 0000040000300002{{$}}
; WORDS-NEXT: {{^}} 0800000000000005{{$}}
; WORDS-NEXT: {{^}} 0000000000000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000002{{$}}
; WORDS-NEXT: {{^}} 0000000000000003{{$}}
; WORDS-NEXT: {{^}} 000000fffffffff8{{$}}
; WORDS-NEXT: {{^}} 0000007fffffffff{{$}}
; WORDS-NEXT: {{^}} 000000ffffffffff{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffe{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffd{{$}}
; WORDS-NEXT: {{^}} 0000000000000008{{$}}
; TEXT: dma.copy queue=dma3 elemBytes=8 srcMem=wm dstMem=fmu srcBase=1099511627775 dstBase=1 n0=1048575 n1=2 n2=3 n3=4 n4=5 srcStride0=-549755813888 srcStride1=1 srcStride2=2 srcStride3=3 srcStride4=-8 dstStride0=549755813887 dstStride1=-1 dstStride2=-2 dstStride3=-3 dstStride4=8
