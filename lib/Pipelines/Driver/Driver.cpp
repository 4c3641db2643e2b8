// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlarc: what the flags ask for, in order.

#include "../PhaseFile.h"
#include "Arguments.h"
#include "Build.h"
#include "CheckModel.h"
#include "Explain.h"
#include "Timed.h"

#include "ashlar/Container/Bundle.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Version.h"

#include <fmt/format.h>

#include <memory>
#include <set>

namespace ashlar::pipelines {
namespace {

/// Formatted text for standard output.
template <typename... Args>
void print(fmt::format_string<Args...> format, Args &&...args) {
  support::printOut(fmt::format(format, std::forward<Args>(args)...));
}

void printSummary(const CompilerArguments &arguments,
                  const CompileResult &result) {
  if (arguments.quiet)
    return;
  const container::Program &program = *result.program;
  uint64_t bytes = 0, macs = 0;
  for (const container::Segment &segment : program.constants)
    bytes += segment.bytes.size();
  for (const container::NodeInfo &node : program.nodes)
    macs += node.macs;
  // A program that was not generated here says nothing about its weights.
  std::string weights;
  if (const NodeStorage storage = result.weights.total(); storage.weights > 0)
    weights = fmt::format("{:.2f} bits per weight, ", storage.bitsPerWeight());
  print("{}: {} nodes, {} instructions, {:.2f} M multiply-accumulates, "
        "{:.1f} kB of constants, {}machine {}, format {}\n",
        arguments.output, program.nodes.size(),
        program.nodeOfInstruction.size(), macs / 1e6, bytes / 1e3, weights,
        program.machine.name, formatText(arguments));
}

llvm::Error runCheck(const CompilerArguments &arguments) {
  CompilerContext context(/*threads=*/1);
  auto nodes = checkModel(arguments.compile, context.get());
  if (!nodes)
    return nodes.takeError();
  size_t unsupported = 0;
  for (const frontend::NodeStatus &node : *nodes) {
    if (!arguments.quiet)
      print("{:<32} {:<24} {:<12} {}\n", node.name, node.op,
            frontend::nodeStateName(node.state).str(), node.detail);
    unsupported += node.state == frontend::NodeState::Unsupported;
  }
  if (!arguments.quiet)
    print("{} nodes, {} unsupported\n", nodes->size(), unsupported);
  if (unsupported > 0)
    return makeError(
        ErrorClass::Unsupported, "{} of {} nodes are unsupported, {}",
        unsupported, nodes->size(),
        arguments.quiet ? "listed without --quiet" : "listed above");
  return llvm::Error::success();
}

/// What --verify, --explain, --dump-formats and --report ask for.
llvm::Error tell(const CompilerArguments &arguments, const Build &build) {
  if (!arguments.dumpFormats.empty())
    if (llvm::Error error = support::writeFileAtomically(
            arguments.dumpFormats, llvm::StringRef(formatsText(arguments))))
      return error;
  if (build.verification && !arguments.quiet)
    support::printOut(describe(*build.verification));
  if (arguments.explain && build.search)
    support::printOut(describe(*build.search));
  if (arguments.explain)
    support::printOut(explain(decisionsOf(build.result)));
  if (arguments.report.empty())
    return llvm::Error::success();
  auto text = reportText(arguments, build);
  if (!text)
    return text.takeError();
  return support::writeText(arguments.report, *text);
}

llvm::Error runCompiler(CompilerArguments arguments) {
  CompilerContext context(arguments.compile.threads);
  auto built = build(arguments, context.get());
  if (!built)
    return built.takeError();
  if (llvm::Error error = tell(arguments, *built))
    return error;
  if (llvm::Error error = violationError(*built))
    return error;
  const CompileResult &result = built->result;
  // A file is for --compile-from, a terminal for readers.
  if (arguments.stopRequested)
    return support::writeText(
        arguments.output,
        arguments.output.empty()
            ? phaseText(*result.module)
            : completePhaseText(result, arguments.compile.stopAfter));
  if (result.program)
    if (llvm::Error error = writeTimed(arguments, *built, context.get()))
      return error;
  if (arguments.output.empty() || !result.program)
    return llvm::Error::success();
  if (llvm::Error error = container::write(*result.program, arguments.output))
    return error;
  printSummary(arguments, result);
  return llvm::Error::success();
}

/// A program for each size of the dimension, in one file.
llvm::Error runBuckets(const CompilerArguments &arguments) {
  std::vector<container::Program> programs;
  for (int64_t size : arguments.buckets) {
    CompilerArguments one = arguments;
    if (llvm::Error error = frontend::addInputShape(
            one.compile.import,
            fmt::format("{}={}", arguments.bucketDimension, size)))
      return error;
    CompilerContext context(one.compile.threads);
    auto built = build(one, context.get());
    if (!built)
      return withContext(built.takeError(),
                         fmt::format("--bucket size {}", size));
    if (arguments.explain)
      support::printOut(explain(decisionsOf(built->result)));
    printSummary(one, built->result);
    programs.push_back(std::move(*built->result.program));
  }
  container::SharedBytes shared;
  if (llvm::Error error =
          container::writeAll(programs, arguments.output, &shared))
    return error;
  if (arguments.quiet)
    return llvm::Error::success();
  print("{}: {} programs, {} bytes of constants, {} of them stored\n",
        arguments.output, programs.size(), shared.constants, shared.stored);
  return llvm::Error::success();
}

llvm::Error dumpMachine(llvm::StringRef name) {
  auto machine = machine::load(name);
  if (!machine)
    return machine.takeError();
  return support::writeText("", machine::toYaml(*machine));
}

/// The exit code; text that could not be written is an error as well.
int finish(llvm::Error error) {
  if (!error)
    error = support::finishOut();
  else
    llvm::consumeError(support::finishOut());
  return reportAndExitCode("ashlarc", std::move(error));
}

} // namespace

int compilerMain(llvm::ArrayRef<std::string> args) {
  auto arguments = parseCompilerArguments(args);
  if (!arguments)
    return reportAndExitCode("ashlarc", arguments.takeError());
  // A model may be imported several times, for buckets and by searches.
  arguments->compile.import.warn =
      [said = std::make_shared<std::set<std::string>>()](const auto &text) {
        if (said->insert(text).second)
          support::printErr(fmt::format("ashlarc: warning: {}\n", text));
      };
  if (arguments->help) {
    return finish(support::writeText("", compilerHelp()));
  }
  if (arguments->version) {
    return finish(
        support::writeText("", support::versionLine("ashlarc") + "\n"));
  }
  if (arguments->listMachines) {
    for (llvm::StringRef name : machine::builtinNames())
      print("{}\n", name.str());
    return finish(llvm::Error::success());
  }
  if (!arguments->dumpMachine.empty())
    return finish(dumpMachine(arguments->dumpMachine));
  if (arguments->check)
    return finish(runCheck(*arguments));
  return finish(arguments->buckets.empty() ? runCompiler(*arguments)
                                           : runBuckets(*arguments));
}

} // namespace ashlar::pipelines
