; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.stat: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.stat channels=8 n2=16 type=bfp mantissa=8 stride2=1 sr=1 clear=1
; WORDS: {{^}} 0600000000000745{{$}}
; WORDS-NEXT: {{^}} 0000010000100008{{$}}
; WORDS-NEXT: {{^}} 0001040010d00010{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000001{{$}}
; TEXT: vec.stat channels=8 n2=16 type=bfp mantissa=8 stride2=1 sr=1 clear=1
