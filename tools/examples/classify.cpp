// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// classify-cpp MODEL.onnx: compiles, runs, saves the program and loads it
// again.

#include <ashlar/Api/Compiler.h>

#include <cstdio>

using namespace ashlar::api;

static int fail(const Error &error) {
  std::fprintf(stderr, "classify-cpp: %s error: %s\n", errorName(error.code),
               error.message.c_str());
  return static_cast<int>(error.code);
}

int main(int argc, char **argv) {
  CompileOptions options;
  options.options = {{"machine", "a1-tiny"}, {"format", "bfp8"}};
  Result<Compiled> compiled = compile(argc > 1 ? argv[1] : "", options);
  if (!compiled)
    return fail(compiled.error());
  Program &program = compiled->program;

  // One array for each input, in the shape of the program.
  std::vector<std::vector<float>> values;
  std::vector<ArrayView> inputs;
  for (const TensorInfo &input : program.inputs()) {
    size_t count = 1;
    for (int64_t extent : input.shape)
      count *= static_cast<size_t>(extent);
    values.emplace_back(count, 0.5f);
    inputs.push_back({input.name, ElementType::F32, input.shape,
                      values.back().data(), count * sizeof(float)});
  }
  Result<RunResult> result = program.run(inputs);
  if (!result)
    return fail(result.error());
  for (const Array &output : result->outputs())
    std::printf("%s: %zu bytes of %s\n", output.name.c_str(),
                output.data.size(), typeName(output.type));
  std::printf("%llu cycles on %s\n",
              static_cast<unsigned long long>(result->cycles()),
              program.machineName().c_str());

  if (Status saved = program.save("classify.ash"); !saved)
    return fail(saved.error());
  Result<Program> again = Program::load("classify.ash");
  if (!again)
    return fail(again.error());
  Result<RunResult> repeated = again->run(inputs);
  if (!repeated)
    return fail(repeated.error());
  return repeated->outputs()[0].data == result->outputs()[0].data ? 0 : 1;
}
