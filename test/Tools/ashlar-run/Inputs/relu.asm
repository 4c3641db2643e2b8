; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Four floats are encoded (w=8), pass a relu, and go back as floats: enough for
; every report, with an encoded and a plain planned tensor.
.model name="relu-net" producer="hand"
.machine name="a1-tiny"
.semaphores count=2
.plan text="{\"schema\":\"ashlar-plan\",\"version\":1}"
.decisions text="[{\"node\":\"act\",\"choice\":\"vec\"}]"
.input name="x" type=f32 shape=[1,4] at=0
.output name="y" type=f32 shape=[1,4] at=64
.node name="enc" op="Identity" engine="vec" planned=["h.bfp"]
.node name="act" op="Relu" engine="vec" absorbed=["drop"] planned=["y"]
.dump name="h.bfp" mantissa=8 block=8 range=7 axis=1 xr=1 shape=[1,4] strides=[4,0] memory=sb at=64 channelAxis=1 after=3
.dump name="y" type=f32 shape=[1,4] strides=[4,0] memory=sb at=128 channelAxis=1 after=4
.for node=0
dma.copy queue=dma0 elemBytes=4 srcMem=dram dstMem=sb n4=4 srcStride4=4 dstStride4=65536
sem.signal queue=dma0 sem=0
sem.wait queue=vec sem=0
vec.map op=copy channels=4 aType=f32 dstType=bfp dstMantissa=8 dstBlock=8 dstOffset=64 dstXr=1 dstXrClear=1
.for node=1
vec.map op=relu channels=4 aType=bfp aMantissa=8 aOffset=64 dstType=f32 dstOffset=128
sem.signal queue=vec sem=1
sem.wait queue=dma1 sem=1
dma.copy queue=dma1 elemBytes=4 srcMem=sb dstMem=dram srcBase=128 dstBase=64 n4=4 srcStride4=65536 dstStride4=4
