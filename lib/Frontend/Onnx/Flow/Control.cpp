// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If, Scan and SequenceMap: bodies in place of the node, as often as they run.

#include "Rounds.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

namespace {

Error checkOutputs(FlowNode &n, size_t found) {
  if (n.flat().outputs.size() <= found)
    return Error::success();
  return makeError(ErrorClass::Malformed,
                   "it has {} outputs, its graph gives {}",
                   n.flat().outputs.size(), found);
}

/// Result `i` of one of two branches: the elements of lists one by one.
Error chooseResult(FlowNode &n, size_t i, const std::string &condition,
                   const std::string &yes, const std::string &no) {
  const std::string what = fmt::format("result {}", i);
  if (!n.isList(yes) || !n.isList(no)) {
    Expected<std::string> chosen = choose(n, condition, yes, no, what);
    return chosen ? n.setAlias(i, *chosen) : chosen.takeError();
  }
  Expected<Names> left = n.list(yes), right = n.list(no);
  if (!left || !right)
    return joinErrors(left.takeError(), right.takeError());
  if (left->size() != right->size())
    return makeError(ErrorClass::Unsupported,
                     "the condition depends on run-time data, and {} is a "
                     "sequence of {} elements where it is true, of {} where it "
                     "is false",
                     what, left->size(), right->size());
  Names elements;
  for (size_t k = 0; k < left->size(); ++k) {
    Expected<std::string> chosen =
        choose(n, condition, (*left)[k], (*right)[k],
               fmt::format("element {} of {}", k, what));
    if (!chosen)
      return chosen.takeError();
    elements.push_back(*chosen);
  }
  n.setList(i, std::move(elements));
  return Error::success();
}

/// A branch that runs whatever the condition is. One that is never taken may
/// not fit the shapes of the inputs, so its errors say how to leave it out.
Expected<Expansion> expandBranch(FlowNode &n, llvm::StringRef attribute,
                                 llvm::StringRef place,
                                 const std::string &taken) {
  Expected<Expansion> branch = expandBody(n, attribute, place.str(), {}, taken);
  if (branch)
    return std::move(*branch);
  return withContext(branch.takeError(),
                     "both branches are compiled, because the condition is "
                     "known at run time alone; --constant=INPUT=FILE.npy for "
                     "the inputs it depends on leaves one");
}

/// A run-time condition: both branches run, and each result is chosen by
/// element.
Error chooseAtRunTime(FlowNode &n, const std::string &condition) {
  Expected<std::string> one = n.make("Squeeze", {condition});
  if (!one)
    return one.takeError();
  Expected<std::string> other = n.make("Not", {*one});
  if (!other)
    return other.takeError();
  Expected<Expansion> yes = expandBranch(n, "then_branch", "then", *one);
  if (!yes)
    return yes.takeError();
  Expected<Expansion> no = expandBranch(n, "else_branch", "else", *other);
  if (!no)
    return no.takeError();
  if (Error error =
          checkOutputs(n, std::min(yes->outputs.size(), no->outputs.size())))
    return error;
  for (size_t i = 0; i < n.flat().outputs.size(); ++i) {
    if (!n.hasOutput(i))
      continue;
    if (Error error = chooseResult(n, i, *one, yes->outputs[i], no->outputs[i]))
      return error;
  }
  return Error::success();
}

int64_t at(const std::vector<int64_t> &list, size_t i) {
  return i < list.size() ? list[i] : 0;
}

/// The extent that all scanned operands have along their axes, which go to
/// `along`.
Expected<int64_t> scanLength(FlowNode &n, const Names &sources,
                             const std::vector<int64_t> &axes,
                             std::vector<int64_t> &along) {
  int64_t length = -1;
  for (size_t i = 0; i < sources.size(); ++i) {
    Expected<OperandKind> kind = n.kind(sources[i]);
    if (!kind)
      return kind.takeError();
    const auto rank = static_cast<int64_t>(kind->shape.size());
    const int64_t given = at(axes, i), axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank)
      return makeError(ErrorClass::Malformed,
                       "scan axis {} is out of range for rank {}", given, rank);
    if (length >= 0 && length != kind->shape[axis])
      return makeError(ErrorClass::Malformed,
                       "scanned operands have {} and {} elements", length,
                       kind->shape[axis]);
    length = kind->shape[axis];
    along.push_back(axis);
  }
  return length;
}

/// How a scan goes along its operands and results.
struct ScanForm {
  std::vector<int64_t> axes, backwards, outBackwards;
};

/// The body for every element of `sources`; `place` tells scans of one node
/// apart.
Error scanOnce(FlowNode &n, const std::string &place, const ScanForm &form,
               const Names &sources, Rounds &rounds) {
  std::vector<int64_t> along;
  Expected<int64_t> length = scanLength(n, sources, form.axes, along);
  if (!length)
    return length.takeError();
  for (int64_t round = 0; round < *length; ++round) {
    Names operands = rounds.carried;
    for (size_t i = 0; i < sources.size(); ++i) {
      Expected<std::string> part = n.element(
          sources[i], at(form.backwards, i) ? *length - 1 - round : round,
          along[i]);
      if (!part)
        return part.takeError();
      operands.push_back(*part);
    }
    Expected<Expansion> body = expandBody(
        n, "body", place + "round" + std::to_string(round), operands);
    if (!body)
      return body.takeError();
    if (Error error = takeRound(rounds, *body, 0))
      return error;
  }
  for (size_t i = 0; i < rounds.collected.size(); ++i)
    if (at(form.outBackwards, i))
      std::reverse(rounds.collected[i].begin(), rounds.collected[i].end());
  return Error::success();
}

/// Operator set 8: every operand and result has a batch in front, each entry
/// of which is a scan of its own along the next dimension.
Error scanBatch(FlowNode &n, const Names &initial, const Names &sources) {
  if (n.hasInput(0))
    return makeError(ErrorClass::Unsupported,
                     "Scan of operator set 8 with lengths of sequences; leave "
                     "them out or export with operator set 9 or newer");
  Expected<OperandKind> kind = n.kind(sources.front());
  if (!kind)
    return kind.takeError();
  const int64_t batch = kind->shape.empty() ? 0 : kind->shape[0];
  const ScanForm form = {{}, n.getInts("directions"), {}};
  std::vector<Names> results(n.flat().outputs.size());
  for (int64_t b = 0; b < batch; ++b) {
    Rounds rounds;
    Names parts;
    for (const Names *names : {&initial, &sources})
      for (const std::string &name : *names) {
        Expected<std::string> part = n.element(name, b, 0);
        if (!part)
          return part.takeError();
        (names == &initial ? rounds.carried : parts).push_back(*part);
      }
    const std::string place = "entry" + std::to_string(b) + "/";
    if (Error error = scanOnce(n, place, form, parts, rounds))
      return error;
    for (Names &collected : rounds.collected) {
      Expected<std::string> whole = n.stack(collected, 0);
      if (!whole)
        return whole.takeError();
      rounds.carried.push_back(*whole);
    }
    if (Error error = checkOutputs(n, rounds.carried.size()))
      return error;
    for (size_t i = 0; i < results.size(); ++i)
      results[i].push_back(rounds.carried[i]);
  }
  Rounds whole;
  whole.collected = std::move(results);
  return setRounds(n, whole, {});
}

} // namespace

Error ashlar::frontend::runIf(FlowNode &n) {
  Expected<std::string> condition = n.input(0);
  if (!condition)
    return condition.takeError();
  Expected<OperandKind> kind = n.kind(*condition);
  if (!kind)
    return kind.takeError();
  Expected<int64_t> known = n.knownOne(*condition, "the condition");
  if (!known) {
    Error error = known.takeError();
    int64_t count = 1;
    for (int64_t extent : kind->shape)
      count *= extent;
    if (support::classify(error) != ErrorClass::Unsupported || count != 1)
      return error;
    llvm::consumeError(std::move(error));
    return chooseAtRunTime(n, *condition);
  }
  Expected<Expansion> branch = *known
                                   ? expandBody(n, "then_branch", "then", {})
                                   : expandBody(n, "else_branch", "else", {});
  if (!branch)
    return branch.takeError();
  if (Error error = checkOutputs(n, branch->outputs.size()))
    return error;
  for (size_t i = 0; i < n.flat().outputs.size(); ++i)
    if (Error error = n.setAlias(i, branch->outputs[i]))
      return error;
  return Error::success();
}

Error ashlar::frontend::runScan(FlowNode &n) {
  const bool batched = n.flat().opset < 9;
  const int64_t scanned = n.getInt("num_scan_inputs", 0),
                first = batched ? 1 : 0;
  const auto inputs = static_cast<int64_t>(n.flat().inputs.size());
  if (scanned < 1 || scanned > inputs - first)
    return makeError(ErrorClass::Malformed,
                     "num_scan_inputs is {}, of {} operands", scanned,
                     inputs - first);
  Rounds rounds;
  rounds.carried.assign(n.flat().inputs.begin() + first,
                        n.flat().inputs.end() - scanned);
  const Names sources(n.flat().inputs.end() - scanned, n.flat().inputs.end());
  if (batched)
    return scanBatch(n, rounds.carried, sources);
  const ScanForm form = {n.getInts("scan_input_axes"),
                         n.getInts("scan_input_directions"),
                         n.getInts("scan_output_directions")};
  if (Error error = scanOnce(n, "", form, sources, rounds))
    return error;
  return setRounds(n, rounds, n.getInts("scan_output_axes"));
}

Error ashlar::frontend::runSequenceMap(FlowNode &n) {
  Expected<std::string> first = n.input(0);
  if (!first)
    return first.takeError();
  Expected<Names> driver = n.list(*first);
  if (!driver)
    return driver.takeError();
  std::vector<Names> results(n.flat().outputs.size());
  for (size_t round = 0; round < driver->size(); ++round) {
    Names operands;
    for (const std::string &input : n.flat().inputs) {
      if (!n.isList(input)) {
        operands.push_back(input);
        continue;
      }
      Expected<Names> list = n.list(input);
      if (!list)
        return list.takeError();
      if (list->size() != driver->size())
        return makeError(ErrorClass::Malformed,
                         "sequences have {} and {} elements", driver->size(),
                         list->size());
      operands.push_back((*list)[round]);
    }
    Expected<Expansion> body =
        expandBody(n, "body", "round" + std::to_string(round), operands);
    if (!body)
      return body.takeError();
    if (Error error = checkOutputs(n, body->outputs.size()))
      return error;
    for (size_t i = 0; i < results.size(); ++i)
      results[i].push_back(body->outputs[i]);
  }
  for (size_t i = 0; i < results.size(); ++i)
    n.setList(i, std::move(results[i]));
  return Error::success();
}
