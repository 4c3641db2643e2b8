// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of instructions as bytes of a kept proof.

#ifndef ASHLAR_LIB_EMULATOR_CACHE_LISTBYTES_H
#define ASHLAR_LIB_EMULATOR_CACHE_LISTBYTES_H

#include "../Parallel/Lists.h"
#include "Bytes.h"
#include <memory>

namespace ashlar::emulator {

void writeLists(const Lists &lists, Writer &out);

/// Lists of a program with \p instructions and \p operands; null, and `in.good`
/// false, if they name others.
std::shared_ptr<const Lists> readLists(Reader &in, size_t instructions,
                                       size_t operands);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_CACHE_LISTBYTES_H
