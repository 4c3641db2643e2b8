// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisations as one scale and one shift per channel.
//
// RUN: ashlar-opt --pass-pipeline='builtin.module(func.func(ashlar-nn-compose-normalisations))' %s | FileCheck %s

// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[X:.*]]: tensor<1x2x3x4xf32>, %[[M:.*]]: tensor<1x2x1x1xf32>, %[[D:.*]]: tensor<1x2x1x1xf32>)
// CHECK: %[[A:.*]] = nn.div %[[S:.*]], %[[D]] : (tensor<2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK: %[[P:.*]] = nn.mul %[[M]], %[[A]]
// CHECK: %[[B:.*]] = nn.sub %{{.*}}, %[[P]] : (tensor<f32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK: %[[Y:.*]] = nn.mul %[[X]], %[[A]]
// CHECK: %[[Z:.*]] = nn.add %[[Y]], %[[B]]
// CHECK: return %[[Z]]
func.func @both(%x: tensor<1x2x3x4xf32>, %m: tensor<1x2x1x1xf32>, %d: tensor<1x2x1x1xf32>) -> tensor<1x2x3x4xf32> {
  %s = nn.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %t = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.sub %x, %m : (tensor<1x2x3x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x3x4xf32>
  %1 = nn.div %0, %d : (tensor<1x2x3x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x3x4xf32>
  %2 = nn.mul %s, %1 : (tensor<2x1x1xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %3 = nn.add %2, %t : (tensor<1x2x3x4xf32>, tensor<f32>) -> tensor<1x2x3x4xf32>
  return %3 : tensor<1x2x3x4xf32>
}

// Parameters of the last axis, statistics of the rows: they stay two steps.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[A:.*]] = nn.unary reciprocal %arg2
// CHECK: %[[P:.*]] = nn.mul %arg1, %[[A]]
// CHECK: %[[B:.*]] = nn.unary neg %[[P]]
// CHECK: %[[Y:.*]] = nn.mul %arg0, %[[A]]
// CHECK: %[[Z:.*]] = nn.add %[[Y]], %[[B]]
// CHECK: nn.mul %[[Z]], %{{.*}} : (tensor<1x3x2xf32>, tensor<2xf32>) -> tensor<1x3x2xf32>
func.func @rows(%x: tensor<1x3x2xf32>, %m: tensor<1x3x1xf32>, %d: tensor<1x3x1xf32>) -> tensor<1x3x2xf32> {
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = nn.sub %x, %m : (tensor<1x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x2xf32>
  %1 = nn.div %0, %d : (tensor<1x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x2xf32>
  %2 = nn.mul %1, %s : (tensor<1x3x2xf32>, tensor<2xf32>) -> tensor<1x3x2xf32>
  return %2 : tensor<1x3x2xf32>
}

// One mean and deviation take parameters of any axis.
// CHECK-LABEL: func.func @whole(
// CHECK: %[[A:.*]] = nn.div %{{.*}}, %arg2 : (tensor<2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
// CHECK: nn.mul %arg1, %[[A]] : (tensor<1x1x1xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
func.func @whole(%x: tensor<1x3x2xf32>, %m: tensor<1x1x1xf32>, %d: tensor<1x1x1xf32>) -> tensor<1x3x2xf32> {
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = nn.sub %x, %m : (tensor<1x3x2xf32>, tensor<1x1x1xf32>) -> tensor<1x3x2xf32>
  %1 = nn.div %0, %d : (tensor<1x3x2xf32>, tensor<1x1x1xf32>) -> tensor<1x3x2xf32>
  %2 = nn.mul %1, %s : (tensor<1x3x2xf32>, tensor<2xf32>) -> tensor<1x3x2xf32>
  return %2 : tensor<1x3x2xf32>
}

// One reads the other.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[Y:.*]] = nn.mul %arg0, %{{.*}} : (tensor<1x3x2xf32>, tensor<1x3x1xf32>)
// CHECK: %[[Z:.*]] = nn.add %[[Y]], %{{.*}} : (tensor<1x3x2xf32>, tensor<1x3x1xf32>)
// CHECK: %[[V:.*]] = nn.mul %[[Z]], %{{.*}} : (tensor<1x3x2xf32>, tensor<1x3x1xf32>)
// CHECK: %[[W:.*]] = nn.add %[[V]], %{{.*}} : (tensor<1x3x2xf32>, tensor<1x3x1xf32>)
// CHECK: return %[[W]]
func.func @chain(%x: tensor<1x3x2xf32>, %m: tensor<1x3x1xf32>, %d: tensor<1x3x1xf32>) -> tensor<1x3x2xf32> {
  %0 = nn.sub %x, %m : (tensor<1x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x2xf32>
  %1 = nn.div %0, %d : (tensor<1x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x2xf32>
  %2 = nn.sub %1, %d : (tensor<1x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x2xf32>
  %3 = nn.div %2, %m : (tensor<1x3x2xf32>, tensor<1x3x1xf32>) -> tensor<1x3x2xf32>
  return %3 : tensor<1x3x2xf32>
}

// Statistics of two axes: a reciprocal for each, and products.
// CHECK-LABEL: func.func @positions(
// CHECK: %[[D:.*]] = nn.sub %arg0, %arg1
// CHECK: %[[R:.*]] = nn.unary reciprocal %arg2 {{.*}}tensor<1x2x2x1xf32>
// CHECK: %[[Y:.*]] = nn.mul %[[D]], %[[R]]
// CHECK: return %[[Y]]
func.func @positions(%x: tensor<1x2x2x3xf32>, %m: tensor<1x2x2x1xf32>, %d: tensor<1x2x2x1xf32>) -> tensor<1x2x2x3xf32> {
  %0 = nn.sub %x, %m : (tensor<1x2x2x3xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x2x3xf32>
  %1 = nn.div %0, %d : (tensor<1x2x2x3xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x2x3xf32>
  return %1 : tensor<1x2x2x3xf32>
}

// Statistics of two and of one axis, of different axes, constants, a whole
// divisor.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-4: nn.div
// CHECK-NOT: nn.mul
func.func @kept(%x: tensor<2x2x3xf32>, %m: tensor<2x2x1xf32>, %n: tensor<2x1x1xf32>, %o: tensor<1x2x1xf32>, %d: tensor<2x2x3xf32>) -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>) {
  %c = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.sub %x, %m : (tensor<2x2x3xf32>, tensor<2x2x1xf32>) -> tensor<2x2x3xf32>
  %1 = nn.div %0, %o : (tensor<2x2x3xf32>, tensor<1x2x1xf32>) -> tensor<2x2x3xf32>
  %2 = nn.sub %x, %n : (tensor<2x2x3xf32>, tensor<2x1x1xf32>) -> tensor<2x2x3xf32>
  %3 = nn.div %2, %o : (tensor<2x2x3xf32>, tensor<1x2x1xf32>) -> tensor<2x2x3xf32>
  %4 = nn.div %2, %c : (tensor<2x2x3xf32>, tensor<f32>) -> tensor<2x2x3xf32>
  %5 = nn.div %2, %d : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  return %1, %3, %4, %5 : tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>
}
