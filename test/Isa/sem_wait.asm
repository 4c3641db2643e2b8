; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; sem.wait: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

sem.wait queue=pe sem=3
; WORDS: {{^}} 0200000000000501{{$}}
; WORDS-NEXT: {{^}} 0000000000000003{{$}}
; TEXT: sem.wait queue=pe sem=3

sem.wait queue=host sem=255
; WORDS-NEXT: {{^}} 0200000000000901{{$}}
; WORDS-NEXT: {{^}} 00000000000000ff{{$}}
; TEXT: sem.wait queue=host sem=255

sem.wait
; WORDS-NEXT: {{^}} 0200000000000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: sem.wait
