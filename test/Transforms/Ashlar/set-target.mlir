// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module gets its machine by name or by file; one that it had is replaced.
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1-tiny | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/four-columns.yaml | FileCheck %s --check-prefix=FILE
// RUN: not ashlar-opt %s -ashlar-set-target 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ashlar-opt %s -ashlar-set-target=machine=b7 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: module attributes {ashlar.target = #ashlar.target<"a1-tiny",
// FILE: module attributes {ashlar.target = #ashlar.target<"four-columns",
// FILE-SAME: pe = {rows = 128, columns = 4,
// EMPTY: error: option machine is empty, expected a1,
// OTHER: error: {{.*}}b7
module attributes {ashlar.target = #ashlar.target<"a1">} {
}
