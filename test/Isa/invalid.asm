; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Every message of the assembler's instruction lines, with its position.
; REQUIRES: ashlar-as
; RUN: split-file %s %t.dir
; RUN: not ashlar-as %t.dir/unknown -o %t.out 2>&1 | FileCheck %t.dir/unknown
; RUN: not ashlar-as %t.dir/no-value -o %t.out 2>&1 | FileCheck %t.dir/no-value
; RUN: not ashlar-as %t.dir/no-field -o %t.out 2>&1 | FileCheck %t.dir/no-field
; RUN: not ashlar-as %t.dir/twice -o %t.out 2>&1 | FileCheck %t.dir/twice
; RUN: not ashlar-as %t.dir/no-integer -o %t.out 2>&1 | FileCheck %t.dir/no-integer
; RUN: not ashlar-as %t.dir/no-float -o %t.out 2>&1 | FileCheck %t.dir/no-float
; RUN: not ashlar-as %t.dir/no-name -o %t.out 2>&1 | FileCheck %t.dir/no-name
; RUN: not ashlar-as %t.dir/range -o %t.out 2>&1 | FileCheck %t.dir/range
; RUN: not ashlar-as %t.dir/signed -o %t.out 2>&1 | FileCheck %t.dir/signed
; RUN: not ashlar-as %t.dir/list -o %t.out 2>&1 | FileCheck %t.dir/list
; RUN: not ashlar-as %t.dir/queue -o %t.out 2>&1 | FileCheck %t.dir/queue
; RUN: not ashlar-as %t.dir/binary -o %t.out 2>&1 | FileCheck %t.dir/binary

;--- unknown
; CHECK: unknown:3:1: unknown instruction 'pe.mul'

pe.mul rows=1
;--- no-value
; CHECK: no-value:2:9: 'rows' found, expected field=value
pe.load rows
;--- no-field
; CHECK: no-field:2:9: pe.load has no field 'lines'
pe.load lines=1
;--- twice
; CHECK: twice:2:16: field 'rows' is given twice
pe.load rows=1 rows=1
;--- no-integer
; CHECK: no-integer:2:14: field 'rows' is 'one', expected an integer
pe.load rows=one
;--- no-float
; CHECK: no-float:2:15: field 'alpha' is 'nan', expected a binary32 number or its bits as 0x...
vec.map alpha=nan
;--- no-name
; CHECK: no-name:2:14: field 'type' is 'f8', which is not a valid ElemType
pe.load type=f8
;--- range
; CHECK: range:2:14: pe.load: field 'rows' is 4096, must be in [1, 4095]
pe.load rows=4096
;--- signed
; CHECK: signed:2:19: xr.set: field 'value' is -32769, must be in [-32768, 32767]
xr.set xr=1 value=-32769
;--- list
; CHECK: list:2:20: dma.copy: field 'elemBytes' is 3, must be one of 1, 2, 4, 8
dma.copy elemBytes=3
;--- queue
; CHECK: queue:2:16: dma.copy: queue is 5, must be one of dma0, dma1, dma2, dma3
dma.copy queue=pe
;--- binary
; CHECK: binary:2:20: act.drain: field 'function' is 64, must be in [0, 63]
act.drain function=add
