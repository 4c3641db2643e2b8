; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; pe.load: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

pe.load part=8 rows=16 offset=11259375 cols=4 colStride=-2 type=bfp mantissa=8 range=7 xr=1023 orientation=f mode=select
; WORDS: {{^}} 0300000000000420{{$}}
; WORDS-NEXT: {{^}} 5004abcdef010008{{$}}
; WORDS-NEXT: {{^}} 01ff9d0dfffffffe{{$}}
; TEXT: pe.load part=8 rows=16 offset=11259375 cols=4 colStride=-2 type=bfp mantissa=8 range=7 xr=1023 orientation=f mode=select

pe.load
; WORDS-NEXT: {{^}} 0300000000000420{{$}}
; WORDS-NEXT: {{^}} 0001000000001000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.load
