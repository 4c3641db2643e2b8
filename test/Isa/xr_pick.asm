; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; xr.pick: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

xr.pick dst=4 preferred=2 fallback=3
; WORDS: {{^}} 0200000000000706{{$}}
; WORDS-NEXT: {{^}} 0000000000300804{{$}}
; TEXT: xr.pick dst=4 preferred=2 fallback=3

xr.pick dst=1023 preferred=1023 fallback=1023
; WORDS-NEXT: {{^}} 0200000000000706{{$}}
; WORDS-NEXT: {{^}} 000000003fffffff{{$}}
; TEXT: xr.pick dst=1023 preferred=1023 fallback=1023
