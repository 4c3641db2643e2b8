// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the options of ashlarc to a proven program and its report, in memory:
// what the tool and the library have in common. Nothing here prints or writes.

#ifndef ASHLAR_LIB_PIPELINES_DRIVER_BUILD_H
#define ASHLAR_LIB_PIPELINES_DRIVER_BUILD_H

#include "../Verification/Verify.h"
#include "Arguments.h"
#include "llvm/Support/ThreadPool.h"

namespace ashlar::pipelines {

/// A context with all dialects, and the threads that it works with.
class CompilerContext {
public:
  /// \p threads = 0 takes all hardware threads; one starts none.
  explicit CompilerContext(unsigned threads);
  mlir::MLIRContext &get() { return *context; }

private:
  std::unique_ptr<llvm::DefaultThreadPool> pool; ///< Outlives the context.
  std::unique_ptr<mlir::MLIRContext> context;
};

/// What was built, and how it was decided.
struct Build {
  CompileResult result;
  std::optional<SearchResult> search;
  std::optional<Verification> verification;
};

/// Chooses formats and scales, compiles, proves the program with the loader's
/// checks and verifies it, as the arguments ask for. \p arguments get what was
/// chosen. A layer beyond its bound is not an error yet (violationError).
llvm::Expected<Build> build(CompilerArguments &arguments,
                            mlir::MLIRContext &context);

/// A layer beyond its bound as the error that ends the compilation.
llvm::Error violationError(const Build &build);

/// The formats that were compiled, for --formats.
std::string formatsText(const CompilerArguments &arguments);

/// The formats as an option would say them; a module that is quantised has its
/// own.
std::string formatText(const CompilerArguments &arguments);

/// The decisions of all passes; none if a phase file carries something else.
llvm::json::Array decisionsOf(const CompileResult &result);

/// The compile report (docs/ReportSchema.md).
llvm::Expected<std::string> reportText(const CompilerArguments &arguments,
                                       const Build &build);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_DRIVER_BUILD_H
