; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.map: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.map op=xor channels=1 n0=2 n1=3 n2=4 aType=i8 aMantissa=5 aPart=6 aOffset=7 aBroadcastPart=1 aTileStride=-8 aStride0=9 aStride1=-10 aStride2=11 bMode=immediate bType=u64 bMantissa=12 bPart=13 bOffset=14 bBroadcastPart=1 bTileStride=-15 bStride0=16 bStride1=-17 bStride2=18 alpha=0.25 beta=-2 dstType=bool dstMantissa=3 dstBlock=8 dstPart=19 dstOffset=20 dstTileStride=-21 dstStride0=22 dstStride1=-23 dstStride2=24 dstXr=25 dstXrClear=1
; WORDS: {{^}} 1200000000000740{{$}}
; WORDS-NEXT: {{^}} 74a300002000014f{{$}}
; WORDS-NEXT: {{^}} 18a0060000400003{{$}}
; WORDS-NEXT: {{^}} 0bfffffff8000007{{$}}
; WORDS-NEXT: {{^}} fffffff600000009{{$}}
; WORDS-NEXT: {{^}} 0010300d0000000b{{$}}
; WORDS-NEXT: {{^}} 00fffffff100000e{{$}}
; WORDS-NEXT: {{^}} ffffffef00000010{{$}}
; WORDS-NEXT: {{^}} 3e80000000000012{{$}}
; WORDS-NEXT: {{^}} 00019013c0000000{{$}}
; WORDS-NEXT: {{^}} 00ffffffeb000014{{$}}
; WORDS-NEXT: {{^}} ffffffe900000016{{$}}
; WORDS-NEXT: {{^}} 0000000000000018{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.map op=xor n0=2 n1=3 n2=4 aType=i8 aMantissa=5 aPart=6 aOffset=7 aBroadcastPart=1 aTileStride=-8 aStride0=9 aStride1=-10 aStride2=11 bMode=immediate bType=u64 bMantissa=12 bPart=13 bOffset=14 bBroadcastPart=1 bTileStride=-15 bStride0=16 bStride1=-17 bStride2=18 alpha=0.25 beta=-2 dstType=bool dstMantissa=3 dstBlock=8 dstPart=19 dstOffset=20 dstTileStride=-21 dstStride0=22 dstStride1=-23 dstStride2=24 dstXr=25 dstXrClear=1

vec.map op=gelu
; WORDS-NEXT: {{^}} 1200000000000740{{$}}
; WORDS-NEXT: {{^}} 0000000010000113{{$}}
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
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.map op=gelu

vec.map op=add aType=u8 bMode=tensor bType=u8 beta=6 dstType=i8 affine=1 limited=1 rounded=1 aScale=0.5 bScale=-2 step=0.25 aZero=255 bZero=-3 zero=-128
; WORDS-NEXT: {{^}} 1200000000000740{{$}}
; WORDS-NEXT: {{^}} 0804000010000140{{$}}
; WORDS-NEXT: {{^}} 0040000000100001{{$}}
; WORDS-NEXT: {{^}} 0300000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0700000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000040c00000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 3f00000000000000{{$}}
; WORDS-NEXT: {{^}} 3e800000c0000000{{$}}
; WORDS-NEXT: {{^}} 0000ff80fffd00ff{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: vec.map op=add aType=u8 bMode=tensor bType=u8 beta=6 dstType=i8 affine=1 limited=1 rounded=1 aScale=0.5 bScale=-2 step=0.25 aZero=255 bZero=-3 zero=-128

vec.map op=relu n2=4 aStride2=4 hasScale=1 hasBias=1 biasBroadcastPart=1 scalePart=5 scaleOffset=6 scaleTileStride=-7 biasOffset=8 biasTileStride=9 biasPart=10
; WORDS-NEXT: {{^}} 1200000000000740{{$}}
; WORDS-NEXT: {{^}} 0000000010000107{{$}}
; WORDS-NEXT: {{^}} 0000000000400001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 005b000000000000{{$}}
; WORDS-NEXT: {{^}} 00fffffff9000006{{$}}
; WORDS-NEXT: {{^}} 0000000009000008{{$}}
; WORDS-NEXT: {{^}} 000000000000000a{{$}}
; TEXT: vec.map op=relu n2=4 aStride2=4 hasScale=1 hasBias=1 biasBroadcastPart=1 scalePart=5 scaleOffset=6 scaleTileStride=-7 biasOffset=8 biasTileStride=9 biasPart=10
