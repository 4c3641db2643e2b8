// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a value with a function of it are one function.
// RUN: ashlar-opt %s -ashlar-nn-recognise-activations -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @swish
// CHECK-NEXT: %[[A:.*]] = nn.unary swish %arg0 {alpha = 1.000000e+00 : f32}
// CHECK-NEXT: %[[B:.*]] = nn.unary swish %arg0 {alpha = 1.702000e+00 : f32}
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = nn.unary sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = nn.constant dense<1.702> : tensor<f32>
  %t = nn.mul %c, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %u = nn.unary sigmoid %t : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %x, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Both orders of factors that exporters write.
// CHECK-LABEL: func.func @gelu
// CHECK-NEXT: nn.unary gelu %arg0
// CHECK-NEXT: nn.unary gelu %arg0
// CHECK-NEXT: return
func.func @gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %inverse = nn.constant dense<0.707106769> : tensor<f32>
  %d = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nn.unary erf %d : (tensor<4xf32>) -> tensor<4xf32>
  %a = nn.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %m = nn.mul %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.mul %m, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d2 = nn.mul %x, %inverse : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e2 = nn.unary erf %d2 : (tensor<4xf32>) -> tensor<4xf32>
  %a2 = nn.add %one, %e2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %h2 = nn.mul %half, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %h2, %a2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @hard_swish
// CHECK-NEXT: nn.unary hardSwish %arg0
// CHECK-NEXT: nn.unary hardSwish %arg0
// CHECK-NEXT: return
func.func @hard_swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %three = nn.constant dense<3.0> : tensor<f32>
  %six = nn.constant dense<6.0> : tensor<f32>
  %a = nn.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nn.unary clip %a {alpha = 0.0 : f32, beta = 6.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %m = nn.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.div %m, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %h = nn.unary hardSigmoid %x {alpha = 0.166666672 : f32, beta = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %x, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Another value, another number, a gate that spreads x, or an inner product
// that is read elsewhere: no match.
// CHECK-LABEL: func.func @others
// CHECK-NOT: swish
// CHECK-NOT: gelu
func.func @others(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xf32>) {
  %half = nn.constant dense<0.6> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %s = nn.unary sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.mul %s, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nn.unary erf %d : (tensor<4xf32>) -> tensor<4xf32>
  %a = nn.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %m = nn.mul %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %m, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t = nn.unary sigmoid %z : (tensor<1xf32>) -> tensor<1xf32>
  %u = nn.mul %t, %x : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %u, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xf32>
}
