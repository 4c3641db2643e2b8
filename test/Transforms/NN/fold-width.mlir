// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few-channel convolutions are laid into array rows in the cheapest way.
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1-ideal -ashlar-nn-fold-width=use-cluster=false -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1-ideal "-ashlar-nn-fold-width=mode=off use-cluster=false" -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/two-rows.yaml -ashlar-nn-fold-width=use-cluster=false -split-input-file | FileCheck %s --check-prefix=TINY
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1 -ashlar-nn-fold-width=use-cluster=false -split-input-file | FileCheck %s --check-prefix=PRICED
// RUN: not ashlar-opt %s -ashlar-nn-fold-width -split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no 'ashlar.target' attribute; ashlar-set-target gives a module its machine

// The 7x7x3 stem: form B views the input; 4 folded columns with one zero tap in
// front, 16 results a step.
// CHECK-LABEL: func.func @stem
// CHECK: %[[X:.*]] = nn.im2col %arg0
// CHECK-SAME: kernel = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 2>
// CHECK-SAME: -> tensor<1x6x224x112xf32>
// CHECK: nn.pad %{{.*}} low = array<i64: 0, 0, 0, 1>
// CHECK: %[[W:.*]] = nn.reshape %{{.*}} -> tensor<64x6x7x4xf32>
// CHECK: nn.conv %[[X]], %[[W]]
// CHECK-SAME: choice = "stride-fold", reason = "3 channels x 49 taps as 6 x 28, 16 results a step: 21952 array cycles
// CHECK-SAME: alternatives = {"pack-taps" = 77511 : i64, plain = 631067 : i64, "rows-and-stride-fold" = 40366 : i64, "stride-fold" = 33736 : i64}
// CHECK-SAME: ashlar.macs = 118013952 : i64
// CHECK-SAME: pads = array<i64: 3, 2, 3, 1>, strides = array<i64: 2, 1>
// Four sums of a column a cycle take the gain of 16 lanes: the rows of the
// kernel become channels too, although they are gathered element by element.
// PRICED-LABEL: func.func @stem
// PRICED: choice = "rows-and-stride-fold"
// OFF-LABEL: func.func @stem
// OFF: nn.im2col %arg0
// OFF-SAME: -> tensor<1x147x112x112xf32>
// OFF: choice = "pack-taps"
func.func @stem(%arg0: tensor<1x3x224x224xf32>) -> tensor<1x64x112x112xf32> {
  %w = nn.constant dense<1.0> : tensor<64x3x7x7xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>) -> tensor<1x64x112x112xf32>
  return %0 : tensor<1x64x112x112xf32>
}

// -----

// Form A: a width of 227 is not a multiple of the stride, the surplus is cut in
// the same move.
// CHECK-LABEL: func.func @form_a
// CHECK: nn.im2col %arg0
// CHECK-SAME: kernel = array<i64: 1, 4>, pads = array<i64: 0, 0, 0, 1>, strides = array<i64: 1, 4>
// CHECK-SAME: -> tensor<1x12x227x57xf32>
// CHECK: nn.conv {{.*}} pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 4, 1>
func.func @form_a(%arg0: tensor<1x3x227x227xf32>) -> tensor<1x64x55x55xf32> {
  %w = nn.constant dense<1.0> : tensor<64x3x11x11xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x227x227xf32>, tensor<64x3x11x11xf32>) -> tensor<1x64x55x55xf32>
  return %0 : tensor<1x64x55x55xf32>
}

// -----

// One dimension: audio of one channel, k = 10, stride 5.
// CHECK-LABEL: func.func @audio
// CHECK: nn.im2col
// CHECK: choice = "{{stride-fold|pack-taps}}"
func.func @audio(%arg0: tensor<1x1x16000xf32>) -> tensor<1x64x3199xf32> {
  %w = nn.constant dense<1.0> : tensor<64x1x10xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 5>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x16000xf32>, tensor<64x1x10xf32>) -> tensor<1x64x3199xf32>
  return %0 : tensor<1x64x3199xf32>
}

// -----

// Groups are declined; eight channels and one tap are not considered; of three
// results as many cycles as plain gain nothing, nor does anything on an array of
// two rows without row groups.
// CHECK-LABEL: func.func @candidates
// CHECK: nn.conv %arg0
// CHECK-SAME: choice = "plain"
// CHECK-SAME: alternatives = {"lane-fold" = 473 : i64, "pack-taps" = 467 : i64, plain = 467 : i64}
// CHECK-NOT: alternatives
// CHECK: return
// TINY-LABEL: func.func @candidates
// TINY-NOT: nn.im2col
// TINY: nn.conv %arg0
// TINY-SAME: choice = "plain"
// TINY: group = 2
// TINY-NOT: ashlar.decision
func.func @candidates(%arg0: tensor<1x2x4xf32>, %arg1: tensor<1x8x4xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x2x2xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x2x2xf32>) -> tensor<1x2x3xf32>
  %g = nn.constant dense<1.0> : tensor<2x1x2xf32>
  %1 = nn.conv %arg0, %g {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>) -> tensor<1x2x3xf32>
  %e = nn.constant dense<1.0> : tensor<2x8x2xf32>
  %2 = nn.conv %arg1, %e {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x8x4xf32>, tensor<2x8x2xf32>) -> tensor<1x2x3xf32>
  %o = nn.constant dense<1.0> : tensor<2x2x1xf32>
  %3 = nn.conv %arg0, %o {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x2x1xf32>) -> tensor<1x2x4xf32>
  return %0, %1, %2, %3 : tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>
}

// -----

// Grouped and depthwise convolutions, and strided ones of many channels, are
// declined with a reason.
// CHECK-LABEL: func.func @declined
// TINY-LABEL: func.func @declined
// CHECK-NOT: nn.im2col
// CHECK: nn.conv {{.*}}choice = "plain", reason = "2 groups: the columns of a step would mix
// CHECK: nn.conv {{.*}}choice = "plain", reason = "depthwise: a fold would multiply
// CHECK: nn.conv {{.*}}choice = "plain", reason = "64 channels fill their blocks: the array reads one of 2 columns
func.func @declined(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x64x8xf32>) -> (tensor<1x2x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>) {
  %g = nn.constant dense<1.0> : tensor<2x2x2xf32>
  %0 = nn.conv %arg0, %g {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x4x8xf32>, tensor<2x2x2xf32>) -> tensor<1x2x4xf32>
  %d = nn.constant dense<1.0> : tensor<4x1x2xf32>
  %1 = nn.conv %arg0, %d {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 4 : i64} : (tensor<1x4x8xf32>, tensor<4x1x2xf32>) -> tensor<1x4x4xf32>
  %m = nn.constant dense<1.0> : tensor<2x64x1xf32>
  %2 = nn.conv %arg1, %m {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x64x8xf32>, tensor<2x64x1xf32>) -> tensor<1x2x4xf32>
  return %0, %1, %2 : tensor<1x2x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>
}

// -----

// A dilation that is a multiple of the stride: the taps meet one of two
// columns. In the chip, where nothing is read in bursts, only that is taken;
// the taps keep their distance of 4 / 2.
// CHECK-LABEL: func.func @phase
// CHECK: %[[S:.*]] = nn.im2col %{{.*}}kernel = array<i64: 1, 1>, {{.*}}strides = array<i64: 1, 2>
// CHECK-SAME: -> tensor<1x7x64x32xf32>
// CHECK: nn.conv %[[S]]
// CHECK-SAME: choice = "strided-slice"
// CHECK-SAME: dilations = array<i64: 1, 2>, pads = array<i64: 1, 2, 1, 2>, strides = array<i64: 2, 1>
func.func @phase(%arg0: tensor<1x7x64x64xf32>) -> tensor<1x64x32x32xf32> {
  %x = nn.unary relu %arg0 : (tensor<1x7x64x64xf32>) -> tensor<1x7x64x64xf32>
  %w = nn.constant dense<1.0> : tensor<64x7x3x3xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 4, 1, 4>, dilations = array<i64: 1, 4>} : (tensor<1x7x64x64xf32>, tensor<64x7x3x3xf32>) -> tensor<1x64x32x32xf32>
  return %0 : tensor<1x64x32x32xf32>
}

// -----

// The kernel is computed: it is padded, and the phases of a step become
// channels, by data movement.
// CHECK-LABEL: func.func @computed
// CHECK-DAG: nn.im2col %arg0
// CHECK-DAG: nn.pad %arg1
// CHECK-DAG: nn.transpose
// CHECK: nn.conv {{.*}}choice = "{{(rows-and-)?}}stride-fold"
// TINY-LABEL: func.func @computed
func.func @computed(%arg0: tensor<1x3x64x64xf32>, %arg1: tensor<32x3x7x7xf32>) -> tensor<1x32x32x32xf32> {
  %0 = nn.conv %arg0, %arg1 {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>} : (tensor<1x3x64x64xf32>, tensor<32x3x7x7xf32>) -> tensor<1x32x32x32xf32>
  return %0 : tensor<1x32x32x32xf32>
}

// -----

// As it is, the kernel would fill its partitions: the taps become channels.
// CHECK-LABEL: func.func @large
// CHECK: nn.conv {{.*}}choice = "pack-taps"
// TINY-LABEL: func.func @large
func.func @large(%arg0: tensor<1x16x40x40xf32>, %arg1: tensor<64x16x25x25xf32>) -> tensor<1x64x16x16xf32> {
  %0 = nn.conv %arg0, %arg1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x16x40x40xf32>, tensor<64x16x25x25xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}
