// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scale policies of encode events: known ranges, measured exponents, policies
// of single products, and the plan that says so.
// RUN: ashlar-opt '--ashlar-quantise=format={{"scale":"fixed","nodes":{"b":{"scale":"stats(k=3,n=512)"}}}} exponents={{"data.bfp":-3}}' %s | FileCheck %s
// RUN: ashlar-opt '--ashlar-quantise=format={{"scale":"fixed(e=2)"}}' --ashlar-bfp-print-plan %s -o %t.mlir | FileCheck %s --check-prefix=PLAN
// RUN: ashlar-opt --ashlar-quantise %s | FileCheck %s --check-prefix=NONE
// RUN: not ashlar-opt '--ashlar-quantise=format={{"scale":"table"}}' %s 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: ashlar-opt '--ashlar-quantise=format={{"scale":"fixed(e=2,at=store,overflow=wrap)"}}' --ashlar-bfp-print-plan %s -o %t.mlir | FileCheck %s --check-prefix=STORED
// RUN: not ashlar-opt '--ashlar-quantise=format={{"scale":"error","activations":"w=8,block=tensor"}}' %s 2>&1 | FileCheck %s --check-prefix=TENSOR

// NONE-NOT: ashlar.scale
// STORED: {"exponent":2,"id":0,"policy":{"at":"store","kind":"fixed","overflow":"wrap"},"tensor":"data.bfp"}
// TENSOR: scale policy 'error(t=4,n=0,overflow=repair)' of 'data.bfp': a block of the whole tensor has no exponent of its own before it is complete, expected block=16
// DATA: scale policy 'table' of 'data.bfp': no known range, expected samples
// PLAN: "event":0,{{.*}}"name":"data.bfp","policy":"fixed"
// PLAN: {"exponent":2,"id":0,"policy":{"kind":"fixed"},"tensor":"data.bfp"}
module attributes {nn.model_name = "m"} {
  func.func @main(%x: tensor<1x16x4x4xf32> {nn.name = "data"}) -> (tensor<1x16x4x4xf32> {nn.name = "prob"}) {
    %w = nn.constant dense<0.5> : tensor<16x16x1x1xf32>
    // CHECK: bfp.encode %{{.*}} {ashlar.scale = #ashlar.scale<"fixed(e=-3)">}
    // CHECK: bfp.conv {{.*}}ashlar.scale = #ashlar.scale<"stats(k=3,n=512)">{{.*}}function = "sigmoid"
    // CHECK: bfp.conv {{.*}}ashlar.scale = #ashlar.scale<"fixed(e=-4)">{{.*}}function = "clip"
    %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> loc("a")
    %1 = nn.unary sigmoid %0 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> loc("as")
    %2 = nn.conv %1, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> loc("b")
    %3 = nn.unary clip %2 {alpha = 0.0 : f32, beta = 6.0 : f32} : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> loc("bs")
    %4 = nn.conv %3, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> loc("c")
    return %4 : tensor<1x16x4x4xf32>
  }
}
