// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Powers and divisions become products, and what they hid is recognised.
// RUN: ashlar-opt %s -ashlar-nn-simplify-arithmetic -ashlar-nn-recognise-activations -ashlar-nn-remove-dead -split-input-file | FileCheck %s

// x * (1 + erf(x / sqrt 2)) * 0.5
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[G:.*]] = nn.unary gelu %arg0
// CHECK-NEXT: return %[[G]]
func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.div %arg0, %root : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = nn.unary erf %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = nn.add %1, %one : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = nn.mul %arg0, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = nn.mul %3, %half : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// -----

// The approximation, with the cube as a power.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.unary geluTanh %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %three = nn.constant dense<3.0> : tensor<f32>
  %cubic = nn.constant dense<4.471500e-02> : tensor<f32>
  %slope = nn.constant dense<0.797884583> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.pow %arg0, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.mul %0, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.add %arg0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.mul %2, %slope : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = nn.unary tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.add %4, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = nn.mul %arg0, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %7 = nn.mul %6, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// x * (1 + 0.044715 x^2) inside.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.unary geluTanh %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %cubic = nn.constant dense<4.471500e-02> : tensor<f32>
  %slope = nn.constant dense<0.797884583> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.mul %arg0, %arg0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %0, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.mul %arg0, %slope : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = nn.mul %3, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.unary tanh %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = nn.add %one, %5 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = nn.mul %arg0, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = nn.mul %half, %7 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// -----

// Another slope, another offset, another operand, another reader: no GELU.
// CHECK-LABEL: func.func @main
// CHECK-NOT: gelu
// CHECK: return
func.func @main(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %root = nn.constant dense<1.5> : tensor<f32>
  %two = nn.constant dense<1.41421354> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.unary erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = nn.div %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = nn.unary erf %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = nn.add %6, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = nn.mul %z, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = nn.mul %8, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4, %9, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Powers of 2 and 3, exact reciprocals, and one that the product takes.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[E:.*]] = nn.constant dense<1.250000e-01>
// CHECK-DAG: %[[R:.*]] = nn.constant dense<0.333333343>
// CHECK: %[[S:.*]] = nn.mul %arg0, %arg0
// CHECK-NEXT: nn.mul %arg0, %[[E]]
// CHECK-NEXT: nn.div %arg0
// CHECK-NEXT: %[[M:.*]] = nn.matmul
// CHECK-NEXT: nn.mul %[[M]], %[[R]]
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %two = nn.constant dense<2.0> : tensor<f32>
  %eight = nn.constant dense<8.0> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.pow %x, %two : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %1 = nn.div %x, %eight : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = nn.div %x, %three : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %3 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = nn.div %3, %three : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %0, %1, %2, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// A variance squares what it reduces; squares of a map and squares that
// something else reads stay.
// CHECK-LABEL: func.func @squares(
// CHECK: %[[C:.*]] = nn.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[D:.*]] = nn.sub %arg0, %arg1
// CHECK: %[[S:.*]] = nn.reduce sumSquare %[[D]] {axes = array<i64: 1, 2>, keepdims = true}
// CHECK: nn.mul %[[S]], %[[C]] : (tensor<3x1x1xf32>, tensor<f32>) -> tensor<3x1x1xf32>
// CHECK: nn.reduce sumSquare %[[D]] {axes = array<i64: 2>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<3x2xf32>
// CHECK: nn.reduce sum %{{.*}} {axes = array<i64: 0>
// CHECK: nn.reduce max
// CHECK: %[[R:.*]] = nn.mul %arg0, %arg0
// CHECK: nn.reduce mean %[[R]]
func.func @squares(%x: tensor<3x2x4xf32>, %m: tensor<3x1x1xf32>) -> (tensor<3x1x1xf32>, tensor<3x2xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %d = nn.sub %x, %m : (tensor<3x2x4xf32>, tensor<3x1x1xf32>) -> tensor<3x2x4xf32>
  %0 = nn.mul %d, %d : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %1 = nn.reduce mean %0 {axes = array<i64: 1, 2>, keepdims = true} : (tensor<3x2x4xf32>) -> tensor<3x1x1xf32>
  %2 = nn.mul %d, %d : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %3 = nn.reduce sum %2 {axes = array<i64: 2>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<3x2xf32>
  %4 = nn.mul %d, %d : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %5 = nn.reduce sum %4 {axes = array<i64: 0>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
  %6 = nn.mul %d, %d : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %7 = nn.reduce max %6 {axes = array<i64: 0>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
  %8 = nn.mul %x, %x : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %9 = nn.reduce mean %8 {axes = array<i64: 0>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
  return %1, %3, %4, %5, %7, %9 : tensor<3x1x1xf32>, tensor<3x2xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
