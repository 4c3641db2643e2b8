// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of the plan phase that do not fit their operation or machine.
//
// RUN: ashlar-opt --ashlar-npu-verify-plan --split-input-file --verify-diagnostics %s

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has tiles of 5 along axis 0 of 8, expected a multiple of 8}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 0 : i64, npu.placement = -1 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 5, 16>, npu.scratch = array<i64: 0, 1024, 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has its 64 bytes at 4095, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 0 : i64, npu.placement = 4095 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 8, 16>, npu.scratch = array<i64: 0, 1024, 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has 5 slots of 1024 bytes at 0, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 0 : i64, npu.placement = -1 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 8, 16>, npu.scratch = array<i64: 0, 1024, 5>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has 0 slots of 1024 bytes at 0, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 0 : i64, npu.placement = -1 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 8, 16>, npu.scratch = array<i64: 0, 1024, 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has its ring at 5000, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 0 : i64, npu.placement = -1 : i64, npu.ring = 5000 : i64, npu.tile = array<i64: 8, 16>, npu.scratch = array<i64: 0, 1024, 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{is no part of a concatenation in its memory}}
  %0 = npu.vec.map "relu"(%x) {npu.concat_part = 0 : i64, npu.axis = 0 : i64, npu.placement = 0 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 8, 16>, npu.scratch = array<i64: 0, 1024, 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{is a view of what is not in the state buffer}}
  %0 = npu.dma.move "reshape"(%x) {npu.alias, npu.axis = 0 : i64, npu.placement = 0 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 8, 16>, npu.scratch = array<i64: 0, 1024, 1>, pieces = []} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%x: tensor<8x16x1xf32>) -> tensor<8x16x1xf32> {
  // expected-error@+1 {{cannot be compressed as 'npu.map_form' says}}
  %0 = npu.vec.map "relu"(%x) {npu.map_form = array<i64: 1, 0, 8, 128, 64, 10>, npu.axis = 0 : i64, npu.placement = -1 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 8, 16, 1>, npu.scratch = array<i64: 0, 1024, 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16x1xf32>) -> tensor<8x16x1xf32>
  return %0 : tensor<8x16x1xf32>
}
}
