// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of ashlarc.

#ifndef ASHLAR_LIB_PIPELINES_ARGUMENTS_H
#define ASHLAR_LIB_PIPELINES_ARGUMENTS_H

#include "../FormatSearch/FormatSearch.h"
#include "ashlar/Pipelines/Compile.h"

namespace ashlar::pipelines {

/// All flags of ashlarc.
struct CompilerArguments {
  CompileOptions compile;
  std::string output;       ///< -o
  std::string report;       ///< --report
  std::string html;         ///< --html
  std::string layers;       ///< --layers
  std::string annotated;    ///< --annotate
  std::string explorer;     ///< --model-explorer
  std::string dumpMachine;  ///< --dump-machine
  bool formatGiven = false; ///< --format
  bool autoFormats = false; ///< --format=auto
  /// --activations, --weights
  std::optional<numerics::BlockFormat> activations, weights;
  std::optional<numerics::ScalePolicy> scale; ///< --scale
  std::string formatsFile;                    ///< --formats
  std::string formatsText; ///< Its content, where a library has it in memory.
  SearchOptions search;    ///< --min-snr, --min-agreement, --calibrate
  std::string dumpFormats; ///< --dump-formats
  bool stopRequested = false;      ///< --compile-to was given
  std::optional<Phase> startAfter; ///< --compile-from
  /// --bucket: a named dimension and its sizes, a program for each.
  std::string bucketDimension;
  std::vector<int64_t> buckets;
  SampleArchive verifyInputs; ///< --inputs
  bool verify = false;
  bool check = false;
  bool explain = false;
  bool listMachines = false;
  bool quiet = false; ///< Errors and warnings only.
  bool help = false;
  bool version = false;
  bool showProgress = true; ///< On a terminal, after a second.
};

/// Parses the command line; errors are usage errors.
llvm::Expected<CompilerArguments>
parseCompilerArguments(llvm::ArrayRef<std::string> args);

/// An option of ashlarc without its dashes, and its value.
using NamedOption = std::pair<std::string, std::string>;

/// The same for a program that has the compiler as a library: options by name
/// (`formats` may be the table itself), without those that print, write files
/// or stop between phases. Models and arrays in memory are not the options'
/// business: \p arguments have them already. Errors are usage errors.
llvm::Error parseLibraryOptions(llvm::ArrayRef<NamedOption> options,
                                CompilerArguments &arguments);

/// The text of --help.
std::string compilerHelp();

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_ARGUMENTS_H
