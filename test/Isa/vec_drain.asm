; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.drain: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.drain psum=3 psumStride=4 cols=5 kind=avg mode=int hasScale=1 hasBias=1 hasExp=1 alphaFromParam=1 dstXrClear=1 inH=6 inW=7 srcBlock=16 srcType=f16 srcMantissa=3 outH=8 outW=9 kH=10 kW=11 sH=12 sW=13 dH=14 dW=15 dstType=bf16 dstMantissa=4 pH=16 pW=-17 dstBlock=16 function=relu cloH=18 chiH=-19 xrA=20 xrS=21 cloW=22 chiW=-23 dstXr=24 paramPart=25 paramOffset=26 shift=-27 dstPart=28 alpha=0.5 beta=-2 dstOffset=29 dstStrideH=30 dstStrideW=-31
; WORDS: {{^}} 0c00000000000747{{$}}
; WORDS-NEXT: {{^}} 1f50050000400003{{$}}
; WORDS-NEXT: {{^}} 0061100000700006{{$}}
; WORDS-NEXT: {{^}} 00b00a0000900008{{$}}
; WORDS-NEXT: {{^}} 008200f00e00d00c{{$}}
; WORDS-NEXT: {{^}} 000710fffef00010{{$}}
; WORDS-NEXT: {{^}} 005414fffed00012{{$}}
; WORDS-NEXT: {{^}} 006418fffe900016{{$}}
; WORDS-NEXT: {{^}} 00001cffe500001a{{$}}
; WORDS-NEXT: {{^}} c00000003f000000{{$}}
; WORDS-NEXT: {{^}} 000000001e00001d{{$}}
; WORDS-NEXT: {{^}} 00000000ffffffe1{{$}}
; TEXT: vec.drain psum=3 psumStride=4 cols=5 kind=avg mode=int hasScale=1 hasBias=1 hasExp=1 alphaFromParam=1 dstXrClear=1 inH=6 inW=7 srcBlock=16 srcType=f16 srcMantissa=3 outH=8 outW=9 kH=10 kW=11 sH=12 sW=13 dH=14 dW=15 dstType=bf16 dstMantissa=4 pH=16 pW=-17 dstBlock=16 function=relu cloH=18 chiH=-19 xrA=20 xrS=21 cloW=22 chiW=-23 dstXr=24 paramPart=25 paramOffset=26 shift=-27 dstPart=28 alpha=0.5 beta=-2 dstOffset=29 dstStrideH=30 dstStrideW=-31

vec.drain
; WORDS-NEXT: {{^}} 0c00000000000747{{$}}
; WORDS-NEXT: {{^}} 0000010000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000100001{{$}}
; WORDS-NEXT: {{^}} 0010010000100001{{$}}
; WORDS-NEXT: {{^}} 0000001001001001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.drain
