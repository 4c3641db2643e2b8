// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op that holds a program, and its tables.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s | ashlar-opt | FileCheck %s

// CHECK-LABEL: isa.program "tables" dram 128 semaphores 0 {
// CHECK-NEXT: isa.binding input "x" : tensor<1x4xf32> at 0
// CHECK-NEXT: isa.binding output "y" : tensor<1x4xui8> at 64
// CHECK-NEXT: isa.data at 96 = dense<[1, 2]> : tensor<2xi8>
// CHECK-NEXT: isa.node "n" {absorbed = ["relu"], engine = "pe", macs = 16 : i64, op_type = "conv", planned = ["y"]}
// CHECK-NEXT: isa.proof "n" terms 4 bits 31
// CHECK-NEXT: isa.pe.swap
// CHECK-NEXT: isa.planned "y" : tensor<1x4xui8>
isa.program "tables" dram 128 semaphores 0 {
  isa.binding input "x" : tensor<1x4xf32> at 0
  isa.binding output "y" : tensor<1x4xui8> at 64
  isa.data at 96 = dense<[1, 2]> : tensor<2xi8>
  isa.node "n" {absorbed = ["relu"], engine = "pe", macs = 16 : i64, op_type = "conv", planned = ["y"]}
  isa.proof "n" terms 4 bits 31
  isa.pe.swap
  isa.planned "y" : tensor<1x4xui8> {base = 0 : i64, partition = 0 : i64, channel_axis = 1 : i64, tile_stride = 4 : i64, strides = array<i64: 4, 4>, exponent_base = 0 : i64, exponent_strides = array<i64>, xr = 0 : i64}
}
