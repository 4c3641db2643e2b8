// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine of a module: what is omitted is that of a1, all is printed, and
// what is printed is the same machine.
// RUN: ashlar-opt %s | FileCheck %s
// RUN: ashlar-opt %s | ashlar-opt | FileCheck %s

// CHECK: ashlar.target = #ashlar.target<"my \22own\22", clock_hz = 1000000000, xm_group = 4, dram = {
// CHECK-SAME: model = banked
// CHECK-SAME: sb = {partitions = 64, bytes_per_partition = 4096,
// CHECK-SAME: pe = {rows = 64, columns = 32,
// CHECK-SAME: shadow_set = false,
// CHECK-SAME: sr = {registers = 16}>
module attributes {ashlar.target = #ashlar.target<"my \22own\22", xm_group = 4, sb = {partitions = 64, bytes_per_partition = 4096}, pe = {rows = 64, columns = 32, shadow_set = false}, dram = {model = banked}, act = {lanes = 32}, vec = {lanes = 64}>} {
}
