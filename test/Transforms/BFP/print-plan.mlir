// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan writer, docs/NumericPlan.md.
// RUN: ashlar-opt --ashlar-quantise --ashlar-bfp-print-plan %s -o %t.mlir | FileCheck %s
// RUN: rm -rf %t && ashlar-opt --ashlar-quantise --ashlar-bfp-print-plan=directory=%t/deep %s -o %t.mlir
// RUN: FileCheck %s < %t/deep/plan.json
// RUN: %python -c "import json, numpy, sys; d = sys.argv[1]; json.load(open(d + '/plan.json')); w = numpy.load(d + '/a_w.npy'); print(w.dtype, w.shape, w.ravel()[:2])" %t/deep | FileCheck %s --check-prefix=NPY

// NPY: float32 (16, 16, 1, 1) [0.5 0.5]

// CHECK:      {"schema":"ashlar-plan","version":1,
// CHECK-NEXT: "model":"m",
// CHECK-NEXT: "format":"w=8,block=16,range=7",
// CHECK-NEXT: "inputs":[
// CHECK-NEXT:  "data"
// CHECK-NEXT: ],
// CHECK-NEXT: "outputs":[
// CHECK-NEXT:  {"name":"prob","tensor":"prob"}
// CHECK-NEXT: ],
// CHECK-NEXT: "tensors":[
// CHECK-NEXT:  {"kind":"input","name":"data","shape":[1,16,4,4],"type":"f32"},
// CHECK-NEXT:  {"event":0,"format":{"axis":1,"block":16,"mantissa":8,"range":7},"kind":"value","name":"data.bfp","policy":"runmax","shape":[1,16,4,4],"type":"bfp"},
// CHECK-NEXT:  {"channel_axis":0,"file":"a_w.npy","format":{"axis":1,"block":16,"mantissa":8,"range":7},"kind":"constant","name":"a/w","scale":"per_output_channel","shape":[16,16,1,1],"type":"bfp"},
// CHECK-NEXT:  {"file":"a_w.2.npy","kind":"constant","name":"a:w","shape":[16],"type":"f32"},
// CHECK-NEXT:  {"channel_axis":1,"file":"fc.npy","format":{"axis":0,{{.*}}},"kind":"constant","name":"fc","scale":"per_output_channel","shape":[32,2],"type":"bfp"},
// CHECK-NEXT:  {"event":1,{{.*}}"name":"Conv_0"
// CHECK-NEXT:  {"event":2,{{.*}}"name":"MaxPool_0"
// CHECK-NEXT:  {"event":3,{{.*}}"name":"Concat_0"
// CHECK-NEXT:  {"event":4,{{.*}}"name":"reduce_[[#]]"
// CHECK-NEXT:  {"event":4,{{.*}}"name":"Reshape_0"
// CHECK-NEXT:  {"kind":"output","name":"prob","shape":[1,2],"type":"f32"}
// CHECK-NEXT: ],
// CHECK-NEXT: "events":[
// CHECK-NEXT:  {"id":0,"tensor":"data.bfp"},
// CHECK-NEXT:  {"id":1,"tensor":"Conv_0"},
// CHECK-NEXT:  {"id":2,"tensor":"MaxPool_0"},
// CHECK-NEXT:  {"id":3,"max_of":[1,2],"tensor":"Concat_0"},
// CHECK-NEXT:  {"id":4,"tensor":"reduce_[[#]]"}
// CHECK-NEXT: ],
// CHECK-NEXT: "ops":[
// CHECK-NEXT:  {"attrs":{},"inputs":{"x":"data"},"name":"data.bfp","op":"encode","output":"data.bfp"},
// CHECK-NEXT:  {"absorbed":["Clip_0"],"attrs":{"dilations":[1,1],"group":1,"pads":[0,0,0,0],"strides":[1,1]},"function":{"alpha":0,"beta":"inf","name":"clip"},"inputs":{"bias":"a:w","w":"a/w","x":"data.bfp"},"name":"Conv_0","op":"conv","output":"Conv_0"},
// CHECK-NEXT:  {"attrs":{"dilations":[1,1],"kernel":[3,3],"pads":[1,1,1,1],"strides":[1,1]},"inputs":{"x":"data.bfp"},"name":"MaxPool_0","op":"max_pool","output":"MaxPool_0"},
// CHECK-NEXT:  {"attrs":{"axis":1},"inputs":{"x0":"Conv_0","x1":"MaxPool_0"},"name":"Concat_0","op":"concat","output":"Concat_0"},
// CHECK-NEXT:  {"attrs":{"axes":[2,3],"keepdims":true,"kind":"mean"},"inputs":{"x":"Concat_0"},{{.*}}"op":"reduce",
// CHECK-NEXT:  {"attrs":{},{{.*}}"op":"reshape","output":"Reshape_0"},
// CHECK-NEXT:  {"attrs":{},"function":{"alpha":0,"beta":0,"name":"copy"},"inputs":{"w":"fc","x":"Reshape_0"},"name":"Gemm_0","op":"matmul","output":"prob"}
// CHECK-NEXT: ]
// CHECK-NEXT: }
module attributes {nn.model_name = "m"} {
  func.func @main(%x: tensor<1x16x4x4xf32> {nn.name = "data"}) -> (tensor<1x2xf32> {nn.name = "prob"}) {
    %w = nn.constant dense<0.5> : tensor<16x16x1x1xf32> loc("a/w")
    %b = nn.constant dense<0.5> : tensor<16xf32> loc("a:w")
    %f = nn.constant dense<0.5> : tensor<32x2xf32> loc("fc")
    %0 = nn.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32> loc("Conv_0")
    %1 = nn.unary clip %0 {alpha = 0.0 : f32, beta = 0x7f800000 : f32} : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> loc("Clip_0")
    %2 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> loc("MaxPool_0")
    %3 = nn.concat %1, %2 {axis = 1 : i64} : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x32x4x4xf32> loc("Concat_0")
    %4 = nn.reduce mean %3 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x32x4x4xf32>) -> tensor<1x32x1x1xf32>
    %5 = nn.reshape %4 : (tensor<1x32x1x1xf32>) -> tensor<1x32xf32> loc("Reshape_0")
    %6 = nn.matmul %5, %f : (tensor<1x32xf32>, tensor<32x2xf32>) -> tensor<1x2xf32> loc("Gemm_0")
    return %6 : tensor<1x2xf32>
  }
}
