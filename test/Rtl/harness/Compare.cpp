// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison of memories, times and events.

#include "Compare.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Text.h"
#include "lib/Emulator/Impl.h"
#include <fmt/format.h>
#include <map>
#include <tuple>

using namespace ashlar;
using namespace ashlar::rtl;

Coded rtl::encodeDraft(const Draft &draft) {
  Coded coded;
  coded.instructions = withSemaphores(draft);
  llvm::SmallVector<uint64_t, 0> words;
  for (const isa::Instruction &inst : coded.instructions)
    llvm::cantFail(isa::encode(inst, words));
  coded.words.assign(words.begin(), words.end());
  return coded;
}

static container::Program makeProgram(const Draft &draft, const Coded &coded) {
  container::Program program;
  program.machine = draft.machine;
  program.code = coded.words;
  program.semaphores = semaphoresUsed;
  program.dramBytes = draft.image.size();
  program.inputs = {{"image",
                     support::ElementType::U8,
                     {static_cast<int64_t>(draft.image.size())},
                     0}};
  return program;
}

/// Starts what compare() says of a program that the emulator does not run.
static constexpr const char *faultPrefix = "emulator: ";

static emulator::Options options() {
  emulator::Options options;
  options.recordTimes = options.traceArray = true;
  options.checkUndefined = false; // Memories start as zeros on both sides.
  return options;
}

bool rtl::isLegal(const Draft &draft) {
  for (const isa::Instruction &inst : draft.operations)
    if (llvm::Error error = isa::verify(inst)) {
      llvm::consumeError(std::move(error));
      return false;
    }
  auto loaded =
      emulator::load(makeProgram(draft, encodeDraft(draft)), options());
  if (loaded)
    return !draft.operations.empty();
  llvm::consumeError(loaded.takeError());
  return false;
}

std::string rtl::printDraft(const Draft &draft) {
  std::string text;
  for (const isa::Instruction &inst : withSemaphores(draft))
    text += "  " + isa::print(inst) + "\n";
  return text;
}

namespace {

/// Collects differences, a few of each kind.
class Differences {
public:
  void add(std::string text) {
    if (found.size() < 12)
      found.push_back(std::move(text));
  }
  std::vector<std::string> found;
};

class Comparison {
public:
  Comparison(Chip &chip, const Draft &draft, Tally &tally)
      : chip(chip), draft(draft), tally(tally), coded(encodeDraft(draft)) {}
  std::vector<std::string> run();

private:
  void times();
  void events();
  void memories(emulator::Memory &memory);
  template <typename T, typename Fn>
  void contents(const char *name, const std::vector<T> &got, Fn expected);
  bool comparesCycle(const emulator::ArrayEvent &event) const;

  Chip &chip;
  const Draft &draft;
  Tally &tally;
  Coded coded;
  emulator::RunResult expected;
  Record got;
  Differences differences;
};

} // namespace

/// Cycles for which each instruction waits for nothing but a bank of SB.
static std::vector<uint64_t> waitsForBanks(const emulator::RunResult &result) {
  std::vector<uint64_t> cycles(result.times.size(), 0);
  for (const emulator::Stall &stall : result.stalls)
    if (stall.cause == emulator::StallCause::SbBusy)
      cycles[stall.instruction] += stall.end - stall.begin;
  return cycles;
}

void Comparison::times() {
  const std::vector<uint64_t> waits = waitsForBanks(expected);
  for (size_t i = 0; i < coded.instructions.size(); ++i) {
    const isa::Instruction &inst = coded.instructions[i];
    if (std::holds_alternative<isa::SemWait>(inst) ||
        std::holds_alternative<isa::SemSignal>(inst))
      continue;
    const emulator::InstructionTime &e = expected.times[i];
    const Times &g = got.times[i];
    if (static_cast<int64_t>(e.start) != g.start ||
        static_cast<int64_t>(e.issueEnd) != g.issued ||
        static_cast<int64_t>(e.complete) != g.complete)
      differences.add(fmt::format(
          "instruction {} ({}): emulator starts {}, issued {}, complete {}; "
          "hardware {}, {}, {}",
          i, isa::print(inst), e.start, e.issueEnd, e.complete, g.start,
          g.issued, g.complete));
    if (waits[i] != g.sbBusy)
      differences.add(fmt::format("instruction {} ({}): emulator waits {} "
                                  "cycles for banks of SB, hardware {}",
                                  i, isa::print(inst), waits[i], g.sbBusy));
    tally.bankWaits += waits[i];
  }
}

/// A drain that waits for PSUM's read port takes its entries when the port
/// gives them; the text only says how long all of them take.
bool Comparison::comparesCycle(const emulator::ArrayEvent &event) const {
  return event.kind != emulator::ArrayEventKind::Drain ||
         draft.machine.psum.readBytesPerCycle == 0;
}

void Comparison::events() {
  using Key = std::tuple<int, uint32_t, uint32_t, uint32_t>;
  std::map<Key, Event> byKey;
  for (const Event &event : got.events)
    byKey[{event.kind, event.instruction, event.step, event.column}] = event;
  if (byKey.size() != expected.arrayTrace.size())
    differences.add(fmt::format("{} events of the array, hardware has {}",
                                expected.arrayTrace.size(), byKey.size()));
  static constexpr const char *names[] = {"enters", "is written", "is drained"};
  for (const emulator::ArrayEvent &e : expected.arrayTrace) {
    const auto kind = static_cast<int>(e.kind);
    const auto found = byKey.find({kind, e.instruction, e.step, e.column});
    if (found == byKey.end()) {
      differences.add(fmt::format("instruction {}: step {}, column {} never {}",
                                  e.instruction, e.step, e.column,
                                  names[kind]));
      continue;
    }
    const Event &g = found->second;
    if ((comparesCycle(e) && g.cycle != e.cycle) || g.value != e.value ||
        g.entry != static_cast<int>(e.entry))
      differences.add(fmt::format(
          "instruction {}: step {}, column {} {}: emulator cycle {}, entry {}, "
          "value {:#x}; hardware {}, {}, {:#x}",
          e.instruction, e.step, e.column, names[kind], e.cycle, e.entry,
          e.value, g.cycle, g.entry, g.value));
  }
  tally.entries += expected.arrayTrace.size();
}

template <typename T, typename Fn>
void Comparison::contents(const char *name, const std::vector<T> &contents,
                          Fn expectedAt) {
  tally.bytes += contents.size() * sizeof(T);
  for (size_t i = 0; i < contents.size(); ++i)
    if (contents[i] != expectedAt(i)) {
      differences.add(fmt::format("{}[{}]: emulator {:#x}, hardware {:#x}",
                                  name, i, int64_t(expectedAt(i)),
                                  int64_t(contents[i])));
      return;
    }
}

void Comparison::memories(emulator::Memory &memory) {
  const Sizes &sizes = chip.sizes();
  contents("dram", got.dram, [&](size_t i) { return *memory.dram(i); });
  contents("sb", got.sb, [&](size_t i) {
    return *memory.sb(i / sizes.bytes, static_cast<int64_t>(i % sizes.bytes));
  });
  contents("xm", got.xm, [&](size_t i) {
    return *memory.xmRow(i / sizes.bytes,
                         static_cast<int64_t>(i % sizes.bytes));
  });
  contents("xr", got.xr, [&](size_t i) { return memory.xr(i); });
  contents("psum", got.psum, [&](size_t i) {
    return *memory.psum(i / sizes.entries, i % sizes.entries);
  });
}

std::vector<std::string> Comparison::run() {
  auto loaded = emulator::load(makeProgram(draft, coded), options());
  if (!loaded)
    return {faultPrefix + llvm::toString(loaded.takeError())};
  support::HostTensor image;
  image.type = support::ElementType::U8;
  image.shape = {static_cast<int64_t>(draft.image.size())};
  image.data = draft.image;
  auto result = emulator::run(*loaded, {image}, options());
  if (!result)
    return {faultPrefix + llvm::toString(result.takeError())};
  expected = std::move(*result);
  got = chip.run(draft.machine, coded.words, draft.image,
                 coded.instructions.size(), 4 * expected.totalCycles + 1000);
  differences.found = got.failures;
  times();
  events();
  memories(loaded->impl().engine.memory);
  ++tally.programs;
  tally.instructions += coded.instructions.size();
  tally.cycles += expected.totalCycles;
  tally.collisions += got.collisions;
  return std::move(differences.found);
}

std::vector<std::string> rtl::compare(Chip &chip, const Draft &draft,
                                      Tally &tally) {
  return Comparison(chip, draft, tally).run();
}

Draft rtl::shrink(Chip &chip, Draft draft) {
  Tally ignored;
  for (size_t i = draft.operations.size(); i-- > draft.fixed;) {
    Draft smaller = draft;
    smaller.operations.erase(smaller.operations.begin() +
                             static_cast<std::ptrdiff_t>(i));
    if (!isLegal(smaller))
      continue;
    const std::vector<std::string> found = compare(chip, smaller, ignored);
    if (!found.empty() && !llvm::StringRef(found[0]).starts_with(faultPrefix))
      draft = std::move(smaller);
  }
  return draft;
}
