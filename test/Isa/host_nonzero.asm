; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; host.nonzero: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

host.nonzero type=bool rank=2 xBase=64 dstBase=128 n6=3 n7=5
; WORDS: {{^}} 0800000000000970{{$}}
; WORDS-NEXT: {{^}} 000000000000004b{{$}}
; WORDS-NEXT: {{^}} 0000000000000040{{$}}
; WORDS-NEXT: {{^}} 0000000000000080{{$}}
; WORDS-NEXT: {{^}} 0000000100000001{{$}}
; WORDS-NEXT: {{^}} 0000000100000001{{$}}
; WORDS-NEXT: {{^}} 0000000100000001{{$}}
; WORDS-NEXT: {{^}} 0000000500000003{{$}}
; TEXT: host.nonzero type=bool rank=2 xBase=64 dstBase=128 n6=3 n7=5
