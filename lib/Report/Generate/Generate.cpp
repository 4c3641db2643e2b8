// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A prompt through the programs of a language model, and tokens out of it.

#include "Generate.h"

#include "LanguageModel.h"
#include "Sampler.h"
#include "Tokenizer.h"
#include "ashlar/Container/Bundle.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npz.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <thread>

using namespace ashlar;
using namespace ashlar::report;

namespace {

class Generation {
public:
  explicit Generation(const RunOptions &options)
      : options(options),
        sampler(options.generate.temperature, options.generate.topK,
                options.generate.seed) {}

  llvm::Error run();

private:
  llvm::Error load();
  llvm::Error addPrograms(const std::string &path);
  llvm::Error readPrompt();
  llvm::Error readNumbers();
  llvm::Error checkTokens(size_t vocabulary) const;
  llvm::Error prefill();
  llvm::Error decode();
  llvm::Error step(llvm::ArrayRef<int64_t> part);
  /// The program that takes the most of \p count tokens at once: the smallest
  /// that takes all, else the largest; null if the cache has no room for any.
  LanguageModel *choose(int64_t count);
  llvm::Error checkSame(const container::Program &program) const;
  llvm::Error write();
  void print() const;
  std::string text() const;
  double seconds(uint64_t cycles) const;
  std::string toJson() const;

  const RunOptions &options;
  std::optional<Tokenizer> tokenizer;
  std::vector<LanguageModel> models; ///< By the tokens that a run takes.
  std::vector<int64_t> prompt, generated;
  RunState state;
  Sampler sampler;
  std::vector<double> logits; ///< After the last token.
  emulator::Options how;
  StepCost total, first; ///< Of all runs; of those before the first token.
  uint64_t prefillRuns = 0, decodeRuns = 0;
};

} // namespace

/// Programs of one model continue with each other's caches.
llvm::Error Generation::checkSame(const container::Program &program) const {
  const container::Cache &mine = models.front().program().cache;
  const container::Cache &other = program.cache;
  if (mine.model != other.model)
    return makeError(ErrorClass::Malformed, "{}",
                     "is a program of another model than the first one");
  bool same = mine.tensors.size() == other.tensors.size();
  for (size_t i = 0; same && i < mine.tensors.size(); ++i)
    same = mine.tensors[i].name == other.tensors[i].name &&
           mine.tensors[i].type == other.tensors[i].type &&
           mine.tensors[i].shape == other.tensors[i].shape;
  if (same)
    return llvm::Error::success();
  return makeError(ErrorClass::Malformed,
                   "keeps other tensors than the first program, whose cache "
                   "has room for {} rows; compile both with the same "
                   "--input-shape of the cache",
                   models.front().room());
}

llvm::Error Generation::addPrograms(const std::string &path) {
  auto programs = container::readAll(path);
  if (!programs)
    return programs.takeError();
  for (container::Program &program : *programs) {
    llvm::Expected<LanguageModel> model =
        LanguageModel::load(std::move(program), path, how);
    if (!model)
      return model.takeError();
    if (!models.empty())
      if (llvm::Error error = checkSame(model->program()))
        return withContext(std::move(error), path);
    models.push_back(std::move(*model));
  }
  return llvm::Error::success();
}

llvm::Error Generation::load() {
  how.threads = options.threads
                    ? options.threads
                    : std::max(1u, std::thread::hardware_concurrency());
  how.timing = !options.functional;
  how.maxMemory = options.maxMemory;
  how.kernels = options.kernels;
  if (llvm::Error error = addPrograms(options.program))
    return error;
  for (const std::string &path : options.generate.programs)
    if (llvm::Error error = addPrograms(path))
      return error;
  state = RunState::initialOf(models.front().program());
  if (!options.stateIn.empty()) {
    auto given = readState(models.front().program(), options.stateIn);
    if (!given)
      return given.takeError();
    state = std::move(*given);
  }
  // By length; those of one length in the order of the file.
  std::multimap<int64_t, LanguageModel> sorted;
  for (LanguageModel &model : models)
    sorted.emplace(model.length(), std::move(model));
  models.clear();
  for (auto &entry : sorted)
    models.push_back(std::move(entry.second));
  return llvm::Error::success();
}

llvm::Error Generation::readNumbers() {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(options.generate.tokens).split(parts, ',');
  for (llvm::StringRef part : parts) {
    int64_t token = 0;
    if (part.trim().getAsInteger(10, token))
      return makeError(ErrorClass::Usage,
                       "--tokens has '{}', expected numbers with commas",
                       part.str());
    prompt.push_back(token);
  }
  return llvm::Error::success();
}

llvm::Error Generation::readPrompt() {
  const GenerateOptions &wanted = options.generate;
  if (wanted.hasPrompt == !wanted.tokens.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--generate needs either --prompt=TEXT or --tokens=1,2,3");
  if (wanted.hasPrompt && wanted.tokenizer.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--prompt needs --tokenizer=FILE.json, or give --tokens");
  if (!wanted.tokenizer.empty()) {
    auto read = Tokenizer::read(wanted.tokenizer);
    if (!read)
      return read.takeError();
    tokenizer = std::move(*read);
  }
  if (!wanted.hasPrompt)
    return readNumbers();
  auto encoded = tokenizer->encode(wanted.prompt);
  if (!encoded)
    return withContext(encoded.takeError(), "--prompt");
  prompt = std::move(*encoded);
  if (prompt.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "the prompt is empty: a model continues from one token or "
                     "more");
  return llvm::Error::success();
}

/// The vocabulary of the model is as wide as its logits.
llvm::Error Generation::checkTokens(size_t vocabulary) const {
  for (int64_t token : prompt)
    if (token < 0 || token >= static_cast<int64_t>(vocabulary))
      return makeError(ErrorClass::Malformed,
                       "token {} of the prompt is outside the vocabulary of "
                       "the model, 0 to {}",
                       token, vocabulary - 1);
  return llvm::Error::success();
}

LanguageModel *Generation::choose(int64_t count) {
  LanguageModel *best = nullptr;
  for (LanguageModel &model : models) {
    if (state.filled + model.length() > model.room())
      continue;
    best = &model;
    if (model.length() >= count)
      break;
  }
  return best;
}

/// Runs as much of \p part as a program takes at once.
llvm::Error Generation::step(llvm::ArrayRef<int64_t> part) {
  while (!part.empty()) {
    LanguageModel *model = choose(static_cast<int64_t>(part.size()));
    if (!model)
      return makeError(ErrorClass::Capacity,
                       "the cache has room for {} rows, {} of them filled; "
                       "compile with more, as with "
                       "--input-shape=past_sequence_length={}",
                       models.front().room(), state.filled,
                       2 * models.front().room());
    const auto count = static_cast<size_t>(
        std::min<int64_t>(model->length(), static_cast<int64_t>(part.size())));
    auto row = model->run(part.take_front(count), state, how);
    if (!row)
      return row.takeError();
    logits = std::move(*row);
    if (model->cost()) {
      total.cycles += model->cost()->cycles;
      total.dramRead += model->cost()->dramRead;
      total.dramWrite += model->cost()->dramWrite;
    }
    ++(generated.empty() ? prefillRuns : decodeRuns);
    part = part.drop_front(count);
  }
  return llvm::Error::success();
}

llvm::Error Generation::prefill() {
  const auto &binding = models.front().program().outputs;
  size_t vocabulary = 0;
  for (const container::TensorBinding &output : binding)
    if (output.name == "logits" || binding.size() == 1)
      vocabulary = static_cast<size_t>(output.shape.back());
  if (llvm::Error error = checkTokens(vocabulary))
    return error;
  if (llvm::Error error = step(prompt))
    return error;
  first = total;
  return llvm::Error::success();
}

llvm::Error Generation::decode() {
  for (uint64_t i = 0; i < options.generate.count; ++i) {
    const int64_t token = sampler.next(logits);
    generated.push_back(token);
    if (i + 1 == options.generate.count)
      break;
    if (llvm::Error error = step(token))
      return error;
  }
  return llvm::Error::success();
}

std::string Generation::text() const {
  std::string text;
  for (int64_t token : generated) {
    if (tokenizer)
      text += tokenizer->decode(token).value_or(fmt::format("<{}>", token));
    else
      text += fmt::format("{}{}", text.empty() ? "" : ",", token);
  }
  return text;
}

double Generation::seconds(uint64_t cycles) const {
  return static_cast<double>(cycles) /
         static_cast<double>(models.front().program().machine.clockHz);
}

void Generation::print() const {
  support::printOut(
      (options.generate.hasPrompt ? options.generate.prompt : std::string()) +
      text() + "\n");
  if (options.quiet)
    return;
  support::printOut(fmt::format("prompt: {} tokens in {} runs\n", prompt.size(),
                                prefillRuns));
  if (options.functional)
    return;
  support::printOut(fmt::format("time to first token: {} cycles, {:.6f} s\n",
                                first.cycles, seconds(first.cycles)));
  if (decodeRuns == 0)
    return;
  const uint64_t cycles = (total.cycles - first.cycles) / decodeRuns;
  support::printOut(fmt::format(
      "decode: {} tokens, {} cycles each, {:.1f} tokens/s, {} bytes of DRAM "
      "read and {} written per token\n",
      decodeRuns, cycles, 1 / seconds(cycles),
      (total.dramRead - first.dramRead) / decodeRuns,
      (total.dramWrite - first.dramWrite) / decodeRuns));
}

std::string Generation::toJson() const {
  auto cost = [](const StepCost &c) {
    return llvm::json::Object{{"cycles", c.cycles},
                              {"dram_read_bytes", c.dramRead},
                              {"dram_write_bytes", c.dramWrite}};
  };
  StepCost rest = total;
  rest.cycles -= first.cycles;
  rest.dramRead -= first.dramRead;
  rest.dramWrite -= first.dramWrite;
  llvm::json::Object root{
      {"schema", "ashlar-generate-1"},
      {"machine", models.front().program().machine.name},
      {"clock_hz", models.front().program().machine.clockHz},
      {"cache_rows", models.front().room()},
      {"prompt", llvm::json::Array(prompt)},
      {"tokens", llvm::json::Array(generated)},
      {"prefill_runs", prefillRuns},
      {"decode_runs", decodeRuns}};
  if (!options.functional) {
    root["prefill"] = cost(first);
    root["decode"] = cost(rest);
  }
  std::string out;
  llvm::raw_string_ostream(out)
      << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root)));
  return out;
}

llvm::Error Generation::write() {
  if (!options.stateOut.empty())
    if (llvm::Error error =
            writeState(models.front().program(), state, options.stateOut))
      return error;
  if (!options.outputs.empty()) {
    support::NamedTensor tokens{
        "tokens",
        support::HostTensor::zeros(support::ElementType::I64,
                                   {static_cast<int64_t>(generated.size())})};
    std::memcpy(tokens.tensor.data.data(), generated.data(),
                generated.size() * sizeof(int64_t));
    if (llvm::Error error =
            support::writeNpz(options.outputs, {std::move(tokens)}))
      return error;
  }
  if (options.report.empty())
    return llvm::Error::success();
  return support::writeFileAtomically(options.report,
                                      llvm::StringRef(toJson()));
}

llvm::Error Generation::run() {
  if (llvm::Error error = readPrompt())
    return error;
  if (llvm::Error error = load())
    return error;
  if (llvm::Error error = prefill())
    return error;
  if (llvm::Error error = decode())
    return error;
  if (llvm::Error error = write())
    return error;
  print();
  return llvm::Error::success();
}

llvm::Error report::generate(const RunOptions &options) {
  return Generation(options).run();
}
