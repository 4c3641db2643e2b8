// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface to the compiler.

#include "CHandles.h"

#include "ashlar/Api/C/Compiler.h"
#include "ashlar/Api/Compiler.h"

using namespace ashlar;
using namespace ashlar::detail;

struct ashlar_compiled {
  ashlar_program *program; ///< Null if it was taken.
  std::string report, formats;
};

/// The options and arrays of a C caller.
static api::Result<api::CompileOptions>
readModel(const ashlar_model &model, const ashlar_options *options) {
  api::CompileOptions compile;
  if (options)
    compile.options = options->values;
  auto calibration =
      viewArrays(model.calibration, model.num_calibration, "calibration");
  if (!calibration)
    return calibration.error();
  compile.calibration = std::move(*calibration);
  auto constants =
      viewArrays(model.constants, model.num_constants, "constants");
  if (!constants)
    return constants.error();
  compile.constants = std::move(*constants);
  return compile;
}

ashlar_code ashlar_compile(const ashlar_model *model,
                           const ashlar_options *options, ashlar_compiled **out,
                           ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!model || !out)
      return failNull(error, !model ? "model" : "out");
    *out = nullptr;
    if (model->size < sizeof(ashlar_model))
      return fail(error,
                  {api::ErrorCode::Usage,
                   "size of the model is " + std::to_string(model->size) +
                       ", expected sizeof(ashlar_model)"});
    if (!model->path && !model->data)
      return failNull(error, "path (and data)");
    auto compile = readModel(*model, options);
    if (!compile)
      return fail(error, compile.error());
    const auto *data = static_cast<const uint8_t *>(model->data);
    const std::string name = model->path ? model->path : "model";
    auto compiled = data ? api::compile({data, model->bytes}, name, *compile)
                         : api::compile(name, *compile);
    if (!compiled)
      return fail(error, compiled.error());
    auto program = std::make_unique<ashlar_program>(
        ashlar_program{std::move(compiled->program)});
    *out = new ashlar_compiled{program.get(), std::move(compiled->report),
                               std::move(compiled->formats)};
    program.release();
    return ASHLAR_OK;
  });
}

ashlar_program *ashlar_compiled_take_program(ashlar_compiled *compiled) {
  return compiled ? std::exchange(compiled->program, nullptr) : nullptr;
}

const char *ashlar_compiled_report(const ashlar_compiled *compiled) {
  return compiled ? compiled->report.c_str() : "";
}

const char *ashlar_compiled_formats(const ashlar_compiled *compiled) {
  return compiled ? compiled->formats.c_str() : "";
}

void ashlar_compiled_destroy(ashlar_compiled *compiled) {
  if (compiled)
    delete compiled->program;
  delete compiled;
}
