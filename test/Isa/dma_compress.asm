; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; dma.compress and dma.expand: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

dma.compress queue=dma1 form=quadtree levels=3 srcBase=64 dstBase=4096 n1=14 n3=64 n4=14 srcStride1=14 srcStride3=65536 srcStride4=1 dstStride1=1088 cellBytes=1100 typicalBytes=600
; WORDS: {{^}} 0c00000000000114{{$}}
; WORDS-NEXT: {{^}} 00000000000100f1{{$}}
; WORDS-NEXT: {{^}} 0000010000001000{{$}}
; WORDS-NEXT: {{^}} 000040000010000e{{$}}
; WORDS-NEXT: {{^}} 000000000000000e{{$}}
; WORDS-NEXT: {{^}} 000000000000000e{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000010000{{$}}
; WORDS-NEXT: {{^}} 0000000000000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000440{{$}}
; WORDS-NEXT: {{^}} 000002580000044c{{$}}
; TEXT: dma.compress queue=dma1 form=quadtree levels=3 srcBase=64 dstBase=4096 n1=14 n3=64 n4=14 srcStride1=14 srcStride3=65536 srcStride4=1 dstStride1=1088 cellBytes=1100 typicalBytes=600

dma.expand queue=dma3 elemBytes=4 dstBase=3 srcBase=1099511627775 n0=1048575 n1=2 n2=3 n3=4 n4=5 dstStride0=-549755813888 dstStride1=-1 dstStride2=2 dstStride3=3 dstStride4=-8 srcStride0=549755813887 srcStride1=-2 cellBytes=4294967295 typicalBytes=4294967294
; WORDS-NEXT: {{^}} 0c00000000000315{{$}}
; WORDS-NEXT: {{^}} 0000000000000034{{$}}
; WORDS-NEXT: {{^}} 0fffffffffffffff{{$}}
; WORDS-NEXT: {{^}} 0000040000300002{{$}}
; WORDS-NEXT: {{^}} 0800000000000005{{$}}
; WORDS-NEXT: {{^}} 000000ffffffffff{{$}}
; WORDS-NEXT: {{^}} 0000000000000002{{$}}
; WORDS-NEXT: {{^}} 0000000000000003{{$}}
; WORDS-NEXT: {{^}} 000000fffffffff8{{$}}
; WORDS-NEXT: {{^}} 0000007fffffffff{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffe{{$}}
; WORDS-NEXT: {{^}} fffffffeffffffff{{$}}
; TEXT: dma.expand queue=dma3 elemBytes=4 dstBase=3 srcBase=1099511627775 n0=1048575 n1=2 n2=3 n3=4 n4=5 dstStride0=-549755813888 dstStride1=-1 dstStride2=2 dstStride3=3 dstStride4=-8 srcStride0=549755813887 srcStride1=-2 cellBytes=4294967295 typicalBytes=4294967294
