// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One trial: a clean folder, seeded inputs, the commands, and a verdict.

#include "Trial.h"

#include "ashlar/Container/Container.h"
#include "ashlar/Report/Comparison.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Npz.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::reduce;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

void replaceAll(std::string &text, StringRef from, StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
}

Error writeInputs(const std::string &path,
                  const std::vector<frontend::ShrinkInput> &inputs,
                  uint64_t seed) {
  std::vector<support::NamedTensor> arrays;
  for (const frontend::ShrinkInput &input : inputs) {
    container::TensorBinding binding{input.name, input.type, input.shape, 0};
    arrays.push_back({input.name, report::randomInput(binding, seed)});
  }
  return support::writeNpz(path, arrays);
}

/// Text of a file; empty if there is none.
std::string textOf(const std::string &path) {
  auto buffer = support::readFile(path);
  if (buffer)
    return (*buffer)->getBuffer().str();
  llvm::consumeError(buffer.takeError());
  return "";
}

} // namespace

Trial::Trial(const TrialOptions &options, Scratch &scratch)
    : options(options), scratch(scratch), folder(scratch.folder()) {}

Expected<support::ProcessEnd> Trial::runOne(const std::string &command,
                                            const std::string &path,
                                            const std::string &part) {
  const std::string own = folder + "/" + part;
  if (llvm::sys::fs::remove_directories(own) ||
      llvm::sys::fs::create_directory(own))
    return makeError(ErrorClass::Usage, "cannot make the folder '{}'", own);
  std::string text = command;
  replaceAll(text, "{model}", path);
  replaceAll(text, "{inputs}", folder + "/inputs.npz");
  replaceAll(text, "{outputs}", own + "/outputs.npz");
  replaceAll(text, "{dir}", own);
  return support::runShell(text, folder + "/" + part + ".out",
                           folder + "/" + part + ".err", options.timeout,
                           [&](pid_t group) { scratch.setCommand(group); });
}

/// How the outputs of the two commands differ; empty if they agree.
std::string Trial::difference() const {
  auto found = support::readNpz(folder + "/test/outputs.npz");
  auto right = support::readNpz(folder + "/reference/outputs.npz");
  if (!found || !right) {
    // A command that says it succeeded and wrote nothing is not a mismatch of
    // numbers: that would lead the search astray.
    llvm::consumeError(found ? Error::success() : found.takeError());
    llvm::consumeError(right ? Error::success() : right.takeError());
    return "";
  }
  for (support::NamedTensor &array : *right) {
    auto same =
        std::find_if(found->begin(), found->end(), [&](const auto &other) {
          return other.name == array.name;
        });
    if (same == found->end())
      continue;
    // One of the two may have stored bfloat16 as numpy does.
    if (support::isStoredAs(same->tensor.type, array.tensor.type))
      same->tensor.type = array.tensor.type;
    auto comparison =
        report::compare(same->tensor, array.tensor, options.atol, options.rtol);
    if (!comparison)
      return array.name + ": " + llvm::toString(comparison.takeError());
    if (!comparison->passed())
      return array.name + ": " +
             report::describe(*comparison, array.tensor.shape);
  }
  return "";
}

Expected<Trial::Outcome>
Trial::tryCommands(const std::string &path,
                   const std::vector<frontend::ShrinkInput> &inputs) {
  Outcome outcome;
  if (StringRef(options.test + options.reference).contains("{inputs}"))
    if (Error error = writeInputs(folder + "/inputs.npz", inputs, options.seed))
      return error;
  auto end = runOne(options.test, path, "test");
  if (!end)
    return end.takeError();
  outcome.end = *end;
  const std::string text = textOf(folder + "/test.err");
  outcome.firstLine = StringRef(text).split('\n').first.str();
  outcome.message = StringRef(text).contains(options.message);
  if (options.reference.empty() || !outcome.end.succeeded())
    return outcome;
  auto reference = runOne(options.reference, path, "reference");
  if (!reference)
    return reference.takeError();
  if (reference->succeeded())
    outcome.difference = difference();
  else
    outcome.firstLine =
        "the reference command ends with " + support::describe(*reference) +
        ": " +
        StringRef(textOf(folder + "/reference.err")).split('\n').first.str();
  outcome.differs = !outcome.difference.empty();
  return outcome;
}

Error Trial::establish(const std::string &path,
                       const std::vector<frontend::ShrinkInput> &inputs) {
  auto outcome = tryCommands(path, inputs);
  if (!outcome)
    return outcome.takeError();
  auto refuse = [&](const std::string &why) {
    return makeError(ErrorClass::Usage, "{} does not show the failure: {}{}{}",
                     path, why, outcome->firstLine.empty() ? "" : ": ",
                     outcome->firstLine);
  };
  const std::string ended =
      "the command ends with " + support::describe(outcome->end);
  if (!options.reference.empty()) {
    if (!outcome->end.succeeded())
      return refuse(ended);
    if (!outcome->differs)
      return refuse("the outputs agree");
    return Error::success();
  }
  if (options.exit &&
      (outcome->end.timedOut || outcome->end.code != *options.exit))
    return refuse(ended);
  if (!options.exit && options.message.empty() && outcome->end.succeeded())
    return refuse(ended);
  if (!outcome->message)
    return refuse("standard error does not hold '" + options.message + "'");
  expected = outcome->end;
  return Error::success();
}

Expected<bool> Trial::shows(const frontend::ShrinkCandidate &candidate) {
  auto outcome = tryCommands(candidate.path, candidate.inputs);
  if (!outcome)
    return outcome.takeError();
  if (!options.reference.empty())
    return outcome->differs;
  return outcome->end == expected && outcome->message;
}

std::string Trial::failure() const {
  if (!options.reference.empty())
    return "outputs differ from the reference";
  std::string text = support::describe(expected);
  if (!options.message.empty())
    text += " with the message '" + options.message + "'";
  return text;
}
