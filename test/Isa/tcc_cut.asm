; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Counting and cutting: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

tcc.nnz channels=64 part=8 offset=9 type=bfp mantissa=7 clear=1 inN=2 inH=14 inW=13 srcStrideN=-3 srcStrideH=14 srcStrideW=1 srcTileStride=-2 counts=77 pitch=15
; WORDS: {{^}} 0600000000000858{{$}}
; WORDS-NEXT: {{^}} 04ed000009008040{{$}}
; WORDS-NEXT: {{^}} 000000d0000e0002{{$}}
; WORDS-NEXT: {{^}} 0000000efffffffd{{$}}
; WORDS-NEXT: {{^}} fffffffe00000001{{$}}
; WORDS-NEXT: {{^}} 0000000000f0004d{{$}}
; TEXT: tcc.nnz channels=64 part=8 offset=9 type=bfp mantissa=7 clear=1 inN=2 inH=14 inW=13 srcStrideN=-3 srcStrideH=14 srcStrideW=1 srcTileStride=-2 counts=77 pitch=15

tcc.part table=3 unit=4 copies=2 units=5 gridN=2 images=3 n0=1 disjoint=1 refine=1 moveBands=1 y0=6 x0=7 endN=8 algorithm=p1 metric=cycles alignH=2 alignW=3 tileH=9 tileW=10 endH=11 endW=12 kH=3 kW=5 sH=2 sW=1 dH=4 dW=6 threshold=300 rounds=100 pH=-1 inH=40 inW=41 pW=-2 counts=500 pitch=42 capacity=4000000000 multipliers=128
; WORDS-NEXT: {{^}} 0800000000000859{{$}}
; WORDS-NEXT: {{^}} e000206040502043{{$}}
; WORDS-NEXT: {{^}} 0c2d000800070006{{$}}
; WORDS-NEXT: {{^}} 0000c000b0028009{{$}}
; WORDS-NEXT: {{^}} 019012c184120503{{$}}
; WORDS-NEXT: {{^}} 00002900028fffff{{$}}
; WORDS-NEXT: {{^}} 00002a001f4ffffe{{$}}
; WORDS-NEXT: {{^}} 00000080ee6b2800{{$}}
; TEXT: tcc.part table=3 unit=4 copies=2 units=5 gridN=2 images=3 n0=1 disjoint=1 refine=1 moveBands=1 y0=6 x0=7 endN=8 algorithm=p1 metric=cycles alignH=2 alignW=3 tileH=9 tileW=10 endH=11 endW=12 kH=3 kW=5 sH=2 dH=4 dW=6 threshold=300 rounds=100 pH=-1 inH=40 inW=41 pW=-2 counts=500 pitch=42 capacity=4000000000 multipliers=128

tcc.operand table=3 clear=1 unit=4 copies=2 gridN=2 gridH=3 gridW=4 images=3 n0=1 y0=6 x0=7 endN=8 tileH=9 tileW=10 outH=11 outW=12 kH=3 kW=5 sH=2 sW=1 dH=4 dW=6 pH=-1 inH=40 inW=41 pW=-2
; WORDS-NEXT: {{^}} 070000000000085a{{$}}
; WORDS-NEXT: {{^}} 0000608060404093{{$}}
; WORDS-NEXT: {{^}} 0008000700060001{{$}}
; WORDS-NEXT: {{^}} 0000c000b0028009{{$}}
; WORDS-NEXT: {{^}} 0000000184120503{{$}}
; WORDS-NEXT: {{^}} 00002900028fffff{{$}}
; WORDS-NEXT: {{^}} 00000000000ffffe{{$}}
; TEXT: tcc.operand table=3 clear=1 unit=4 copies=2 gridN=2 gridH=3 gridW=4 images=3 n0=1 y0=6 x0=7 endN=8 tileH=9 tileW=10 outH=11 outW=12 kH=3 kW=5 sH=2 dH=4 dW=6 pH=-1 inH=40 inW=41 pW=-2

act.drain cols=8 n1=14 n2=13 counted=1 countClear=1 counts=1000 countStride0=182 countStride1=13 countStride2=1
; WORDS-NEXT: {{^}} 0d00000000000630{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 00000e0000100000{{$}}
; WORDS-NEXT: {{^}} 000000000080000d{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 000400d02d800fa3{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: act.drain n1=14 n2=13 cols=8 counted=1 countClear=1 counts=1000 countStride0=182 countStride1=13 countStride2=1

tcc.bind table=3 unit=5 memory=4 count=6
; WORDS-NEXT: {{^}} 020000000000085b{{$}}
; WORDS-NEXT: {{^}} 0000000000604053{{$}}
; TEXT: tcc.bind table=3 unit=5 memory=4 count=6
