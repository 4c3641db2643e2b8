// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop: its body for every round. Where a condition or the number of rounds
// depends on run-time data and has a bound, all rounds run, and those after the
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
  explicit Loop(FlowNode &n) : n(n) {
    for (size_t i = 2; i < n.flat().inputs.size(); ++i)
      rounds.carried.push_back(n.flat().inputs[i]);
  }

  Error run() {
    if (n.hasInput(0))
      if (Error error = takeCount(n.flat().inputs[0]))
        return error;
    if (n.hasInput(1))
      if (Error error = takeCondition(n.flat().inputs[1], "the condition"))
        return error;
    for (int64_t round = 0; round < most && !over; ++round)
      if (Error error = runRound(round))
        return error;
    if (ran.empty())
      if (Error error = collectNothing())
        return error;
    if (!conditions.empty())
      if (Error error = cutCollected())
        return error;
    return setRounds(n, rounds, {});
  }

private:
  /// The number of rounds: known, or a value with a bound.
  Error takeCount(const std::string &name) {
    Expected<int64_t> known = n.knownOne(name, "the trip count");
    if (known) {
      most = *known;
      return Error::success();
    }
    Error error = known.takeError();
    if (support::classify(error) != ErrorClass::Unsupported)
      return error;
    Expected<std::optional<int64_t>> bound = n.atMost(name);
    if (!bound)
      return joinErrors(std::move(error), bound.takeError());
    if (!*bound) {
      std::string text = llvm::toString(std::move(error));
      return makeError(ErrorClass::Unsupported,
                       "{}; or bound it in the model, as Min(count, constant)",
                       text);
    }
    llvm::consumeError(std::move(error));
    most = **bound;
    Expected<std::string> one = scalar(name, "the trip count");
    if (!one)
      return one.takeError();
    count = *one;
    return Error::success();
  }

  /// A value of one element, without axes.
  Expected<std::string> scalar(const std::string &name, llvm::StringRef what) {
    Expected<OperandKind> kind = n.kind(name);
    if (!kind)
      return kind.takeError();
    int64_t elements = 1;
    for (int64_t extent : kind->shape)
      elements *= extent;
    if (elements != 1)
      return makeError(ErrorClass::Malformed, "{} has {} elements, expected 1",
                       what.str(), elements);
    return n.make("Squeeze", {name});
  }

  /// A round beyond a count of run-time data does not count.
  Error takeRoundNumber(const std::string &number) {
    if (count.empty())
      return Error::success();
    Expected<std::string> runs = n.make("Greater", {count, number});
    if (runs && !going.empty())
      runs = n.make("And", {going, *runs});
    if (!runs)
      return runs.takeError();
    going = *runs;
    return Error::success();
  }

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
    llvm::consumeError(std::move(error));
    Expected<std::string> one = scalar(name, what);
    if (!one)
      return one.takeError();
    if (!going.empty())
      one = n.make("And", {going, *one});
    if (!one)
      return one.takeError();
    going = *one;
    return Error::success();
  }

  Expected<Expansion> expand(llvm::StringRef place, const std::string &number,
                             const std::string &yes) {
    Names operands = {number, yes};
    operands.insert(operands.end(), rounds.carried.begin(),
                    rounds.carried.end());
    return expandBody(n, "body", place, operands, going);
  }

  /// No round runs: what the first one would collect, without its part.
  Error collectNothing() {
    const size_t values = rounds.carried.size();
    if (n.flat().outputs.size() <= values)
      return Error::success();
    Expected<std::string> none = n.integers({0}),
                          number = n.integers({0}, /*scalar=*/true),
                          yes = n.integers({1}, true, /*boolean=*/true);
    if (!none || !number || !yes)
      return joinErrors(none.takeError(),
                        joinErrors(number.takeError(), yes.takeError()));
    // Not round 0, which a walk that does not know the count has.
    Expected<Expansion> body = expand("none", *number, *yes);
    if (!body)
      return body.takeError();
    Rounds first = rounds;
    if (Error error = takeRound(first, *body, 1))
      return error;
    rounds.whole.resize(first.collected.size());
    for (size_t k = 0; k < first.collected.size(); ++k) {
      if (!n.hasOutput(values + k))
        continue;
      Expected<std::string> whole = n.stack(first.collected[k], 0);
      if (whole)
        whole = n.make("Slice", {*whole, *none, *none, *none});
      if (!whole)
        return whole.takeError();
      rounds.whole[k] = *whole;
    }
    return Error::success();
  }

  Error runRound(int64_t round) {
    Expected<std::string> number = n.integers({round}, /*scalar=*/true);
    if (!number)
      return number.takeError();
    if (Error error = takeRoundNumber(*number))
      return error;
    Expected<std::string> yes = n.integers({1}, true, /*boolean=*/true);
    if (!yes)
      return yes.takeError();
    const Names before = rounds.carried;
    Expected<Expansion> body =
        expand("round" + std::to_string(round), *number, *yes);
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
  Rounds rounds;
  int64_t most = std::numeric_limits<int64_t>::max();
  bool over = false;
  /// The number of rounds where it depends on run-time data, else empty.
  std::string count;
  /// The boolean that says whether the next round runs; empty while known.
  std::string going;
  /// For each round whether it ran; `conditions` once one depends on data.
  Names ran, conditions;
};

} // namespace

Error ashlar::frontend::runLoop(FlowNode &n) { return Loop(n).run(); }
