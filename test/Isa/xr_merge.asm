; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; xr.merge: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

xr.merge dst=4 src=2 clear=1
; WORDS: {{^}} 0200000000000704{{$}}
; WORDS-NEXT: {{^}} 0000000000100804{{$}}
; TEXT: xr.merge dst=4 src=2 clear=1

xr.merge dst=1023 src=1023
; WORDS-NEXT: {{^}} 0200000000000704{{$}}
; WORDS-NEXT: {{^}} 00000000000fffff{{$}}
; TEXT: xr.merge dst=1023 src=1023
