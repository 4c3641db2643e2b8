// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines that there are not: the rules are those of machine files.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{unknown field 'colour'}}
module attributes {ashlar.target = #ashlar.target<"small", colour = 3>} {
}

// -----

// expected-error@+1 {{unknown field 'dram.colour'}}
module attributes {ashlar.target = #ashlar.target<"small", dram = {colour = 3}>} {
}

// -----

// expected-error@+1 {{partitions}}
module attributes {ashlar.target = #ashlar.target<"small", sb = {partitions = 0}>} {
}

// -----

// expected-error@+1 {{expected string}}
module attributes {ashlar.target = #ashlar.target<small>} {
}
