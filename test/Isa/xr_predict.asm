; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; xr.predict: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

xr.predict dst=4 history=16 observed=5 k=48 mantissa=8 range=7 depth=8
; WORDS: {{^}} 0200000000000707{{$}}
; WORDS-NEXT: {{^}} 010e830000504004{{$}}
; TEXT: xr.predict dst=4 history=16 observed=5 k=48 mantissa=8 range=7 depth=8

xr.predict dst=1023 history=1023 observed=1023 sr=63 k=255 mantissa=16 range=15 depth=16
; WORDS-NEXT: {{^}} 0200000000000707{{$}}
; WORDS-NEXT: {{^}} 021f0fffffffffff{{$}}
; TEXT: xr.predict dst=1023 history=1023 observed=1023 sr=63 k=255 mantissa=16 range=15 depth=16
