; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.measure: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.measure channels=8 n2=16 mantissa=8 stride2=4 xr=3 lead=ceil clear=1
; WORDS: {{^}} 0600000000000746{{$}}
; WORDS-NEXT: {{^}} 0000010000100008{{$}}
; WORDS-NEXT: {{^}} 00300c0010000010{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; TEXT: vec.measure channels=8 n2=16 mantissa=8 stride2=4 xr=3 lead=ceil clear=1
