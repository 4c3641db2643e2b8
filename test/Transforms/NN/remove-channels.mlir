// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channels that no result needs are left out; numbers go into biases.
// RUN: ashlar-opt %s -ashlar-nn-remove-channels=granularity=1 -ashlar-nn-remove-dead -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-nn-remove-channels=granularity=2 -ashlar-nn-remove-dead -split-input-file | FileCheck %s --check-prefix=PAIRS
// RUN: ashlar-opt %s '-ashlar-nn-remove-channels=granularity=1 block=4' -ashlar-nn-remove-dead -split-input-file | FileCheck %s --check-prefix=BLOCKS

// Channel 0 is zero and channel 2 relu(2) = 2, which adds 2 * 7 to the bias;
// the second product does not read channel 3. Channel 1 is left.
// CHECK-LABEL: func.func @main
// Pairs: of the channels that could go, the number 0 takes no work.
// PAIRS-LABEL: func.func @main
// PAIRS: nn.conv {{.*}} -> tensor<1x2x4xf32>
// PAIRS: nn.constant dense<{{\[\[\[}}5.000000e+00], [6.000000e+00{{\]\]\]}}> : tensor<1x2x1xf32>
// CHECK: nn.constant dense<3.000000e+00> : tensor<1x1x1xf32>
// CHECK: nn.unary relu {{.*}} : (tensor<1x1x4xf32>)
// CHECK: nn.constant dense<6.000000e+00> : tensor<1x1x1xf32>
// CHECK: nn.constant dense<1.400000e+01> : tensor<1xf32>
// CHECK: reason = "1 of 4 input channels stay; the bias has the part of those that were one number"
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %w = nn.constant dense<[[[0.0]], [[3.0]], [[0.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %b = nn.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %0 = nn.conv %arg0, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<4x1x1xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
  %1 = nn.unary relu %0 : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %v = nn.constant dense<[[[5.0], [6.0], [7.0], [0.0]]]> : tensor<1x4x1xf32>
  %2 = nn.conv %1, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<1x4x1xf32>) -> tensor<1x1x4xf32>
  return %2 : tensor<1x1x4xf32>
}

// -----

// Padding: the borders lack the number 2, so its channel stays; zero goes.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv {{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.conv {{.*}} -> tensor<1x1x6xf32>
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x6xf32> {
  %w = nn.constant dense<[[[0.0]], [[3.0]], [[0.0]]]> : tensor<3x1x1xf32>
  %b = nn.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %0 = nn.conv %arg0, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<3x1x1xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  %v = nn.constant dense<[[[5.0], [6.0], [7.0]]]> : tensor<1x3x1xf32>
  %2 = nn.conv %0, %v {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x3x4xf32>, tensor<1x3x1xf32>) -> tensor<1x1x6xf32>
  return %2 : tensor<1x1x6xf32>
}

// -----

// A sum ties the channels of both sides: 0 goes, 1 stays for one of them.
// CHECK-LABEL: func.func @main
// CHECK: nn.add {{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.conv {{.*}} (tensor<1x2x4xf32>, tensor<1x2x1xf32>)
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %w = nn.constant dense<[[[0.0]], [[0.0]], [[4.0]]]> : tensor<3x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<3x1x1xf32>) -> tensor<1x3x4xf32>
  %u = nn.constant dense<[[[0.0]], [[3.0]], [[4.0]]]> : tensor<3x1x1xf32>
  %1 = nn.conv %arg0, %u {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<3x1x1xf32>) -> tensor<1x3x4xf32>
  %2 = nn.add %0, %1 : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %v = nn.constant dense<[[[5.0], [6.0], [7.0]]]> : tensor<1x3x1xf32>
  %3 = nn.conv %2, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x4xf32>, tensor<1x3x1xf32>) -> tensor<1x1x4xf32>
  return %3 : tensor<1x1x4xf32>
}

// -----

// A depthwise convolution, a slice and a concatenation with the input, whose
// channel stays.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv {{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.conv {{.*}}group = 2{{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.slice {{.*}}starts = array<i64: 0, 1, 0>{{.*}} -> tensor<1x1x4xf32>
// CHECK: nn.concat {{.*}} -> tensor<1x2x4xf32>
func.func @main(%arg0: tensor<1x1x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  %w = nn.constant dense<[[[2.0]], [[3.0]], [[4.0]]]> : tensor<3x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<3x1x1xf32>) -> tensor<1x3x4xf32>
  %u = nn.constant dense<[[[2.0]], [[3.0]], [[0.0]]]> : tensor<3x1x1xf32>
  %1 = nn.conv %0, %u {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 3 : i64} : (tensor<1x3x4xf32>, tensor<3x1x1xf32>) -> tensor<1x3x4xf32>
  %2 = nn.slice %1 {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>} : (tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  %3 = nn.concat %2, %arg0 {axis = 1 : i64} : (tensor<1x2x4xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
  %v = nn.constant dense<[[[5.0], [6.0], [7.0]]]> : tensor<1x3x1xf32>
  %4 = nn.conv %3, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x4xf32>, tensor<1x3x1xf32>) -> tensor<1x1x4xf32>
  %x = nn.constant dense<[[[1.0], [0.0], [0.0]]]> : tensor<1x3x1xf32>
  %5 = nn.conv %1, %x {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x4xf32>, tensor<1x3x1xf32>) -> tensor<1x1x4xf32>
  return %4, %5 : tensor<1x1x4xf32>, tensor<1x1x4xf32>
}

// -----

// Hidden values of a dense layer on rows; the number relu(1) = 1 adds to the
// sum that follows.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul {{.*}} -> tensor<1x3x1xf32>
// CHECK: nn.matmul {{.*}} -> tensor<1x3x2xf32>
// CHECK-NEXT: nn.constant dense<[1.400000e+01, 1.600000e+01]> : tensor<2xf32>
// CHECK-NEXT: nn.add
// CHECK-NEXT: return
func.func @main(%arg0: tensor<1x3x1xf32>) -> tensor<1x3x2xf32> {
  %w = nn.constant dense<[[0.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %b = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = nn.matmul %arg0, %w : (tensor<1x3x1xf32>, tensor<1x3xf32>) -> tensor<1x3x3xf32>
  %1 = nn.add %0, %b : (tensor<1x3x3xf32>, tensor<3xf32>) -> tensor<1x3x3xf32>
  %2 = nn.unary relu %1 : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
  %v = nn.constant dense<[[4.0, 5.0], [6.0, 7.0], [0.0, 0.0]]> : tensor<3x2xf32>
  %c = nn.constant dense<[10.0, 11.0]> : tensor<2xf32>
  %3 = nn.matmul %2, %v : (tensor<1x3x3xf32>, tensor<3x2xf32>) -> tensor<1x3x2xf32>
  %4 = nn.add %3, %c : (tensor<1x3x2xf32>, tensor<2xf32>) -> tensor<1x3x2xf32>
  return %4 : tensor<1x3x2xf32>
}

// -----

// Two of six channels of the first part and of the second one are read: the
// second part begins with a block if the first one keeps four channels.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv {{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.conv {{.*}} -> tensor<1x2x4xf32>
// CHECK: nn.concat {{.*}} -> tensor<1x4x4xf32>
// BLOCKS-LABEL: func.func @main(%arg0: tensor<1x2x4xf32>)
// BLOCKS: nn.conv {{.*}} -> tensor<1x4x4xf32>
// BLOCKS: nn.conv {{.*}} -> tensor<1x2x4xf32>
// BLOCKS: nn.concat {{.*}} -> tensor<1x6x4xf32>
func.func @main(%arg0: tensor<1x2x4xf32>) -> tensor<1x1x4xf32> {
  %w = nn.constant dense<2.0> : tensor<6x2x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<6x2x1xf32>) -> tensor<1x6x4xf32>
  %1 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<6x2x1xf32>) -> tensor<1x6x4xf32>
  %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x12x4xf32>
  %v = nn.constant dense<[[[1.0], [0.0], [2.0], [0.0], [0.0], [0.0], [0.0], [3.0], [0.0], [4.0], [0.0], [0.0]]]> : tensor<1x12x1xf32>
  %3 = nn.conv %2, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x12x4xf32>, tensor<1x12x1xf32>) -> tensor<1x1x4xf32>
  return %3 : tensor<1x1x4xf32>
}
