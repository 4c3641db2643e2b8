// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop: its body for every round. Where a condition depends on run-time data
// and the number of rounds has a bound, all of them run, and those after the
// end keep what there was; what the rounds collect is as long as data decide.

#include "Rounds.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

namespace {

class Loop {
public:
  explicit Loop(FlowNode &n) : n(n), faults(n.faults()) {
    for (size_t i = 2; i < n.flat().inputs.size(); ++i)
      rounds.carried.push_back(n.flat().inputs[i]);
  }

  Error run() {
    if (n.hasInput(0)) {
      Expected<int64_t> known =
          n.knownOne(n.flat().inputs[0], "the trip count");
      if (!known)
        return known.takeError();
      most = *known;
    }
    if (n.hasInput(1))
      if (Error error = takeCondition(n.flat().inputs[1], "the condition"))
        return error;
    for (int64_t round = 0; round < most && !over; ++round)
      if (Error error = runRound(round))
        return error;
    if (!conditions.empty())
      if (Error error = cutCollected())
        return error;
    return setRounds(n, rounds, {});
  }

private:
  /// Whether the next round runs: known, or a value.
  Error takeCondition(const std::string &name, llvm::StringRef what) {
    Expected<int64_t> known = n.knownOne(name, what);
    if (known) {
      over = *known == 0;
      return Error::success();
    }
    Error error = known.takeError();
    if (support::classify(error) != ErrorClass::Unsupported)
      return error;
    if (most == std::numeric_limits<int64_t>::max()) {
      llvm::consumeError(std::move(error));
      return makeError(ErrorClass::Unsupported,
                       "{} depends on run-time data, and no trip count bounds "
                       "the loop; give it a constant one",
                       what.str());
    }
    Expected<OperandKind> kind = n.kind(name);
    if (!kind)
      return joinErrors(std::move(error), kind.takeError());
    llvm::consumeError(std::move(error));
    int64_t count = 1;
    for (int64_t extent : kind->shape)
      count *= extent;
    if (count != 1)
      return makeError(ErrorClass::Malformed, "{} has {} elements, expected 1",
                       what.str(), count);
    Expected<std::string> one = n.make("Squeeze", {name});
    if (!one)
      return one.takeError();
    if (!going.empty())
      one = n.make("And", {going, *one});
    if (!one)
      return one.takeError();
    going = *one;
    return Error::success();
  }

  Error runRound(int64_t round) {
    Expected<std::string> number = n.integers({round}, /*scalar=*/true);
    if (!number)
      return number.takeError();
    Expected<std::string> yes = n.integers({1}, true, /*boolean=*/true);
    if (!yes)
      return yes.takeError();
    const Names before = rounds.carried;
    Names operands = {*number, *yes};
    operands.insert(operands.end(), before.begin(), before.end());
    Expected<Expansion> body =
        expandBody(n, "body", "round" + std::to_string(round), operands);
    if (!body)
      return body.takeError();
    if (body->outputs.empty())
      return makeError(ErrorClass::Malformed, "its body gives no condition");
    if (Error error = takeRound(rounds, *body, 1))
      return error;
    if (Error error = keepWhereOver(before, *yes, round))
      return error;
    return takeCondition(body->outputs[0],
                         fmt::format("the condition after round {}", round));
  }

  /// After the end, carried values stay as they were before the round.
  Error keepWhereOver(const Names &before, const std::string &yes,
                      int64_t round) {
    ran.push_back(going.empty() ? yes : going);
    if (going.empty())
      return Error::success();
    if (n.faults() != faults)
      return makeError(ErrorClass::Unsupported,
                       "the condition depends on run-time data, and the body "
                       "reads at run-time indices, which must not be read "
                       "after the last round");
    for (size_t i = 0; i < before.size(); ++i) {
      if (rounds.carried[i] == before[i])
        continue;
      Expected<std::string> kept =
          choose(n, going, rounds.carried[i], before[i],
                 fmt::format("value {} of round {}", i, round));
      if (!kept)
        return kept.takeError();
      rounds.carried[i] = *kept;
    }
    conditions = ran;
    return Error::success();
  }

  /// Keeps the parts of the rounds that ran.
  Error cutCollected() {
    if (rounds.collected.empty())
      return Error::success();
    Expected<std::string> kept = n.stack(conditions, 0);
    if (!kept)
      return kept.takeError();
    rounds.whole.resize(rounds.collected.size());
    for (size_t k = 0; k < rounds.collected.size(); ++k) {
      const size_t output = rounds.carried.size() + k;
      if (!n.hasOutput(output))
        continue;
      Expected<std::string> whole = n.stack(rounds.collected[k], 0);
      if (!whole)
        return whole.takeError();
      Expected<std::string> cut =
          n.make("Compress", {*whole, *kept}, {intAttribute("axis", 0)});
      if (!cut)
        return cut.takeError();
      rounds.whole[k] = *cut;
    }
    return Error::success();
  }

  FlowNode &n;
  const size_t faults;
  Rounds rounds;
  int64_t most = std::numeric_limits<int64_t>::max();
  bool over = false;
  /// The boolean that says whether the next round runs; empty while known.
  std::string going;
  /// For each round whether it ran; `conditions` once one depends on data.
  Names ran, conditions;
};

} // namespace

Error ashlar::frontend::runLoop(FlowNode &n) { return Loop(n).run(); }
