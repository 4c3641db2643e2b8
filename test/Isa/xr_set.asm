; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; xr.set: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

xr.set xr=1 value=-6
; WORDS: {{^}} 0200000000000703{{$}}
; WORDS-NEXT: {{^}} 0000000003ffe801{{$}}
; TEXT: xr.set xr=1 value=-6

xr.set xr=1023 value=-32768
; WORDS-NEXT: {{^}} 0200000000000703{{$}}
; WORDS-NEXT: {{^}} 00000000020003ff{{$}}
; TEXT: xr.set xr=1023 value=-32768

xr.set
; WORDS-NEXT: {{^}} 0200000000000703{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: xr.set
