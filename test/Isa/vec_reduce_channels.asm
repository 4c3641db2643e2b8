; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.reduce_channels: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.reduce_channels kind=l1 selectLast=1 channels=2 n0=3 n1=4 n2=5 srcType=u16 srcMantissa=6 srcPart=7 srcOffset=8 srcTileStride=-9 srcStride0=10 srcStride1=-11 srcStride2=12 dstType=u32 dstMantissa=13 dstBlock=64 dstPart=14 dstOffset=15 dstStride0=-16 dstStride1=17 dstStride2=-18 dstXr=19 dstXrClear=1
; WORDS: {{^}} 0800000000000743{{$}}
; WORDS-NEXT: {{^}} 1418c00006000056{{$}}
; WORDS-NEXT: {{^}} 00d0070000500004{{$}}
; WORDS-NEXT: {{^}} 40fffffff7000008{{$}}
; WORDS-NEXT: {{^}} fffffff50000000a{{$}}
; WORDS-NEXT: {{^}} 0001300e0000000c{{$}}
; WORDS-NEXT: {{^}} 00fffffff000000f{{$}}
; WORDS-NEXT: {{^}} ffffffee00000011{{$}}
; TEXT: vec.reduce_channels kind=l1 selectLast=1 channels=2 n0=3 n1=4 n2=5 srcType=u16 srcMantissa=6 srcPart=7 srcOffset=8 srcTileStride=-9 srcStride0=10 srcStride1=-11 srcStride2=12 dstType=u32 dstMantissa=13 dstBlock=64 dstPart=14 dstOffset=15 dstStride0=-16 dstStride1=17 dstStride2=-18 dstXr=19 dstXrClear=1

vec.reduce_channels
; WORDS-NEXT: {{^}} 0800000000000743{{$}}
; WORDS-NEXT: {{^}} 0000000002000020{{$}}
; WORDS-NEXT: {{^}} 0000000000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.reduce_channels
