; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A wait that nothing before has signalled ends in a fault, not in a hang.
;
; RUN: ashlar-as %s -o %t.ash
; RUN: not ashlar-run %t.ash 2>&1 | FileCheck %s
; CHECK: error: {{.*}}deadlock fault at instruction 0 (node 'Conv_1'): queue act waits for semaphore 0, which nothing before has signalled in 'sem.wait queue=act'

.machine name=a1-tiny
.semaphores count=1
.node name=Conv_1 op=Conv
.for node=0
sem.wait queue=act sem=0
sem.signal queue=pe sem=0
