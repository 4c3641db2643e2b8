; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.reduce: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.reduce kind=argmin selectLast=1 channels=2 o0=3 o1=4 r0=5 r1=6 srcType=i64 srcMantissa=7 srcPart=8 srcOffset=9 srcTileStride=-10 srcStrideO0=11 srcStrideO1=-12 srcStrideR0=13 srcStrideR1=-14 dstType=f64 dstMantissa=15 dstBlock=32 dstPart=16 dstOffset=17 dstTileStride=-18 dstStrideO0=19 dstStrideO1=-20 dstXr=21 dstXrClear=1
; WORDS: {{^}} 0900000000000742{{$}}
; WORDS-NEXT: {{^}} 161d200006000058{{$}}
; WORDS-NEXT: {{^}} 0000060000500004{{$}}
; WORDS-NEXT: {{^}} 002040f000009008{{$}}
; WORDS-NEXT: {{^}} 0000000bfffffff6{{$}}
; WORDS-NEXT: {{^}} 0000000dfffffff4{{$}}
; WORDS-NEXT: {{^}} 00000011fffffff2{{$}}
; WORDS-NEXT: {{^}} 00000013ffffffee{{$}}
; WORDS-NEXT: {{^}} 00000015ffffffec{{$}}
; TEXT: vec.reduce kind=argmin selectLast=1 channels=2 o0=3 o1=4 r0=5 r1=6 srcType=i64 srcMantissa=7 srcPart=8 srcOffset=9 srcTileStride=-10 srcStrideO0=11 srcStrideO1=-12 srcStrideR0=13 srcStrideR1=-14 dstType=f64 dstMantissa=15 dstBlock=32 dstPart=16 dstOffset=17 dstTileStride=-18 dstStrideO0=19 dstStrideO1=-20 dstXr=21 dstXrClear=1

vec.reduce kind=mean
; WORDS-NEXT: {{^}} 0900000000000742{{$}}
; WORDS-NEXT: {{^}} 0000000002000021{{$}}
; WORDS-NEXT: {{^}} 0000010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.reduce kind=mean
