; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; host.unique: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

host.unique type=i64 sorted=1 xBase=256 dstBase=1024 rows=6 length=2
; WORDS: {{^}} 0500000000000972{{$}}
; WORDS-NEXT: {{^}} 0000000000000029{{$}}
; WORDS-NEXT: {{^}} 0000000000000100{{$}}
; WORDS-NEXT: {{^}} 0000000000000400{{$}}
; WORDS-NEXT: {{^}} 0000000200000006{{$}}
; TEXT: host.unique type=i64 sorted=1 xBase=256 dstBase=1024 rows=6 length=2
