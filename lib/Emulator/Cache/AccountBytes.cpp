// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writer and reader visit the same fields in the same order.

#include "AccountBytes.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;

template <typename Node, typename Fn>
static void forNumbers(Node &node, Fn fn) {
  for (auto *field : {&node.cycles, &node.start, &node.end, &node.macs,
                      &node.dramRead, &node.dramWrite, &node.dramActivations,
                      &node.copied, &node.repairCycles, &node.instructions})
    fn(*field);
  llvm::for_each(node.busy, fn);
  llvm::for_each(node.work, fn);
}

template <typename Result, typename Fn>
static void forRunNumbers(Result &result, Fn fn) {
  for (auto *field : {&result.totalCycles, &result.idleCycles, &result.dramBusy,
                      &result.dramUseful, &result.dramActivations,
                      &result.dramRowHits, &result.dramRefresh})
    fn(*field);
  for (auto &queue : result.queues) {
    for (auto *field :
         {&queue.instructions, &queue.busy, &queue.copied, &queue.work})
      fn(*field);
    llvm::for_each(queue.stall, fn);
  }
}

static constexpr energy::Component counted[] = {energy::Component::Pe,
                                                energy::Component::Tcu};

static void writeActions(const energy::ActionCounts &actions, Writer &out) {
  for (unsigned i = 0; i < energy::numActions; ++i)
    out.number(actions.of(static_cast<energy::Action>(i)));
  for (energy::Component component : counted) {
    out.number(uint64_t(actions.widths(component).size()));
    for (const energy::WidthCount &width : actions.widths(component)) {
      out.number(width.moving);
      out.number(width.stationary);
      out.number(width.count);
    }
  }
}

static energy::ActionCounts readActions(Reader &in) {
  energy::ActionCounts actions;
  for (unsigned i = 0; i < energy::numActions; ++i)
    actions.add(static_cast<energy::Action>(i), in.number<uint64_t>());
  for (energy::Component component : counted) {
    const auto count = in.number<uint64_t>();
    for (uint64_t i = 0; in.good && i < count; ++i) {
      const auto moving = in.number<uint32_t>();
      const auto stationary = in.number<uint32_t>();
      actions.addWidth(component, moving, stationary, in.number<uint64_t>());
    }
  }
  return actions;
}

static void writeNode(const NodeStats &node, Writer &out) {
  forNumbers(node, [&](uint64_t number) { out.number(number); });
  writeActions(node.actions, out);
}

static NodeStats readNode(Reader &in) {
  NodeStats node;
  forNumbers(node, [&](uint64_t &number) { number = in.number<uint64_t>(); });
  node.actions = readActions(in);
  return node;
}

void emulator::writeAccount(const RunResult &account, Writer &out) {
  forRunNumbers(account, [&](uint64_t number) { out.number(number); });
  out.number(uint64_t(account.nodes.size()));
  for (const NodeStats &node : account.nodes)
    writeNode(node, out);
  writeNode(account.unassigned, out);
}

RunResult emulator::readAccount(Reader &in) {
  RunResult account;
  account.timed = true;
  forRunNumbers(account,
                [&](uint64_t &number) { number = in.number<uint64_t>(); });
  const auto count = in.number<uint64_t>();
  for (uint64_t i = 0; in.good && i < count; ++i)
    account.nodes.push_back(readNode(in));
  account.unassigned = readNode(in);
  return account;
}
