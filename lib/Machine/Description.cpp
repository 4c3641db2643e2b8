// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built-in machines and loading by name or path.

#include "ashlar/Machine/Description.h"
