// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows that take more than half of a partition.
//
// RUN: ashlar-opt --ashlar-set-target=machine=%S/Inputs/half-kib.yaml --ashlar-nn-split-windows=for-partition --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-nn-split-windows --split-input-file %s | FileCheck %s --check-prefix=ANY

// 64 floats fit: 12 columns leave room for 5 rows, so that 3 pools have 4 of 12
// rows.
// CHECK-LABEL: @mean
// CHECK-COUNT-3: nn.avg_pool {{.*}}kernel = array<i64: 4, 12>
// CHECK-NOT: nn.avg_pool
// ANY-LABEL: @mean
// ANY: nn.avg_pool {{.*}}kernel = array<i64: 12, 12>
func.func @mean(%x: tensor<1x8x24x24xf32>) -> tensor<1x8x4x4xf32> {
  %0 = nn.avg_pool %x {kernel = array<i64: 12, 12>, strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x24x24xf32>) -> tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}

// -----

// Rows that do not fit alone: first single rows, then their columns.
// CHECK-LABEL: @long_rows
// CHECK-COUNT-4: nn.max_pool {{.*}}kernel = array<i64: 1, 50>
// CHECK-NOT: nn.max_pool
// ANY-LABEL: @long_rows
func.func @long_rows(%x: tensor<1x8x2x400xf32>) -> tensor<1x8x1x301xf32> {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 100>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x2x400xf32>) -> tensor<1x8x1x301xf32>
  return %0 : tensor<1x8x1x301xf32>
}

// -----

// 64 floats fit.
// CHECK-LABEL: @fits
// CHECK: nn.avg_pool {{.*}}kernel = array<i64: 8, 8>
// ANY-LABEL: @fits
func.func @fits(%x: tensor<1x8x24x24xf32>) -> tensor<1x8x5x5xf32> {
  %0 = nn.avg_pool %x {kernel = array<i64: 8, 8>, strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x24x24xf32>) -> tensor<1x8x5x5xf32>
  return %0 : tensor<1x8x5x5xf32>
}
