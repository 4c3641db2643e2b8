; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; pe.matmul: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

pe.matmul part=1 rows=2 cols=3 offset=4 type=bfp mantissa=16 range=15 xr=5 orientation=f mode=int groups=6 accumulate=1 psum=7 n0=8 n1=9 n2=10 stride0=-11 stride1=12 stride2=-13 psumStride0=-14 psumStride1=15 psumStride2=-16 lo0=-17 hi0=18 lo1=-19 hi1=20 lo2=-21 hi2=22
; WORDS: {{^}} 0900000000000522{{$}}
; WORDS-NEXT: {{^}} b000004003002001{{$}}
; WORDS-NEXT: {{^}} 0000000e0c02be0d{{$}}
; WORDS-NEXT: {{^}} 00000a0000900008{{$}}
; WORDS-NEXT: {{^}} 0000000cfffffff5{{$}}
; WORDS-NEXT: {{^}} 000ffff2fffffff3{{$}}
; WORDS-NEXT: {{^}} 0fffefffff00000f{{$}}
; WORDS-NEXT: {{^}} 000014fffed00012{{$}}
; WORDS-NEXT: {{^}} 00000000016fffeb{{$}}
; TEXT: pe.matmul part=1 rows=2 cols=3 offset=4 type=bfp mantissa=16 range=15 xr=5 orientation=f mode=int groups=6 accumulate=1 psum=7 n0=8 n1=9 n2=10 stride0=-11 stride1=12 stride2=-13 psumStride0=-14 psumStride1=15 psumStride2=-16 lo0=-17 hi0=18 lo1=-19 hi1=20 lo2=-21 hi2=22

pe.matmul
; WORDS-NEXT: {{^}} 0900000000000522{{$}}
; WORDS-NEXT: {{^}} 0000000001001000{{$}}
; WORDS-NEXT: {{^}} 0000000002000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.matmul

pe.matmul pattern=1
; WORDS-NEXT: {{^}} 0900000000000522{{$}}
; WORDS-NEXT: {{^}} 0000000001001000{{$}}
; WORDS-NEXT: {{^}} 8000000002000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.matmul pattern=1

pe.matmul type=bfp mantissa=4 narrow=1
; WORDS-NEXT: {{^}} 0900000000000522{{$}}
; WORDS-NEXT: {{^}} 0000000001001000{{$}}
; WORDS-NEXT: {{^}} 000000000200008d{{$}}
; WORDS-NEXT: {{^}} 0000010000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 1000000000000000{{$}}
; TEXT: pe.matmul type=bfp mantissa=4 narrow=1
