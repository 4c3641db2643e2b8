; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; dma.fill: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

dma.fill queue=dma2 elemBytes=2 dstMem=xm dstBase=4096 n4=256 dstStride4=2 value=0x8080
; WORDS: {{^}} 0a00000000000211{{$}}
; WORDS-NEXT: {{^}} 0000000000080022{{$}}
; WORDS-NEXT: {{^}} 0000010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000010000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000002{{$}}
; WORDS-NEXT: {{^}} 0000000000008080{{$}}
; TEXT: dma.fill queue=dma2 elemBytes=2 dstMem=xm dstBase=4096 n4=256 dstStride4=2 value=0x8080

dma.fill n0=2 n1=3 n2=4 n3=5 dstStride0=-5 dstStride1=100 dstStride2=200 dstStride3=300 value=0xffffffffffffffff
; WORDS-NEXT: {{^}} 0a00000000000011{{$}}
; WORDS-NEXT: {{^}} 0000000000000001{{$}}
; WORDS-NEXT: {{^}} 0000040000300002{{$}}
; WORDS-NEXT: {{^}} 0000000000100005{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffb{{$}}
; WORDS-NEXT: {{^}} 0000000000000064{{$}}
; WORDS-NEXT: {{^}} 00000000000000c8{{$}}
; WORDS-NEXT: {{^}} 000000000000012c{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} ffffffffffffffff{{$}}
; TEXT: dma.fill n0=2 n1=3 n2=4 n3=5 dstStride0=-5 dstStride1=100 dstStride2=200 dstStride3=300 value=0xffffffffffffffff
