; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; act.pool: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

act.pool psum=3 psumStride=4 cols=5 mode=int hasScale=1 hasBias=1 hasExp=1 alphaFromParam=1 mapped=1 dstXrClear=1 table=2 inH=6 inW=7 srcBlock=16 srcType=f16 srcMantissa=3 group=33 outH=8 outW=9 kH=10 kW=11 sH=12 sW=13 groupLanes=14 paramPart=25 dstType=bf16 dstMantissa=4 pH=16 pW=-17 dstBlock=16 function=relu regionStride=18 shift=-27 xrA=20 xrS=21 dstPart=28 paramOffset=26 dstOffset=29 dstXr=24 alpha=0.5 beta=-2 dstStrideH=30 dstStrideW=-31
; WORDS: {{^}} 0a00000000000631{{$}}
; WORDS-NEXT: {{^}} 2fd0050000400003{{$}}
; WORDS-NEXT: {{^}} 8461100000700006{{$}}
; WORDS-NEXT: {{^}} 00b00a0000900008{{$}}
; WORDS-NEXT: {{^}} 008201900e00d00c{{$}}
; WORDS-NEXT: {{^}} 000710fffef00010{{$}}
; WORDS-NEXT: {{^}} 01c05414ffe50012{{$}}
; WORDS-NEXT: {{^}} 001800001d00001a{{$}}
; WORDS-NEXT: {{^}} c00000003f000000{{$}}
; WORDS-NEXT: {{^}} ffffffe10000001e{{$}}
; TEXT: act.pool psum=3 psumStride=4 cols=5 mode=int hasScale=1 hasBias=1 hasExp=1 alphaFromParam=1 mapped=1 dstXrClear=1 table=2 inH=6 inW=7 srcBlock=16 srcType=f16 srcMantissa=3 group=33 outH=8 outW=9 kH=10 kW=11 sH=12 sW=13 groupLanes=14 paramPart=25 dstType=bf16 dstMantissa=4 pH=16 pW=-17 dstBlock=16 function=relu regionStride=18 shift=-27 xrA=20 xrS=21 dstPart=28 paramOffset=26 dstOffset=29 dstXr=24 alpha=0.5 beta=-2 dstStrideH=30 dstStrideW=-31

act.pool
; WORDS-NEXT: {{^}} 0a00000000000631{{$}}
; WORDS-NEXT: {{^}} 0000010000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000100001{{$}}
; WORDS-NEXT: {{^}} 0010010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000001001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: act.pool
