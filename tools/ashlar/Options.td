// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar; those of a command are its tool's.

include "ashlar/Support/Options.td"
