; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Fields of words and drain orders: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

pe.load rows=8 cols=4 colStride=1 type=bfp mantissa=8 orientation=f mode=select
; WORDS: {{^}} 0400000000000420{{$}}
; WORDS-NEXT: {{^}} 5004000000008000{{$}}
; WORDS-NEXT: {{^}} 0000010d00000001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.load rows=8 cols=4 colStride=1 type=bfp mantissa=8 orientation=f mode=select

pe.matmul rows=8 cols=4 type=f16 mode=float window=identity n2=8
; WORDS-NEXT: {{^}} 0900000000000522{{$}}
; WORDS-NEXT: {{^}} 6000000004008000{{$}}
; WORDS-NEXT: {{^}} 0020000002000001{{$}}
; WORDS-NEXT: {{^}} 0000080000100001{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: pe.matmul rows=8 cols=4 type=f16 mode=float n2=8 window=identity

act.drain mode=raw64 order=partition typed=1 dstOrientation=f resType=f16 dstType=bfp
; WORDS-NEXT: {{^}} 0d00000000000630{{$}}
; WORDS-NEXT: {{^}} 2000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000010000100000{{$}}
; WORDS-NEXT: {{^}} 0000000000100001{{$}}
; WORDS-NEXT: {{^}} 8d00400000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 6000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; TEXT: act.drain mode=raw64 resType=f16 dstType=bfp order=partition typed=1 dstOrientation=f
