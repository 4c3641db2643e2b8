; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; act.drain: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

act.drain psum=1 psumStride0=-2 psumStride1=3 psumStride2=-4 n0=5 n1=6 n2=7 cols=8 mode=raw64 xrA=9 xrS=10 shift=-11 paramPart=12 paramOffset=13 hasScale=1 hasBias=1 hasExp=1 function=leakyRelu alphaFromParam=1 alpha=0.5 beta=-1.5 resMode=1 resType=bfp resMantissa=14 resPart=15 resOffset=16 resStride0=-17 resStride1=18 resStride2=-19 dstPart=20 dstOffset=21 dstStride0=-22 dstStride1=23 dstStride2=-24 dstType=bfp dstMantissa=8 dstBlock=64 dstXr=25 dstXrClear=1
; WORDS: {{^}} 0d00000000000630{{$}}
; WORDS-NEXT: {{^}} e00003ffffe00001{{$}}
; WORDS-NEXT: {{^}} f0000600005ffffc{{$}}
; WORDS-NEXT: {{^}} 00c0280900800007{{$}}
; WORDS-NEXT: {{^}} 0d734800000dfff5{{$}}
; WORDS-NEXT: {{^}} bfc000003f000000{{$}}
; WORDS-NEXT: {{^}} 080801400001000f{{$}}
; WORDS-NEXT: {{^}} 00000012ffffffef{{$}}
; WORDS-NEXT: {{^}} 00000015ffffffed{{$}}
; WORDS-NEXT: {{^}} 00000017ffffffea{{$}}
; WORDS-NEXT: {{^}} 00000019ffffffe8{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: act.drain psum=1 psumStride0=-2 psumStride1=3 psumStride2=-4 n0=5 n1=6 n2=7 cols=8 mode=raw64 xrA=9 xrS=10 shift=-11 paramPart=12 paramOffset=13 hasScale=1 hasBias=1 hasExp=1 function=leakyRelu alphaFromParam=1 alpha=0.5 beta=-1.5 resMode=1 resType=bfp resMantissa=14 resPart=15 resOffset=16 resStride0=-17 resStride1=18 resStride2=-19 dstPart=20 dstOffset=21 dstStride0=-22 dstStride1=23 dstStride2=-24 dstType=bfp dstMantissa=8 dstBlock=64 dstXr=25 dstXrClear=1

act.drain
; WORDS-NEXT: {{^}} 0d00000000000630{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100000{{$}}
; WORDS-NEXT: {{^}} 0000000000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: act.drain

act.drain cols=5 fromTcu=1 table=2 group=3 groupLanes=2 regionStride=7
; WORDS-NEXT: {{^}} 0d00000000000630{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100000{{$}}
; WORDS-NEXT: {{^}} 0000000000500001{{$}}
; WORDS-NEXT: {{^}} 2000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 2000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0c001c0000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000002{{$}}
; TEXT: act.drain cols=5 fromTcu=1 table=2 regionStride=7 group=3 groupLanes=2
