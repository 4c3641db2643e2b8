// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included before all else by whatever has passes. The members of a pass
// statistic depend on NDEBUG; Debian's dylib, which constructs them, was built
// with it, and a build with assertions would read members that nothing wrote.

#ifndef ASHLAR_CMAKE_DYLIBSTATISTICS_H
#define ASHLAR_CMAKE_DYLIBSTATISTICS_H

#ifdef NDEBUG
#include "llvm/ADT/Statistic.h"
#else
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif

#endif // ASHLAR_CMAKE_DYLIBSTATISTICS_H
