; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; pe.load: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

pe.load part=8 rows=16 offset=11259375 cols=4 colStride=-2 type=bfp mantissa=8 range=7 xr=1023 orientation=f mode=select
; WORDS: {{^}} 0400000000000420{{$}}
; WORDS-NEXT: {{^}} 5004abcdef010008{{$}}
; WORDS-NEXT: {{^}} 01ff9d0dfffffffe{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.load part=8 rows=16 offset=11259375 cols=4 colStride=-2 type=bfp mantissa=8 range=7 xr=1023 orientation=f mode=select

pe.load
; WORDS-NEXT: {{^}} 0400000000000420{{$}}
; WORDS-NEXT: {{^}} 0001000000001000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.load

pe.load rows=2 cols=3 colStride=1 type=u8 mode=int zero=120
; WORDS-NEXT: {{^}} 0400000000000420{{$}}
; WORDS-NEXT: {{^}} 2003000000002000{{$}}
; WORDS-NEXT: {{^}} 0000000400000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000078{{$}}
; TEXT: pe.load rows=2 cols=3 colStride=1 type=u8 mode=int zero=120

pe.load rows=4 cols=3 colStride=1 type=u8 mode=int pattern=1
; WORDS-NEXT: {{^}} 0400000000000420{{$}}
; WORDS-NEXT: {{^}} 2003000000004000{{$}}
; WORDS-NEXT: {{^}} 0000000400000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000200{{$}}
; TEXT: pe.load rows=4 cols=3 colStride=1 type=u8 mode=int pattern=1
