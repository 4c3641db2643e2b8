; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; sem.signal: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

sem.signal queue=dma1 sem=3
; WORDS: {{^}} 0200000000000102{{$}}
; WORDS-NEXT: {{^}} 0000000000000003{{$}}
; TEXT: sem.signal queue=dma1 sem=3

sem.signal queue=tcc sem=255
; WORDS-NEXT: {{^}} 0200000000000802{{$}}
; WORDS-NEXT: {{^}} 00000000000000ff{{$}}
; TEXT: sem.signal queue=tcc sem=255

sem.signal
; WORDS-NEXT: {{^}} 0200000000000002{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: sem.signal
