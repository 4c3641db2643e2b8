// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No fault ends a tool by a signal: failed writes and failed allocations are
// errors, and there is a net below recursion over input: parsers that are not
// ours, affine expressions and attributes that aliases build without a bracket.

#ifndef ASHLAR_SUPPORT_PROCESSGUARD_H
#define ASHLAR_SUPPORT_PROCESSGUARD_H

namespace ashlar::support {

/// From now on a closed pipe or a file-size limit is a failed write, and an
/// overflow of the calling thread's stack ends the process with one line on
/// standard error and the exit code of malformed input. Memory that is not to
/// be had, for that stack or for anything else, ends it with the code of
/// capacity (guardMemory). What LLVM's output streams could not write is told
/// at the end; a reader that left is not an error. Call it once, first in main;
/// \p tool must live as long as the process. Other faults go to whatever
/// handled them before.
void guardProcess(const char *tool);

/// Ends a guarded process as the end of main would, before what libraries have
/// built, such as the registry of ONNX's operators, is taken apart. Builds with
/// assertions do that: sanitizers look for leaks at the end.
[[noreturn]] void endProcess(int status);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_PROCESSGUARD_H
