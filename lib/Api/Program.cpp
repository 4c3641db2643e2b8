// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of the library: the container, the emulator and the reports of
// ashlar-run behind one object.

#include "ashlar/Api/Program.h"

#include "Convert.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Energy/Table.h"
#include "ashlar/Report/Execution.h"
#include "ashlar/Report/NonFinite.h"
#include "ashlar/Report/Report.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Version.h"

#include <chrono>
#include <fmt/format.h>
#include <mutex>
#include <thread>

using namespace ashlar;
using namespace ashlar::api;
using detail::guarded;
using detail::toApi;

//===- Names --------------------------------------------------------------===//

const char *api::version() { return support::versionString().data(); }

const char *api::errorName(ErrorCode code) {
  return support::errorClassName(static_cast<ErrorClass>(code)).data();
}

static bool isKnown(api::ElementType type) {
  return static_cast<unsigned>(type) < support::numElementTypes;
}

unsigned api::byteSize(api::ElementType type) {
  return isKnown(type)
             ? support::byteSize(static_cast<support::ElementType>(type))
             : 0;
}

const char *api::typeName(api::ElementType type) {
  return isKnown(type)
             ? support::name(static_cast<support::ElementType>(type)).data()
             : "unknown";
}

//===- Results ------------------------------------------------------------===//

struct RunResult::Impl {
  std::vector<Array> outputs;
  std::vector<std::string> warnings;
  report::RunStatistics statistics;
};

RunResult::RunResult(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
RunResult::RunResult(RunResult &&) noexcept = default;
RunResult &RunResult::operator=(RunResult &&) noexcept = default;
RunResult::~RunResult() = default;

const std::vector<Array> &RunResult::outputs() const { return impl->outputs; }
std::vector<Array> RunResult::takeOutputs() { return std::move(impl->outputs); }
uint64_t RunResult::samples() const { return impl->statistics.samples; }
uint64_t RunResult::cycles() const { return impl->statistics.totalCycles; }
const std::vector<std::string> &RunResult::warnings() const {
  return impl->warnings;
}

Result<std::string> RunResult::report() const {
  return guarded([&]() -> Result<std::string> {
    llvm::Expected<std::string> json = report::toJson(impl->statistics);
    if (!json)
      return toApi(json.takeError());
    return std::move(*json);
  });
}

Result<std::string> RunResult::html() const {
  return guarded([&]() -> Result<std::string> {
    llvm::Expected<std::string> page = report::toHtml(impl->statistics);
    if (!page)
      return toApi(page.takeError());
    return std::move(*page);
  });
}

//===- Programs -----------------------------------------------------------===//

struct Program::Impl {
  std::shared_ptr<llvm::MemoryBuffer> image;
  LoadOptions options;
  std::string name;        ///< Of the file, for messages.
  std::string compiledFor; ///< Machine of the program, if another one runs it.
  std::string model, machine;
  std::vector<TensorInfo> inputs, outputs;
  /// One of the two: before and after the loader's proof.
  std::optional<container::Program> parsed;
  std::optional<emulator::LoadedProgram> loaded;
  double loadSeconds = 0;
  report::RunState state; ///< Before the next run.
  std::mutex running;

  llvm::Error parse();
  llvm::Error prepare();
  const container::Program &program() const {
    return loaded ? loaded->program() : *parsed;
  }
  llvm::Expected<std::unique_ptr<RunResult::Impl>>
  run(std::span<const ArrayView> arrays, const RunOptions &how);
};

static std::vector<TensorInfo>
describeBindings(llvm::ArrayRef<container::TensorBinding> bindings) {
  std::vector<TensorInfo> tensors;
  for (const container::TensorBinding &binding : bindings)
    tensors.push_back({binding.name,
                       static_cast<api::ElementType>(binding.type),
                       binding.shape});
  return tensors;
}

llvm::Error Program::Impl::parse() {
  llvm::Expected<container::Program> read = container::parse(image, name);
  if (!read)
    return read.takeError();
  parsed = std::move(*read);
  if (!options.machine.empty()) {
    auto before = report::changeMachine(*parsed, options.machine);
    if (!before)
      return before.takeError();
    compiledFor = std::move(*before);
  }
  model = parsed->modelName;
  machine = parsed->machine.name;
  inputs = describeBindings(parsed->inputs);
  outputs = describeBindings(parsed->outputs);
  state = report::RunState::initialOf(*parsed);
  return options.prepare ? prepare() : llvm::Error::success();
}

llvm::Error Program::Impl::prepare() {
  if (loaded)
    return llvm::Error::success();
  const auto start = std::chrono::steady_clock::now();
  emulator::Options how;
  how.maxMemory = options.maxMemory;
  // A copy shares the constants. It stays in place should this one fail.
  llvm::Expected<emulator::LoadedProgram> result = emulator::load(*parsed, how);
  if (!result)
    return withContext(result.takeError(), name);
  loaded.emplace(std::move(*result));
  parsed.reset();
  loadSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return llvm::Error::success();
}

static std::vector<Array> toArrays(std::vector<support::NamedTensor> tensors) {
  std::vector<Array> arrays;
  for (support::NamedTensor &entry : tensors)
    arrays.push_back({std::move(entry.name),
                      static_cast<api::ElementType>(entry.tensor.type),
                      {entry.tensor.shape.begin(), entry.tensor.shape.end()},
                      std::move(entry.tensor.data)});
  return arrays;
}

llvm::Expected<std::unique_ptr<RunResult::Impl>>
Program::Impl::run(std::span<const ArrayView> arrays, const RunOptions &how) {
  auto copied = detail::copyArrays(arrays);
  if (!copied)
    return copied.takeError();
  auto set = report::bindInputs(program(), std::move(*copied));
  if (!set)
    return set.takeError();
  auto prices = energy::loadTable(how.energyTable.empty()
                                      ? llvm::StringRef(energy::defaultTable)
                                      : llvm::StringRef(how.energyTable));
  if (!prices)
    return prices.takeError();
  if (llvm::Error error = prepare())
    return error;
  emulator::Options run;
  run.threads = how.threads ? how.threads
                            : std::max(1u, std::thread::hardware_concurrency());
  run.kernels = how.kernels;
  run.timing = how.timing;
  run.recordTimes = how.timing && how.timeline;
  auto execution =
      report::executeSamples(*loaded, *set, run, state, [](uint64_t) {});
  if (!execution)
    return withContext(execution.takeError(), name);
  state = std::move(execution->state);
  auto result = std::make_unique<RunResult::Impl>();
  for (auto [binding, tensor] : llvm::zip(program().inputs, set->tensors))
    if (std::string text = report::describeNonFinite(tensor); !text.empty())
      result->warnings.push_back(
          fmt::format("input '{}': {}", binding.name, text));
  for (std::string &text : execution->warnings)
    result->warnings.push_back(std::move(text));
  result->outputs = toArrays(std::move(execution->outputs));
  result->statistics = std::move(execution->statistics);
  result->statistics.energyTable = std::move(*prices);
  result->statistics.loadSeconds = loadSeconds;
  result->statistics.compiledFor = compiledFor;
  return result;
}

Program::Program(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Program::Program(Program &&) noexcept = default;
Program &Program::operator=(Program &&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::load(const std::string &path,
                              const LoadOptions &options) {
  return guarded([&]() -> Result<Program> {
    auto file = support::readFile(path);
    if (!file)
      return toApi(file.takeError());
    auto impl = std::make_unique<Impl>();
    impl->image = std::move(*file);
    impl->options = options;
    impl->name = path;
    if (llvm::Error error = impl->parse())
      return toApi(std::move(error));
    return Program(std::move(impl));
  });
}

Result<Program> Program::fromBytes(std::vector<uint8_t> bytes,
                                   const LoadOptions &options,
                                   const std::string &name) {
  return guarded([&]() -> Result<Program> {
    auto impl = std::make_unique<Impl>();
    impl->image = detail::makeBuffer(std::move(bytes), name);
    impl->options = options;
    impl->name = name;
    if (llvm::Error error = impl->parse())
      return toApi(std::move(error));
    return Program(std::move(impl));
  });
}

Status Program::save(const std::string &path) const {
  return guarded([&]() -> Status {
    if (llvm::Error error =
            support::writeFileAtomically(path, support::contents(*impl->image)))
      return toApi(std::move(error));
    return std::monostate();
  });
}

std::span<const uint8_t> Program::bytes() const {
  llvm::ArrayRef<uint8_t> image = support::contents(*impl->image);
  return {image.data(), image.size()};
}

const std::vector<TensorInfo> &Program::inputs() const { return impl->inputs; }
const std::vector<TensorInfo> &Program::outputs() const {
  return impl->outputs;
}
const std::string &Program::modelName() const { return impl->model; }
const std::string &Program::machineName() const { return impl->machine; }

static void addDescriptors(llvm::ArrayRef<container::TensorBinding> bindings,
                           Descriptor::Direction direction,
                           std::vector<Descriptor> &to) {
  for (const container::TensorBinding &binding : bindings)
    to.push_back({direction, binding.name, binding.dramOffset,
                  support::countElements(binding.shape).value_or(0) *
                      support::byteSize(binding.type)});
}

std::vector<Descriptor> Program::descriptors() const {
  std::vector<Descriptor> all;
  addDescriptors(impl->program().inputs, Descriptor::Direction::ToDevice, all);
  addDescriptors(impl->program().outputs, Descriptor::Direction::FromDevice,
                 all);
  return all;
}

uint64_t Program::dramBytes() const { return impl->program().dramBytes; }

bool Program::carriesState() const {
  return !report::RunState::initialOf(impl->program()).empty();
}

Result<Program> Program::clone() const {
  return guarded([&]() -> Result<Program> {
    auto copy = std::make_unique<Impl>();
    copy->image = impl->image;
    copy->options = impl->options;
    copy->name = impl->name;
    if (llvm::Error error = copy->parse())
      return toApi(std::move(error));
    return Program(std::move(copy));
  });
}

Result<RunResult> Program::run(std::span<const ArrayView> inputs,
                               const RunOptions &options) {
  return guarded([&]() -> Result<RunResult> {
    std::lock_guard<std::mutex> lock(impl->running);
    auto result = impl->run(inputs, options);
    if (!result)
      return toApi(result.takeError());
    return RunResult(std::move(*result));
  });
}

void Program::resetState() {
  std::lock_guard<std::mutex> lock(impl->running);
  impl->state = report::RunState::initialOf(impl->program());
}
