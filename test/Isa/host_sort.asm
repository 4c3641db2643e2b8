; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; host.sort: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

host.sort descending=1 xBase=64 dstBase=4096 outer=2 extent=1000 inner=3 keep=10
; WORDS: {{^}} 0600000000000971{{$}}
; WORDS-NEXT: {{^}} 0000000000000020{{$}}
; WORDS-NEXT: {{^}} 0000000000000040{{$}}
; WORDS-NEXT: {{^}} 0000000000001000{{$}}
; WORDS-NEXT: {{^}} 000003e800000002{{$}}
; WORDS-NEXT: {{^}} 0000000a00000003{{$}}
; TEXT: host.sort descending=1 xBase=64 dstBase=4096 outer=2 extent=1000 inner=3 keep=10
