// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ashlar-run does, as a library: arguments, input arrays, the emulator,
// comparison, files.

#ifndef ASHLAR_REPORT_RUNNER_H
#define ASHLAR_REPORT_RUNNER_H

#include "ashlar/Report/RunState.h"
#include "ashlar/Report/Statistics.h"
#include "ashlar/Support/Npz.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::container {
struct Program;
struct TensorBinding;
} // namespace ashlar::container
namespace ashlar::emulator {
class LoadedProgram;
struct RunResult;
} // namespace ashlar::emulator

namespace ashlar::report {

/// Text generation by ashlar-run.
struct GenerateOptions {
  uint64_t count = 0;                ///< Tokens to generate; 0: none.
  std::string prompt, tokens;        ///< Text, or numbers with commas.
  bool hasPrompt = false;            ///< --prompt was given, maybe empty.
  std::string tokenizer;             ///< Vocabulary file.
  std::vector<std::string> programs; ///< Others of the same model.
  double temperature = 0;            ///< 0: always the largest logit.
  uint64_t topK = 0;                 ///< Draws among so many; 0: all.
  uint64_t seed = 0;
};

/// The command line of ashlar-run.
struct RunOptions {
  bool help = false, version = false;
  std::string program;
  std::string machine;     ///< Name or path; empty: that of the program.
  std::string energyTable; ///< Name or path; empty: energy::defaultTable.
  std::vector<std::pair<std::string, std::string>> inputFiles; ///< NAME, FILE
  std::string inputs, outputs, expect, report, trace, dramTrace, dumpFolder;
  std::string layers, stacks;    ///< The layers as CSV; folded stacks.
  std::string html, baseline;    ///< The page, and a report to compare with.
  std::string stateIn, stateOut; ///< State before and after all samples.
  GenerateOptions generate;
  double atol = 0, rtol = 0;
  std::optional<uint64_t> randomSeed;
  uint64_t maxMemory = 0; ///< Bytes; 0 = no limit.
  unsigned threads = 0;   ///< 0 = all hardware threads.
  bool functional = false;
  std::string kernels = "best";
  /// What threads share: "auto", "lists" or "loops".
  std::string sharing = "auto";
  bool quiet = false;
  bool noCache = false; ///< Neither use nor keep proofs.
};

/// Parses the arguments after the program's name. Usage errors name the
/// argument and what was expected.
llvm::Expected<RunOptions> parseRunArguments(llvm::ArrayRef<std::string> args);

/// The text of --help.
std::string runHelp();

/// "  NAME  f32[1x3x8x8]" per binding.
std::string listBindings(llvm::ArrayRef<container::TensorBinding> bindings);

/// One array per graph input, each with `samples` times the compiled batch.
struct InputSet {
  uint64_t samples = 1;
  std::vector<support::HostTensor> tensors; ///< In order of the bindings.
  /// The input that tells how many rows of the cache are filled, if it was not
  /// given: each run continues where the one before it stopped.
  std::optional<size_t> position;
};

/// Fits named arrays to the bindings: every binding once, no other name, exact
/// type and shape but for axis 0, which may be n times the compiled one (the
/// same n for all). Names are Usage errors; types and shapes Malformed. \p
/// remedy ends the message about missing arrays.
llvm::Expected<InputSet>
bindInputs(llvm::ArrayRef<container::TensorBinding> bindings,
           std::vector<support::NamedTensor> arrays,
           llvm::StringRef remedy = "");

/// The same for a program: the position of its cache need not be given.
llvm::Expected<InputSet> bindInputs(const container::Program &program,
                                    std::vector<support::NamedTensor> arrays,
                                    llvm::StringRef remedy = "");

/// A seeded array for \p binding: floats uniform in [-1, 1), integers of 8 and
/// 16 bits in [-128, 127] or [0, 255], wider ones and booleans 0 or 1. The same
/// seed and name give the same bits everywhere.
support::HostTensor randomInput(const container::TensorBinding &binding,
                                uint64_t seed);

/// Sample \p index of \p array, which holds \p samples of them on axis 0.
support::HostTensor sampleOf(const support::HostTensor &array, uint64_t samples,
                             uint64_t index);

/// Appends a sample's output on axis 0; a scalar becomes a vector of samples.
void appendSample(support::HostTensor &stacked,
                  const support::HostTensor &sample, uint64_t samples);

/// Names for the numbers of a run.
llvm::Expected<RunStatistics>
collectStatistics(const emulator::LoadedProgram &program,
                  const emulator::RunResult &result);

/// Writes every planned tensor of \p result into \p folder: NAME.npy, or
/// NAME.mant.npy and NAME.exp.npy, plan.json, and index.json, which maps tensor
/// names to files and scale exponents (docs/ReportSchema.md).
llvm::Error dumpTensors(const container::Program &program,
                        const emulator::RunResult &result,
                        llvm::StringRef folder);

/// The largest values of each sample of an output, as text lines.
std::string topValues(const support::HostTensor &output, llvm::StringRef name,
                      uint64_t samples);

/// Runs the tool; returns its exit code.
int runTool(llvm::ArrayRef<std::string> args);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_RUNNER_H
