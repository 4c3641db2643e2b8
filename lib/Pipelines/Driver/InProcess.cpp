// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same way as ashlarc goes (Build.cpp), from memory to memory.

#include "ashlar/Pipelines/InProcess.h"

#include "Build.h"

#include "ashlar/Support/Error.h"

namespace ashlar::pipelines {
namespace {

/// Arrays in memory become what options would have named as files.
llvm::Error addArrays(const CompileRequest &request,
                      CompilerArguments &arguments) {
  if (!request.calibration.empty())
    arguments.search.calibration = SampleArchive(request.calibration);
  for (const support::NamedTensor &constant : request.constants) {
    frontend::ConstantInput input;
    input.array = std::make_shared<support::HostTensor>(constant.tensor);
    if (!arguments.compile.import.constants
             .try_emplace(constant.name, std::move(input))
             .second)
      return makeError(ErrorClass::Usage, "constant '{}' is given twice",
                       constant.name);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<CompiledModel> compileInProcess(const CompileRequest &request) {
  CompilerArguments arguments;
  arguments.compile.model = request.model;
  arguments.compile.import.image = request.image;
  arguments.showProgress = false;
  arguments.search.showProgress = false;
  if (llvm::Error error = addArrays(request, arguments))
    return error;
  if (llvm::Error error = parseLibraryOptions(request.options, arguments))
    return error;
  CompilerContext context(arguments.compile.threads);
  auto built = build(arguments, context.get());
  if (!built)
    return built.takeError();
  auto report = reportText(arguments, *built);
  if (!report)
    return report.takeError();
  auto bytes = container::serialize(*built->result.program);
  if (!bytes)
    return bytes.takeError();
  CompiledModel compiled;
  compiled.program = std::move(*bytes);
  compiled.report = std::move(*report);
  compiled.formats = formatsText(arguments);
  return compiled;
}

} // namespace ashlar::pipelines
