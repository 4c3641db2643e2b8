; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; xr.select: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

xr.select dst=4 sr=1 k=64 mantissa=8
; WORDS: {{^}} 0200000000000705{{$}}
; WORDS-NEXT: {{^}} 0000000008400404{{$}}
; TEXT: xr.select dst=4 sr=1 k=64 mantissa=8

xr.select dst=1023 sr=63 k=255 mantissa=16 lead=ceil rule=maximum
; WORDS-NEXT: {{^}} 0200000000000705{{$}}
; WORDS-NEXT: {{^}} 0000000070ffffff{{$}}
; TEXT: xr.select dst=1023 sr=63 k=255 mantissa=16 lead=ceil rule=maximum
