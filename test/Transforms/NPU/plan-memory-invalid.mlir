// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What planning refuses.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file --verify-diagnostics %s

// expected-error@+1 {{has no 'ashlar.target' attribute}}
module {
}

// -----

// A softmax needs its whole axis at once: 4096 values of 4 bytes, several
// times over, in partitions of 4096 bytes.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%arg0: tensor<8x4096xf32>) -> tensor<8x4096xf32> {
  // expected-error@+1 {{does not fit into the state buffer: its smallest tile needs 49216 bytes per partition, 4096 are available next to 0 bytes for weights; use a machine with more bytes per partition (small has 4096)}}
  %0 = npu.vec.softmax(%arg0) {layout = #npu.layout<axis = 0>, axis = 1 : i64, log = false} : (tensor<8x4096xf32>) -> tensor<8x4096xf32>
  return %0 : tensor<8x4096xf32>
}
}

// -----

// Each tile fits, but no program writes as many as there are.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%arg0: tensor<4294967296x8x5xf32>) -> tensor<4294967296x8x5xf32> {
  // expected-error@+1 {{is computed in more than 16777216 tiles, and the program of a model of this size may have 131136 instructions; make its extents smaller or use a machine with more bytes per partition (small has 4096)}}
  %0 = npu.vec.softmax(%arg0) {layout = #npu.layout<axis = 1>, axis = 2 : i64, log = false} : (tensor<4294967296x8x5xf32>) -> tensor<4294967296x8x5xf32>
  return %0 : tensor<4294967296x8x5xf32>
}
}
