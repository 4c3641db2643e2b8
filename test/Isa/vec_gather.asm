; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; vec.gather: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

vec.gather channels=8 n2=3 indexBroadcastPart=1 size=16 indexType=i64 axisStride=4 indexOffset=64 indexStride2=8 dstPart=2 dstOffset=128 dstStride2=4
; WORDS: {{^}} 0c00000000000744{{$}}
; WORDS-NEXT: {{^}} 2000010000100008{{$}}
; WORDS-NEXT: {{^}} 1200000001000003{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000400000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000040{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000200000000008{{$}}
; WORDS-NEXT: {{^}} 0000000000000080{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; TEXT: vec.gather channels=8 n2=3 indexBroadcastPart=1 size=16 indexType=i64 axisStride=4 indexOffset=64 indexStride2=8 dstPart=2 dstOffset=128 dstStride2=4
