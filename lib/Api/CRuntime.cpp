// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface to programs.

#include "CHandles.h"
#include "COptions.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::detail;

int ashlar_api_version(void) { return ASHLAR_API_VERSION; }
const char *ashlar_version(void) { return api::version(); }

size_t ashlar_type_size(ashlar_type type) {
  return type < 0 || type > ASHLAR_F64
             ? 0
             : api::byteSize(static_cast<api::ElementType>(type));
}

//===- Errors and options -------------------------------------------------===//

ashlar_code ashlar_error_code(const ashlar_error *error) {
  return error ? static_cast<ashlar_code>(error->value.code) : ASHLAR_OK;
}

const char *ashlar_error_message(const ashlar_error *error) {
  return error ? error->value.message.c_str() : "";
}

void ashlar_error_destroy(ashlar_error *error) { delete error; }

ashlar_options *ashlar_options_create(void) {
  return new (std::nothrow) ashlar_options;
}

ashlar_code ashlar_options_set(ashlar_options *options, const char *name,
                               const char *value, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!options || !name || !value)
      return failNull(error, !options ? "options" : !name ? "name" : "value");
    options->values.emplace_back(name, value);
    return ASHLAR_OK;
  });
}

void ashlar_options_destroy(ashlar_options *options) { delete options; }

namespace {

/// Gives a new handle to the caller.
ashlar_code give(api::Result<api::Program> program, ashlar_program **out,
                 ashlar_error **error) {
  if (!program)
    return fail(error, program.error());
  *out = new ashlar_program{std::move(*program)};
  return ASHLAR_OK;
}

template <typename Tensors>
ashlar_code describe(const Tensors &tensors, size_t index, ashlar_array *out,
                     ashlar_error **error) {
  if (!out)
    return failNull(error, "out");
  if (index >= tensors.size())
    return fail(error,
                {api::ErrorCode::Usage,
                 "there is no tensor " + std::to_string(index) +
                     ", expected less than " + std::to_string(tensors.size())});
  const auto &tensor = tensors[index];
  *out = {};
  out->name = tensor.name.c_str();
  out->type = static_cast<ashlar_type>(tensor.type);
  out->rank = static_cast<int32_t>(tensor.shape.size());
  out->shape = tensor.shape.data();
  out->bytes = api::byteSize(tensor.type);
  for (int64_t extent : tensor.shape)
    out->bytes *= static_cast<size_t>(extent);
  return ASHLAR_OK;
}

} // namespace

//===- Programs -----------------------------------------------------------===//

ashlar_code ashlar_program_load(const char *path, const ashlar_options *options,
                                ashlar_program **out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!path || !out)
      return failNull(error, !path ? "path" : "out");
    *out = nullptr;
    api::LoadOptions load;
    if (auto wrong = readLoad(options, load))
      return fail(error, *wrong);
    return give(api::Program::load(path, load), out, error);
  });
}

ashlar_code ashlar_program_from_bytes(const void *data, size_t bytes,
                                      const ashlar_options *options,
                                      ashlar_program **out,
                                      ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!data || !out)
      return failNull(error, !data ? "data" : "out");
    *out = nullptr;
    api::LoadOptions load;
    if (auto wrong = readLoad(options, load))
      return fail(error, *wrong);
    const auto *begin = static_cast<const uint8_t *>(data);
    return give(api::Program::fromBytes({begin, begin + bytes}, load), out,
                error);
  });
}

ashlar_code ashlar_program_save(const ashlar_program *program, const char *path,
                                ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!program || !path)
      return failNull(error, !program ? "program" : "path");
    auto saved = program->value.save(path);
    return saved ? ASHLAR_OK : fail(error, saved.error());
  });
}

const void *ashlar_program_bytes(const ashlar_program *program, size_t *bytes) {
  if (bytes)
    *bytes = program ? program->value.bytes().size() : 0;
  return program ? program->value.bytes().data() : nullptr;
}

void ashlar_program_destroy(ashlar_program *program) { delete program; }

size_t ashlar_program_num_inputs(const ashlar_program *program) {
  return program ? program->value.inputs().size() : 0;
}

size_t ashlar_program_num_outputs(const ashlar_program *program) {
  return program ? program->value.outputs().size() : 0;
}

ashlar_code ashlar_program_input(const ashlar_program *program, size_t index,
                                 ashlar_array *out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!program)
      return failNull(error, "program");
    return describe(program->value.inputs(), index, out, error);
  });
}

ashlar_code ashlar_program_output(const ashlar_program *program, size_t index,
                                  ashlar_array *out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!program)
      return failNull(error, "program");
    return describe(program->value.outputs(), index, out, error);
  });
}

const char *ashlar_program_model(const ashlar_program *program) {
  return program ? program->value.modelName().c_str() : "";
}

const char *ashlar_program_machine(const ashlar_program *program) {
  return program ? program->value.machineName().c_str() : "";
}

ashlar_code ashlar_program_run(ashlar_program *program,
                               const ashlar_array *inputs, size_t num_inputs,
                               const ashlar_options *options,
                               ashlar_result **out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!program || !out)
      return failNull(error, !program ? "program" : "out");
    *out = nullptr;
    api::RunOptions run;
    if (auto wrong = readRun(options, run))
      return fail(error, *wrong);
    auto views = viewArrays(inputs, num_inputs, "inputs");
    if (!views)
      return fail(error, views.error());
    auto result = program->value.run(*views, run);
    if (!result)
      return fail(error, result.error());
    *out = new ashlar_result{std::move(*result), std::nullopt};
    return ASHLAR_OK;
  });
}

void ashlar_program_reset_state(ashlar_program *program) {
  if (program)
    program->value.resetState();
}

//===- Results ------------------------------------------------------------===//

size_t ashlar_result_num_outputs(const ashlar_result *result) {
  return result ? result->value.outputs().size() : 0;
}

ashlar_code ashlar_result_output(const ashlar_result *result, size_t index,
                                 ashlar_array *out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!result)
      return failNull(error, "result");
    const ashlar_code code =
        describe(result->value.outputs(), index, out, error);
    if (code == ASHLAR_OK)
      out->data = result->value.outputs()[index].data.data();
    return code;
  });
}

uint64_t ashlar_result_cycles(const ashlar_result *result) {
  return result ? result->value.cycles() : 0;
}

size_t ashlar_result_num_warnings(const ashlar_result *result) {
  return result ? result->value.warnings().size() : 0;
}

const char *ashlar_result_warning(const ashlar_result *result, size_t index) {
  if (index >= ashlar_result_num_warnings(result))
    return nullptr;
  return result->value.warnings()[index].c_str();
}

ashlar_code ashlar_result_report(ashlar_result *result, const char **json,
                                 ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!result || !json)
      return failNull(error, !result ? "result" : "json");
    *json = nullptr;
    if (!result->report) {
      auto text = result->value.report();
      if (!text)
        return fail(error, text.error());
      result->report = std::move(*text);
    }
    *json = result->report->c_str();
    return ASHLAR_OK;
  });
}

void ashlar_result_destroy(ashlar_result *result) { delete result; }
