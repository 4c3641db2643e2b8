; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Text -> container -> text -> container: the same bytes; exit codes by class.
; REQUIRES: ashlar-as, ashlar-dis
; RUN: ashlar-as %s -o %t.ash
; RUN: ashlar-dis %t.ash -o %t.asm
; RUN: FileCheck --match-full-lines %s < %t.asm
; RUN: ashlar-as %t.asm -o %t.again
; RUN: cmp %t.ash %t.again
; RUN: not ashlar-dis %t.asm 2>&1 | FileCheck --check-prefix=TEXT %s
; TEXT: ashlar-dis: error: {{.*}}: not an Ashlar program: wrong first bytes
; RUN: %python -c "import subprocess,sys; sys.exit(subprocess.run(['ashlar-dis', sys.argv[1]], stderr=-3).returncode != 4)" %t.asm
; RUN: %python -c "import subprocess,sys; sys.exit(subprocess.run(['ashlar-as'], stderr=-3).returncode != 2)"
; RUN: ashlar-as --help | FileCheck --check-prefix=HELP %s
; HELP: usage: ashlar-as INPUT.asm -o FILE [options]
; RUN: ashlar-dis --version | FileCheck --check-prefix=VERSION %s
; VERSION: ashlar-dis (Ashlar) {{[0-9]+\.[0-9]+\.[0-9]+}}

; CHECK: .model name="net" producer=""
.model name="net"
; CHECK-NEXT: .machine name="a1-tiny"
.machine name="a1-tiny"
; CHECK-NEXT: .memory dram=4096
.memory dram=4096
; CHECK-NEXT: .semaphores count=2
.semaphores count=2
; CHECK-NEXT: .plan text="{\"version\":1}"
.plan text="{\"version\":1}"
; CHECK-NEXT: .input name="x" type=f32 shape=[1, 4] at=0
.input name="x" type=f32 shape=[1, 4] at=0
; CHECK-NEXT: .output name="y" type=i8 shape=[4] at=64
.output name="y" type=i8 shape=[4] at=64
; CHECK-NEXT: .data at=128 hex="0000803f000020c0"
.f32 at=128 values=[1.0, -2.5]
; CHECK-NEXT: .data at=256 hex="0102030405"
.data at=256 hex="0102"
.more hex="030405"
; CHECK-NEXT: .node name="Conv_0" op="Conv" engine="pe" macs=12 absorbed=["Relu_1"] planned=["t"]
.node name="Conv_0" op="Conv" engine="pe" macs=12 absorbed=["Relu_1"] planned=["t"]
; CHECK-NEXT: .proof node="Conv_0" terms=27 bits=40
.proof node="Conv_0" terms=27 bits=40
; CHECK-NEXT: .dump name="t" mantissa=8 block=16 range=7 axis=0 xr=3 shape=[8] memory=sb at=0 part=0 channelAxis=0 tileStride=0 strides=[0] after=1
.dump name="t" mantissa=8 block=16 range=7 axis=0 xr=3 shape=[8] memory=sb at=0 channelAxis=0 strides=[0] after=1
; CHECK-NEXT: .for node=0
.for node=0
; CHECK-NEXT: xr.set xr=1
xr.set xr=1 ; value 0
; CHECK-NEXT: .for node=-1
.for node=-1
; CHECK-NEXT: pe.swap
pe.swap
