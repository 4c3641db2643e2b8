// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A greedy knapsack. Costs of a node depend on both its operands, so the cost
// of a step is looked up in the current state.

#include "FormatModel.h"

namespace ashlar::pipelines {
namespace {

class Picker {
public:
  explicit Picker(const FormatModel &model)
      : model(model), state(model.groups.size(), 0) {
    for (const auto &choices : model.choices)
      noise += choices.front().noise;
  }

  void upgrade(double budget) {
    while (noise > budget && step())
      continue;
  }

  /// Takes back the widenings that save most, as long as the budget lasts.
  void downgrade(double budget) {
    while (giveBack(budget))
      continue;
  }

  std::vector<size_t> take() { return std::move(state); }

private:
  bool step();
  bool giveBack(double budget);
  void move(size_t group, size_t choice);
  double costOf(size_t group, size_t choice) const;

  const FormatModel &model;
  std::vector<size_t> state;
  /// Operands of two bytes by node: activations, weights.
  std::map<std::string, std::array<bool, 2>> wide;
  double noise = 0;
};

/// Cost of everything that `group` touches if it took `choice`.
double Picker::costOf(size_t group, size_t choice) const {
  const FormatChoice &option = model.choices[group][choice];
  double cost = option.bytes * model.perByte;
  bool two = option.format.mantissaBytes() == 2;
  std::map<std::string, std::array<bool, 2>> touched;
  for (const Slot &slot : model.groups[group].slots) {
    auto now = wide.find(slot.node);
    auto entry = touched.try_emplace(
        slot.node, now == wide.end() ? std::array<bool, 2>{} : now->second);
    entry.first->second[slot.weights] = two;
  }
  for (const auto &[node, widths] : touched)
    if (auto found = model.nodes.find(node); found != model.nodes.end())
      cost += found->second[widths[0]][widths[1]] * model.perCycle;
  return cost;
}

void Picker::move(size_t group, size_t choice) {
  noise += model.choices[group][choice].noise -
           model.choices[group][state[group]].noise;
  state[group] = choice;
  bool two = model.choices[group][choice].format.mantissaBytes() == 2;
  for (const Slot &slot : model.groups[group].slots)
    wide[slot.node][slot.weights] = two;
}

bool Picker::step() {
  double best = -1;
  size_t bestGroup = 0, bestChoice = 0;
  for (size_t group = 0; group < state.size(); ++group) {
    const auto &choices = model.choices[group];
    double now = costOf(group, state[group]);
    for (size_t next = state[group] + 1; next < choices.size(); ++next) {
      double saved = choices[state[group]].noise - choices[next].noise;
      if (!(saved > 0))
        continue;
      double price = std::max(costOf(group, next) - now, 1e-12);
      if (saved / price > best) {
        best = saved / price;
        bestGroup = group;
        bestChoice = next;
      }
    }
  }
  if (best < 0)
    return false;
  move(bestGroup, bestChoice);
  return true;
}

bool Picker::giveBack(double budget) {
  double best = 0;
  size_t bestGroup = 0, bestChoice = 0;
  for (size_t group = 0; group < state.size(); ++group) {
    const auto &choices = model.choices[group];
    double now = costOf(group, state[group]);
    for (size_t next = 0; next < state[group]; ++next) {
      double added = choices[next].noise - choices[state[group]].noise;
      double saved = now - costOf(group, next);
      if (noise + added <= budget && saved > best) {
        best = saved;
        bestGroup = group;
        bestChoice = next;
      }
    }
  }
  if (best <= 0)
    return false;
  move(bestGroup, bestChoice);
  return true;
}

} // namespace

std::vector<size_t> chooseFormats(const FormatModel &model, double budget) {
  Picker picker(model);
  picker.upgrade(budget);
  picker.downgrade(budget);
  return picker.take();
}

void sortByWorth(std::vector<FormatStep> &steps) {
  llvm::sort(steps, [](const FormatStep &a, const FormatStep &b) {
    return a.worth != b.worth ? a.worth > b.worth : a.group < b.group;
  });
}

/// Cycles of all nodes.
static double cyclesOf(const FormatModel &model,
                       llvm::ArrayRef<numerics::BlockFormat> formats) {
  std::map<std::string, std::array<bool, 2>> wide;
  for (auto [group, format] : llvm::zip(model.groups, formats))
    for (const Slot &slot : group.slots)
      wide[slot.node][slot.weights] = format.mantissaBytes() == 2;
  double sum = 0;
  for (const auto &[node, widths] : wide)
    if (auto found = model.nodes.find(node); found != model.nodes.end())
      sum += found->second[widths[0]][widths[1]];
  return sum;
}

std::vector<FormatStep>
fewerPasses(const FormatModel &model,
            llvm::ArrayRef<numerics::BlockFormat> formats, double least) {
  std::vector<FormatStep> steps;
  const double now = cyclesOf(model, formats);
  for (auto [group, choices] : llvm::enumerate(model.choices)) {
    if (formats[group].mantissaBytes() == 1)
      continue;
    const FormatChoice *next = nullptr;
    for (const FormatChoice &choice : choices)
      if (choice.format.mantissaBytes() == 1 &&
          (!next || choice.noise < next->noise))
        next = &choice;
    if (!next)
      continue;
    std::vector<numerics::BlockFormat> changed(formats);
    changed[group] = next->format;
    const double saved = now - cyclesOf(model, changed);
    if (saved * model.perCycle >= least)
      steps.push_back(
          {group, next->format, saved / std::max(next->noise, 1e-30)});
  }
  sortByWorth(steps);
  return steps;
}

} // namespace ashlar::pipelines
