; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; pe.swap: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

pe.swap
; WORDS: {{^}} 0100000000000521{{$}}
; TEXT: pe.swap
