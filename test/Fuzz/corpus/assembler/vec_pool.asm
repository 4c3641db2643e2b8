; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.pool: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.pool kind=avg channels=2 srcType=f16 srcMantissa=3 srcPart=4 srcOffset=5 srcTileStride=-6 srcStrideD=7 srcStrideH=-8 srcStrideW=9 inD=10 inH=11 inW=12 outD=13 outH=14 outW=15 kD=16 kH=17 kW=18 sD=19 sH=20 sW=21 dD=22 dH=23 dW=24 pD=-25 pH=26 pW=-27 cloD=-28 chiD=29 cloH=-30 chiH=31 cloW=-32 chiW=33 dstType=bf16 dstMantissa=4 dstBlock=16 dstPart=34 dstOffset=35 dstTileStride=-36 dstStrideD=37 dstStrideH=-38 dstStrideW=39 dstXr=40 dstXrClear=1
; WORDS: {{^}} 0e00000000000741{{$}}
; WORDS-NEXT: {{^}} 0000a00418400009{{$}}
; WORDS-NEXT: {{^}} 22fffffffa000005{{$}}
; WORDS-NEXT: {{^}} fffffff800000007{{$}}
; WORDS-NEXT: {{^}} 0100000b00000009{{$}}
; WORDS-NEXT: {{^}} 00000e0000d0000c{{$}}
; WORDS-NEXT: {{^}} 040130120110000f{{$}}
; WORDS-NEXT: {{^}} 0018017016015014{{$}}
; WORDS-NEXT: {{^}} 0fffe50001afffe7{{$}}
; WORDS-NEXT: {{^}} 0fffe20001dfffe4{{$}}
; WORDS-NEXT: {{^}} 000021fffe00001f{{$}}
; WORDS-NEXT: {{^}} 0002800002302210{{$}}
; WORDS-NEXT: {{^}} 00000025ffffffdc{{$}}
; WORDS-NEXT: {{^}} 00000027ffffffda{{$}}
; TEXT: vec.pool kind=avg channels=2 srcType=f16 srcMantissa=3 srcPart=4 srcOffset=5 srcTileStride=-6 srcStrideD=7 srcStrideH=-8 srcStrideW=9 inD=10 inH=11 inW=12 outD=13 outH=14 outW=15 kD=16 kH=17 kW=18 sD=19 sH=20 sW=21 dD=22 dH=23 dW=24 pD=-25 pH=26 pW=-27 cloD=-28 chiD=29 cloH=-30 chiH=31 cloW=-32 chiW=33 dstType=bf16 dstMantissa=4 dstBlock=16 dstPart=34 dstOffset=35 dstTileStride=-36 dstStrideD=37 dstStrideH=-38 dstStrideW=39 dstXr=40 dstXrClear=1

vec.pool
; WORDS-NEXT: {{^}} 0e00000000000741{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0010000000000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100000{{$}}
; WORDS-NEXT: {{^}} 0000100100100001{{$}}
; WORDS-NEXT: {{^}} 0001001001001001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.pool
