// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one way in which a tool runs out of memory: a line with the bytes asked
// for, and the exit code of capacity. Part of guardProcess.

#ifndef ASHLAR_SUPPORT_OUTOFMEMORY_H
#define ASHLAR_SUPPORT_OUTOFMEMORY_H

#include <cstddef>

namespace ashlar::support {

/// From now on every allocation that fails in this process, on any thread and
/// in any library, ends it by outOfMemory; so does a container that is asked
/// for more than can be. Other exceptions that nothing catches and fatal errors
/// of LLVM end it with their text as internal errors.
void guardMemory(const char *tool);

/// Removes temporary files, writes one line and ends the process. \p bytes is 0
/// if the request is not known, \p what says who asked. Calls nothing that
/// allocates.
[[noreturn]] void outOfMemory(size_t bytes, const char *what = nullptr);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_OUTOFMEMORY_H
