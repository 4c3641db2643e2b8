; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; dma.gather: text -> words -> text.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as --raw %s -o %t
; RUN: od -A n -v -t x8 -w8 %t | FileCheck --check-prefix=WORDS %s
; RUN: ashlar-dis --raw %t | FileCheck --check-prefix=TEXT --match-full-lines %s

dma.gather queue=dma1 elemBytes=4 indexType=i64 size=30000 srcBase=64 indexBase=128 dstBase=4096 axisStride=1024 n3=16 n4=256 srcStride4=4 indexStride3=8 dstStride3=4 dstStride4=65536
; WORDS: {{^}} 1500000000000113{{$}}
; WORDS-NEXT: {{^}} 0000000000ea6094{{$}}
; WORDS-NEXT: {{^}} 0000010000000040{{$}}
; WORDS-NEXT: {{^}} 0000010000000080{{$}}
; WORDS-NEXT: {{^}} 0000010000001000{{$}}
; WORDS-NEXT: {{^}} 0000010000000400{{$}}
; WORDS-NEXT: {{^}} 0001000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000008{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000000{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; WORDS-NEXT: {{^}} 0000000000010000{{$}}
; TEXT: dma.gather queue=dma1 elemBytes=4 indexType=i64 size=30000 srcBase=64 indexBase=128 dstBase=4096 axisStride=1024 n3=16 n4=256 srcStride4=4 indexStride3=8 dstStride3=4 dstStride4=65536

dma.gather queue=dma3 elemBytes=8 indexType=i32 size=16777215 srcBase=1099511627775 n0=1048575 indexBase=1 n1=2 dstBase=2 n2=3 axisStride=-34359738368 n3=4 srcStride0=-549755813888 n4=5 srcStride1=-1 srcStride2=2 srcStride3=3 srcStride4=-8 indexStride0=549755813887 indexStride1=-2 indexStride2=3 indexStride3=-4 indexStride4=4 dstStride0=5 dstStride1=-6 dstStride2=7 dstStride3=-8 dstStride4=8
; WORDS-NEXT: {{^}} 1500000000000313{{$}}
; WORDS-NEXT: {{^}} 00000001fffffe78{{$}}
; WORDS-NEXT: {{^}} 0fffffffffffffff{{$}}
; WORDS-NEXT: {{^}} 0000020000000001{{$}}
; WORDS-NEXT: {{^}} 0000030000000002{{$}}
; WORDS-NEXT: {{^}} 0000004800000000{{$}}
; WORDS-NEXT: {{^}} 0000058000000000{{$}}
; WORDS-NEXT: {{^}} 000000ffffffffff{{$}}
; WORDS-NEXT: {{^}} 0000000000000002{{$}}
; WORDS-NEXT: {{^}} 0000000000000003{{$}}
; WORDS-NEXT: {{^}} 000000fffffffff8{{$}}
; WORDS-NEXT: {{^}} 0000007fffffffff{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffe{{$}}
; WORDS-NEXT: {{^}} 0000000000000003{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffc{{$}}
; WORDS-NEXT: {{^}} 0000000000000004{{$}}
; WORDS-NEXT: {{^}} 0000000000000005{{$}}
; WORDS-NEXT: {{^}} 000000fffffffffa{{$}}
; WORDS-NEXT: {{^}} 0000000000000007{{$}}
; WORDS-NEXT: {{^}} 000000fffffffff8{{$}}
; WORDS-NEXT: {{^}} 0000000000000008{{$}}
; TEXT: dma.gather queue=dma3 elemBytes=8 indexType=i32 size=16777215 srcBase=1099511627775 n0=1048575 indexBase=1 n1=2 dstBase=2 n2=3 axisStride=-34359738368 n3=4 srcStride0=-549755813888 n4=5 srcStride1=-1 srcStride2=2 srcStride3=3 srcStride4=-8 indexStride0=549755813887 indexStride1=-2 indexStride2=3 indexStride3=-4 indexStride4=4 dstStride0=5 dstStride1=-6 dstStride2=7 dstStride3=-8 dstStride4=8
