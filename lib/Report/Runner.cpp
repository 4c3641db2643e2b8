// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-run from arguments to exit code. Files are written after everything
// has run, so a failing run leaves none behind.

#include "ashlar/Report/Runner.h"

#include "Buckets/Buckets.h"
#include "Generate/Generate.h"
#include "ashlar/Container/Bundle.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Energy/Table.h"
#include "ashlar/Numerics/Kernels.h"
#include "ashlar/Report/Comparison.h"
#include "ashlar/Report/Execution.h"
#include "ashlar/Report/NonFinite.h"
#include "ashlar/Report/Report.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Progress.h"
#include "ashlar/Support/Version.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <thread>

using namespace ashlar;
using namespace ashlar::report;
using support::HostTensor;
using support::NamedTensor;

namespace {

constexpr char tool[] = "ashlar-run";

/// One invocation.
class Session {
public:
  explicit Session(const RunOptions &options) : options(options) {}

  llvm::Error run();

private:
  llvm::Error load();
  llvm::Error readArrays();
  llvm::Error changeMachine(container::Program &program);
  llvm::Expected<InputSet> readInputs();
  llvm::Error readState();
  llvm::Error readExpected();
  llvm::Error readBaseline();
  llvm::Error execute(const InputSet &inputs);
  PageContext pageContext() const;
  llvm::Error writeFiles();
  void print() const;
  llvm::Error judge() const;

  emulator::Options emulatorOptions() const;
  const container::Program &program() const { return loaded->program(); }

  const RunOptions &options;
  std::vector<NamedTensor> arrays; ///< As given, filled up to the program's.
  std::optional<Buckets> buckets;
  std::optional<emulator::LoadedProgram> loaded;
  std::string compiledFor; ///< Machine of the program, if another one runs it.
  double loadSeconds = 0;
  uint64_t samples = 1;
  RunState state; ///< Before the first sample.
  std::vector<NamedTensor> expected;
  std::unique_ptr<llvm::MemoryBuffer> baseline;
  Execution execution;
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

} // namespace

/// `ashlar/proofs` in the user's folder for such files; empty if there is none.
static std::string proofFolder() {
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "ashlar", "proofs");
  return std::string(path);
}

emulator::Options Session::emulatorOptions() const {
  emulator::Options result;
  result.threads = options.threads
                       ? options.threads
                       : std::max(1u, std::thread::hardware_concurrency());
  result.timing = !options.functional;
  result.traceDram = !options.dramTrace.empty();
  result.recordTimes = !options.trace.empty() || !options.stacks.empty() ||
                       !options.html.empty();
  result.dumpTensors = !options.dumpFolder.empty();
  result.maxMemory = options.maxMemory;
  result.kernels = options.kernels;
  if (options.sharing != "auto")
    result.lists = options.sharing == "lists";
  if (!options.noCache)
    result.proofFolder = proofFolder();
  return result;
}

llvm::Error Session::load() {
  const auto start = std::chrono::steady_clock::now();
  auto programs =
      container::readAll(options.program, emulatorOptions().threads);
  if (!programs)
    return programs.takeError();
  if (llvm::Error error = readArrays())
    return error;
  container::Program program;
  if (programs->size() == 1) {
    program = std::move(programs->front());
  } else {
    auto chosen = Buckets::choose(std::move(*programs), arrays);
    if (!chosen)
      return withContext(chosen.takeError(), options.program);
    buckets = std::move(*chosen);
    program = std::move(buckets->program);
    if (!buckets->warning.empty())
      support::printErr(
          fmt::format("{}: warning: {}\n", tool, buckets->warning));
  }
  if (llvm::Error error = changeMachine(program))
    return error;
  llvm::Expected<emulator::LoadedProgram> result =
      emulator::load(std::move(program), emulatorOptions());
  if (!result)
    return withContext(result.takeError(),
                       compiledFor.empty()
                           ? options.program
                           : fmt::format("{}: compiled for machine '{}', which "
                                         "differs from '{}'",
                                         options.program, compiledFor,
                                         options.machine));
  loaded.emplace(std::move(*result));
  loadSeconds = secondsSince(start);
  return llvm::Error::success();
}

llvm::Error Session::changeMachine(container::Program &program) {
  if (options.machine.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> before =
      report::changeMachine(program, options.machine);
  if (!before)
    return before.takeError();
  compiledFor = std::move(*before);
  if (!compiledFor.empty())
    support::printErr(fmt::format(
        "{}: warning: {}: compiled for machine '{}', runs on '{}'\n", tool,
        options.program, compiledFor, program.machine.name));
  return llvm::Error::success();
}

llvm::Error Session::readArrays() {
  if (!options.inputs.empty()) {
    auto archive = support::readNpz(options.inputs);
    if (!archive)
      return archive.takeError();
    arrays = std::move(*archive);
  }
  for (const auto &[name, file] : options.inputFiles) {
    auto tensor = support::readNpy(file);
    if (!tensor)
      return tensor.takeError();
    arrays.push_back({name, std::move(*tensor)});
  }
  return llvm::Error::success();
}

llvm::Expected<InputSet> Session::readInputs() {
  if (options.randomSeed) {
    // Given arrays stay; the seed fills the rest.
    for (const container::TensorBinding &binding : program().inputs) {
      // Rows of a cache are counted, not drawn.
      if (binding.name == program().cache.position)
        continue;
      const bool given = llvm::any_of(arrays, [&](const NamedTensor &array) {
        return array.name == binding.name;
      });
      if (!given)
        arrays.push_back(
            {binding.name, randomInput(binding, *options.randomSeed)});
    }
  }
  llvm::Expected<InputSet> set =
      bindInputs(program(), std::move(arrays),
                 "\ngive --input NAME=FILE.npy, --inputs=FILE.npz or "
                 "--random-inputs=SEED");
  if (set)
    for (auto [binding, tensor] : llvm::zip(program().inputs, set->tensors))
      warnNonFinite(tool, "input", binding.name, tensor);
  return set;
}

llvm::Error Session::readState() {
  state = RunState::initialOf(program());
  const bool asked = !options.stateIn.empty() || !options.stateOut.empty();
  if (asked && state.empty())
    return makeError(ErrorClass::Usage,
                     "{}: the program has no state; --state-in and "
                     "--state-out need a scale policy with state, or "
                     "tensors that ashlarc --state keeps",
                     options.program);
  if (options.stateIn.empty())
    return llvm::Error::success();
  auto given = report::readState(program(), options.stateIn);
  if (!given)
    return given.takeError();
  state = std::move(*given);
  return llvm::Error::success();
}

llvm::Error Session::readExpected() {
  if (options.expect.empty())
    return llvm::Error::success();
  auto archive = support::readNpz(options.expect);
  if (!archive)
    return archive.takeError();
  for (const NamedTensor &array : *archive)
    if (llvm::none_of(program().outputs,
                      [&](const auto &b) { return b.name == array.name; }))
      return makeError(
          ErrorClass::Usage, "{}: the program has no output '{}', expected:{}",
          options.expect, array.name, listBindings(program().outputs));
  for (const container::TensorBinding &binding : program().outputs) {
    auto array = llvm::find_if(
        *archive, [&](const auto &a) { return a.name == binding.name; });
    if (array == archive->end())
      return makeError(
          ErrorClass::Usage, "{}: no array for output '{}', expected:{}",
          options.expect, binding.name, listBindings(program().outputs));
    expected.push_back(std::move(*array));
    if (support::isStoredAs(expected.back().tensor.type, binding.type))
      expected.back().tensor.type = binding.type;
  }
  return llvm::Error::success();
}

llvm::Error Session::readBaseline() {
  if (options.baseline.empty())
    return llvm::Error::success();
  auto file = support::readFile(options.baseline);
  if (!file)
    return file.takeError();
  baseline = std::move(*file);
  return withContext(checkBaseline(baseline->getBuffer()), options.baseline);
}

llvm::Error Session::execute(const InputSet &inputs) {
  samples = inputs.samples;
  support::Progress progress("running", samples, !options.quiet);
  auto done = [&](uint64_t count) { progress.update(count); };
  llvm::Expected<Execution> result =
      executeSamples(*loaded, inputs, emulatorOptions(), state, done);
  if (!result)
    return withContext(result.takeError(), options.program);
  execution = std::move(*result);
  if (buckets)
    buckets->cut(execution.outputs);
  execution.statistics.loadSeconds = loadSeconds;
  execution.statistics.compiledFor = compiledFor;
  progress.finish();
  const std::string note = emulator::keepProof(*loaded);
  if (!note.empty() && !options.quiet)
    support::printErr(fmt::format("{}: note: {}\n", tool, note));
  for (const std::string &text : execution.warnings)
    support::printErr(fmt::format("{}: warning: {}\n", tool, text));
  return llvm::Error::success();
}

PageContext Session::pageContext() const {
  PageContext context;
  if (baseline)
    context.baseline = baseline->getBuffer();
  for (size_t i = 0; i < expected.size(); ++i) {
    const NamedTensor &output = execution.outputs[i];
    llvm::Expected<Comparison> comparison =
        compare(output.tensor, expected[i].tensor, options.atol, options.rtol);
    if (!comparison) {
      llvm::consumeError(comparison.takeError()); // judge() returns it.
      continue;
    }
    context.outputs.push_back(
        {output.name, describe(*comparison, output.tensor.shape),
         std::isfinite(comparison->snrDb) ? std::optional(comparison->snrDb)
                                          : std::nullopt,
         comparison->passed()});
  }
  return context;
}

llvm::Error Session::writeFiles() {
  if (!options.outputs.empty())
    if (llvm::Error error =
            support::writeNpz(options.outputs, execution.outputs))
      return error;
  if (!options.stateOut.empty())
    if (llvm::Error error =
            writeState(program(), execution.state, options.stateOut))
      return error;
  if (!options.report.empty()) {
    llvm::Expected<std::string> json = toJson(execution.statistics);
    if (!json)
      return withContext(json.takeError(), options.program);
    if (llvm::Error error = support::writeFileAtomically(
            options.report, llvm::StringRef(*json)))
      return error;
  }
  if (!options.layers.empty())
    if (llvm::Error error = support::writeFileAtomically(
            options.layers,
            llvm::StringRef(toLayerTable(execution.statistics))))
      return error;
  if (!options.trace.empty()) {
    const bool native = llvm::StringRef(options.trace).ends_with(".pftrace");
    if (llvm::Error error = support::writeFileAtomically(
            options.trace,
            llvm::StringRef(native ? toPerfetto(execution.statistics)
                                   : toTrace(execution.statistics))))
      return error;
  }
  if (!options.stacks.empty())
    if (llvm::Error error = support::writeFileAtomically(
            options.stacks,
            llvm::StringRef(toFoldedStacks(execution.statistics))))
      return error;
  if (!options.dramTrace.empty())
    if (llvm::Error error = support::writeFileAtomically(
            options.dramTrace, llvm::StringRef(execution.first.dramTrace)))
      return error;
  if (!options.html.empty()) {
    llvm::Expected<std::string> page =
        toHtml(execution.statistics, pageContext());
    if (!page)
      return withContext(page.takeError(), options.program);
    if (llvm::Error error =
            support::writeFileAtomically(options.html, llvm::StringRef(*page)))
      return error;
  }
  if (!options.dumpFolder.empty())
    return dumpTensors(program(), execution.first, options.dumpFolder);
  return llvm::Error::success();
}

void Session::print() const {
  if (options.quiet)
    return;
  if (buckets && !buckets->note.empty())
    support::printOut(buckets->note + "\n");
  for (const NamedTensor &output : execution.outputs)
    support::printOut(topValues(output.tensor, output.name, samples));
  support::printOut(toSummary(execution.statistics));
}

llvm::Error Session::judge() const {
  std::string failed;
  for (size_t i = 0; i < expected.size(); ++i) {
    llvm::Expected<Comparison> comparison =
        compare(execution.outputs[i].tensor, expected[i].tensor, options.atol,
                options.rtol);
    if (!comparison)
      return withContext(comparison.takeError(),
                         fmt::format("{}: output '{}'", options.expect,
                                     execution.outputs[i].name));
    if (!options.quiet)
      support::printOut(fmt::format(
          "expect '{}': {}\n", execution.outputs[i].name,
          describe(*comparison, execution.outputs[i].tensor.shape)));
    if (!comparison->passed())
      failed += fmt::format(
          "{}'{}' ({})", failed.empty() ? "" : ", ", execution.outputs[i].name,
          describe(*comparison, execution.outputs[i].tensor.shape));
  }
  if (failed.empty())
    return llvm::Error::success();
  return makeError(ErrorClass::Mismatch,
                   "outputs differ from '{}' beyond atol {} and rtol {}: {}",
                   options.expect, options.atol, options.rtol, failed);
}

llvm::Error Session::run() {
  llvm::Expected<energy::Table> prices = energy::loadTable(
      options.energyTable.empty() ? llvm::StringRef(energy::defaultTable)
                                  : llvm::StringRef(options.energyTable));
  if (!prices)
    return prices.takeError();
  if (llvm::Error error = load())
    return error;
  llvm::Expected<InputSet> inputs = readInputs();
  if (!inputs)
    return inputs.takeError();
  if (!options.dumpFolder.empty() && inputs->samples != 1)
    return makeError(ErrorClass::Usage,
                     "--dump-tensors takes one sample, found {}",
                     inputs->samples);
  if (llvm::Error error = readState())
    return error;
  if (llvm::Error error = readExpected())
    return error;
  if (llvm::Error error = readBaseline())
    return error;
  if (llvm::Error error = execute(*inputs))
    return error;
  execution.statistics.energyTable = std::move(*prices);
  if (llvm::Error error = writeFiles())
    return error;
  print();
  return judge();
}

int report::runTool(llvm::ArrayRef<std::string> args) {
  llvm::Expected<RunOptions> options = parseRunArguments(args);
  if (!options)
    return reportAndExitCode(tool, options.takeError());
  llvm::Error error = llvm::Error::success();
  if (options->help)
    support::printOut(runHelp());
  else if (options->kernels == "help")
    support::printOut(
        fmt::format("kernel sets of this host: {}\n", numerics::kernelNames()));
  else if (options->version)
    support::printOut(support::versionLine(tool) + "\n");
  else
    error = options->generate.count > 0 ? generate(*options)
                                        : Session(*options).run();
  // A failed run says so before a failed terminal does.
  if (llvm::Error failure = support::finishOut()) {
    if (error)
      llvm::consumeError(std::move(failure));
    else
      error = std::move(failure);
  }
  return reportAndExitCode(tool, std::move(error));
}
