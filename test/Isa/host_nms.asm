; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; host.nms: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

host.nms boxesBase=64 filtered=1 scoresBase=16064 iouBase=8 leastBase=12 dstBase=336064 classes=80 boxes=1000 keep=100
; WORDS: {{^}} 0900000000000973{{$}}
; WORDS-NEXT: {{^}} 0000020000000040{{$}}
; WORDS-NEXT: {{^}} 0000000000003ec0{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000008{{$}}
; WORDS-NEXT: {{^}} 000000000000000c{{$}}
; WORDS-NEXT: {{^}} 00000000000520c0{{$}}
; WORDS-NEXT: {{^}} 0000005000000001{{$}}
; WORDS-NEXT: {{^}} 00000064000003e8{{$}}
; TEXT: host.nms boxesBase=64 filtered=1 scoresBase=16064 iouBase=8 leastBase=12 dstBase=336064 classes=80 boxes=1000 keep=100
