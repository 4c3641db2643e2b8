// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler of the library. The program goes to the runtime as the bytes of
// its file: the two libraries share no type of the project.

#include "ashlar/Api/Compiler.h"

#include "Convert.h"
#include "ashlar/Pipelines/InProcess.h"

using namespace ashlar;
using namespace ashlar::api;
using detail::toApi;

static Result<Compiled> compileRequest(pipelines::CompileRequest request,
                                       const CompileOptions &options) {
  request.options = options.options;
  auto calibration = detail::copyArrays(options.calibration);
  if (!calibration)
    return toApi(calibration.takeError());
  request.calibration = std::move(*calibration);
  auto constants = detail::copyArrays(options.constants);
  if (!constants)
    return toApi(constants.takeError());
  request.constants = std::move(*constants);
  auto compiled = pipelines::compileInProcess(request);
  if (!compiled)
    return toApi(compiled.takeError());
  auto program = Program::fromBytes(std::move(compiled->program), options.load,
                                    request.model);
  if (!program)
    return program.error();
  return Compiled{std::move(*program), std::move(compiled->report),
                  std::move(compiled->formats)};
}

Result<Compiled> api::compile(const std::string &path,
                              const CompileOptions &options) {
  return detail::guarded([&]() -> Result<Compiled> {
    pipelines::CompileRequest request;
    request.model = path;
    return compileRequest(std::move(request), options);
  });
}

Result<Compiled> api::compile(std::span<const uint8_t> model,
                              const std::string &name,
                              const CompileOptions &options) {
  return detail::guarded([&]() -> Result<Compiled> {
    pipelines::CompileRequest request;
    request.model = name;
    request.image = detail::makeBuffer({model.begin(), model.end()}, name);
    return compileRequest(std::move(request), options);
  });
}
