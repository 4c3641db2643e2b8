// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warnings of a run. What is stored is compared with the elements of the
// tensors that a node stores, what is fetched with the elements fetched.

#include "ashlar/Report/RunWarnings.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Result.h"
#include "ashlar/Support/Json.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::report;

namespace {

constexpr size_t mostLines = 8;

/// What a node stores in block floating point.
struct Stored {
  uint64_t elements = 0;
  unsigned mantissa = 16; ///< Of the narrowest.
  std::string names;
};

/// Tensors of the plan whose blocks have exponents of their own. What
/// saturates there are elements that round up to the limit of their block, by
/// one step at most, such as the ones of a softmax: no exponent fits better.
/// Programs without a plan have none.
llvm::StringSet<> withOwnExponents(const container::Program &program) {
  llvm::StringSet<> names;
  auto plan = support::parseJson(program.numericPlanJson);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return names;
  }
  const llvm::json::Object *all = plan->getAsObject();
  const llvm::json::Array *events = all ? all->getArray("events") : nullptr;
  const llvm::json::Array *tensors = all ? all->getArray("tensors") : nullptr;
  if (!events || !tensors)
    return names;
  llvm::DenseSet<int64_t> given;
  for (const llvm::json::Value &entry : *events) {
    const llvm::json::Object *event = entry.getAsObject();
    const llvm::json::Object *policy =
        event ? event->getObject("policy") : nullptr;
    if (policy && policy->getString("at") == "store")
      given.insert(event->getInteger("id").value_or(-1));
  }
  // Several tensors may have one event.
  for (const llvm::json::Value &entry : *tensors) {
    const llvm::json::Object *tensor = entry.getAsObject();
    const auto name = tensor ? tensor->getString("name") : std::nullopt;
    const auto event = tensor ? tensor->getInteger("event") : std::nullopt;
    if (name && event && !given.contains(*event))
      names.insert(*name);
  }
  return names;
}

Stored storedBy(const container::NodeInfo &node,
                const llvm::StringMap<const container::TensorPlacement *> &at,
                const llvm::StringSet<> &fitting) {
  Stored stored;
  for (const std::string &name : node.plannedTensors) {
    const container::TensorPlacement *placement = at.lookup(name);
    if (!placement || !placement->encoded || fitting.contains(name))
      continue;
    stored.elements += support::countElements(placement->shape).value_or(0);
    stored.mantissa = std::min<unsigned>(stored.mantissa, placement->mantissa);
    stored.names +=
        fmt::format("{}'{}'", stored.names.empty() ? "" : ", ", name);
  }
  return stored;
}

struct Line {
  double weight;
  std::string text;
};

} // namespace

void RunWarnings::add(llvm::ArrayRef<emulator::NodeStats> nodes) {
  accounts.resize(std::max(accounts.size(), nodes.size()));
  for (auto [account, node] : llvm::zip(accounts, nodes)) {
    account.fetched += node.fetched;
    account.saturatedAtFetch += node.saturatedAtFetch;
    account.saturatedAtEncode += node.saturated - node.saturatedAtFetch;
    account.nonFinite += node.nonFinite;
  }
  ++samples;
}

std::vector<std::string>
RunWarnings::describe(const container::Program &program) const {
  llvm::StringMap<const container::TensorPlacement *> placements;
  for (const container::TensorPlacement &placement : program.dumps)
    placements[placement.name] = &placement;
  const llvm::StringSet<> fitting =
      llvm::any_of(accounts,
                   [](const Account &a) { return a.saturatedAtEncode > 0; })
          ? withOwnExponents(program)
          : llvm::StringSet<>();
  std::vector<Line> lines;
  for (auto [node, account] : llvm::zip(program.nodes, accounts)) {
    const std::string who =
        fmt::format("node '{}' ({})", node.name, node.opType);
    if (account.nonFinite > 0)
      lines.push_back({2, fmt::format("{}: {} values to store are NaN or "
                                      "infinite: stored as zero or the largest",
                                      who, account.nonFinite)});
    if (account.saturatedAtFetch == 0 && account.saturatedAtEncode == 0)
      continue;
    const Stored stored = storedBy(node, placements, fitting);
    const uint64_t all = stored.elements * samples;
    const double kept =
        double(account.saturatedAtEncode) / double(std::max<uint64_t>(all, 1));
    if (all > 0 &&
        kept > saturationShare + std::ldexp(1.0, -int(stored.mantissa)))
      lines.push_back(
          {kept, fmt::format("{}: {:.1f} % of {} saturate as they are stored "
                             "({} of {} elements)",
                             who, 100 * kept, stored.names,
                             account.saturatedAtEncode, all)});
    const double read = double(account.saturatedAtFetch) /
                        double(std::max<uint64_t>(account.fetched, 1));
    if (read > saturationShare)
      lines.push_back(
          {read, fmt::format("{}: {:.1f} % of its operands' elements are "
                             "beyond their scale exponent and saturate ({} of "
                             "{} fetched)",
                             who, 100 * read, account.saturatedAtFetch,
                             account.fetched)});
  }
  llvm::sort(lines, [](const Line &a, const Line &b) {
    return a.weight != b.weight ? a.weight > b.weight : a.text < b.text;
  });
  std::vector<std::string> texts;
  for (const Line &line : llvm::ArrayRef(lines).take_front(mostLines))
    texts.push_back(line.text);
  if (lines.size() > mostLines)
    texts.push_back(
        fmt::format("{} more such lines", lines.size() - mostLines));
  return texts;
}
