// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of components and actions; sums of counts.

#include "ashlar/Energy/Actions.h"

#include "llvm/ADT/STLExtras.h"

using namespace ashlar::energy;

static constexpr llvm::StringLiteral componentNames[] = {
    "dram", "dma",   "sb",      "xm",     "pe",  "psum",     "act",
    "vec",  "fmu",   "wm",      "tcu",    "acc", "counters", "xr",
    "sr",   "fetch", "pattern", "narrow", "host"};
static_assert(std::size(componentNames) == numComponents);

llvm::StringRef ashlar::energy::name(Component component) {
  return componentNames[static_cast<unsigned>(component)];
}

static constexpr ActionUnit byte = ActionUnit::Byte;
static constexpr ActionUnit operation = ActionUnit::Operation;

static constexpr ActionInfo actions[] = {
    {Component::Dram, "read", byte},
    {Component::Dram, "write", byte},
    {Component::Dram, "activate", operation},
    {Component::Dma, "move", byte},
    {Component::Sb, "read", byte},
    {Component::Sb, "write", byte},
    {Component::Xm, "read", byte},
    {Component::Xm, "write", byte},
    {Component::Pe, "load", byte},
    {Component::Pe, "multiply", operation},
    {Component::Pe, "accumulate", operation},
    {Component::Pe, "float_accumulate", operation},
    {Component::Pe, "select", operation},
    {Component::Psum, "read", byte},
    {Component::Psum, "write", byte},
    {Component::Psum, "accumulate", operation},
    {Component::Act, "cheap", operation},
    {Component::Act, "medium", operation},
    {Component::Act, "expensive", operation},
    {Component::Act, "very_expensive", operation},
    {Component::Vec, "cheap", operation},
    {Component::Vec, "medium", operation},
    {Component::Vec, "expensive", operation},
    {Component::Vec, "very_expensive", operation},
    {Component::Fmu, "read", byte},
    {Component::Fmu, "write", byte},
    {Component::Wm, "read", byte},
    {Component::Wm, "write", byte},
    {Component::Tcu, "multiply", operation},
    {Component::Tcu, "accumulate", operation},
    {Component::Acc, "read", byte},
    {Component::Acc, "write", byte},
    {Component::Counters, "read", byte},
    {Component::Counters, "write", byte},
    {Component::Xr, "read", byte},
    {Component::Xr, "write", byte},
    {Component::Sr, "read", operation},
    {Component::Sr, "write", operation},
    {Component::Fetch, "read", byte},
    {Component::Pattern, "load", byte},
    {Component::Pattern, "pick", operation},
    {Component::Narrow, "multiply", operation},
    {Component::Host, "step", operation},
};
static_assert(std::size(actions) == numActions);

const ActionInfo &ashlar::energy::info(Action action) {
  return actions[static_cast<unsigned>(action)];
}

std::string ashlar::energy::fullName(Action action) {
  return name(info(action).component).str() + "." + info(action).name.str();
}

void ActionCounts::addWidth(Component component, uint32_t moving,
                            uint32_t stationary, uint64_t count) {
  if (count == 0)
    return;
  std::vector<WidthCount> &list = component == Component::Tcu ? cluster : array;
  // A node multiplies one or two pairs of widths.
  for (WidthCount &entry : list)
    if (entry.moving == moving && entry.stationary == stationary) {
      entry.count = plus(entry.count, count);
      return;
    }
  list.push_back({moving, stationary, count});
}

ActionCounts &ActionCounts::operator+=(const ActionCounts &other) {
  for (auto [sum, count] : llvm::zip(counts, other.counts))
    sum = plus(sum, count);
  for (Component component : {Component::Pe, Component::Tcu})
    for (const WidthCount &entry : other.widths(component))
      addWidth(component, entry.moving, entry.stationary, entry.count);
  return *this;
}
