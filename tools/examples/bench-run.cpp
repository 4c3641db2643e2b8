// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bench-run PROGRAM.ash RUNS: processor seconds of each run on zeros, one per
// line, without the first, which allocates (tools/scripts/bench_python.py).

#include <ashlar/Api/Program.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace ashlar::api;

int main(int argc, char **argv) {
  Result<Program> program = Program::load(argc > 1 ? argv[1] : "");
  if (!program) {
    std::fprintf(stderr, "bench-run: %s\n", program.error().message.c_str());
    return static_cast<int>(program.error().code);
  }
  std::vector<std::vector<char>> zeros;
  std::vector<ArrayView> inputs;
  for (const TensorInfo &input : program->inputs()) {
    size_t bytes = byteSize(input.type);
    for (int64_t extent : input.shape)
      bytes *= static_cast<size_t>(extent);
    zeros.emplace_back(bytes);
    inputs.push_back(
        {input.name, input.type, input.shape, zeros.back().data(), bytes});
  }
  RunOptions options;
  options.threads = 1;
  options.timing = false;
  for (int i = 0, runs = argc > 2 ? std::atoi(argv[2]) : 5; i <= runs; ++i) {
    const std::clock_t start = std::clock();
    if (!program->run(inputs, options))
      return 1;
    const auto ticks = static_cast<double>(std::clock() - start);
    if (i > 0)
      std::printf("%.9f\n", ticks / CLOCKS_PER_SEC);
  }
  return 0;
}
