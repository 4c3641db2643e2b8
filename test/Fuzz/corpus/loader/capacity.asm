; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Memory beyond what the machine or the caller grants.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: not ashlar-run %t.ash --max-memory=1000 2>&1 | FileCheck %s --check-prefix=LIMIT
; RUN: not ashlar-run %t.ash 2>&1 | FileCheck %s
; LIMIT: the program needs more than the allowed 1000 bytes of memory: DRAM 64
; CHECK: out of range fault at instruction 0, sb address 524288: writes sb[8..9)[0..8) but sb ends at [8)[65536) in

.machine name=a1-tiny
.memory dram=64
dma.fill elemBytes=8 dstMem=sb dstBase=524288
