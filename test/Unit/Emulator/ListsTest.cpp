// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of instructions that threads execute side by side: whatever conflicts
// is in order, and runs give what a single thread gives, faults included.

#include "lib/Emulator/Parallel/Lists.h"
#include "RandomProgram.h"
#include "lib/Emulator/Impl.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::Lists;

namespace {

/// What a list knows of the others before each of its entries: how many entries
/// of each list are done. Empty if the lists wait for each other for ever.
class Clocks {
public:
  explicit Clocks(const Lists &lists) : lists(lists) {
    const size_t count = lists.lists.size();
    known.resize(count);
    std::vector<std::vector<uint32_t>> now(count,
                                           std::vector<uint32_t>(count, 0));
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t t = 0; t < count; ++t)
        while (advance(t, now))
          moved = true;
    }
    for (size_t t = 0; t < count; ++t)
      complete &= known[t].size() == lists.lists[t].entries.size();
  }

  bool complete = true;
  /// By list and entry.
  std::vector<std::vector<std::vector<uint32_t>>> known;

private:
  bool advance(size_t t, std::vector<std::vector<uint32_t>> &now) {
    const Lists::List &list = lists.lists[t];
    const size_t next = known[t].size();
    if (next == list.entries.size())
      return false;
    const uint32_t first = next == 0 ? 0 : list.entries[next - 1].endOfWaits;
    std::vector<uint32_t> clock = now[t];
    for (uint32_t w = first; w < list.entries[next].endOfWaits; ++w) {
      const Lists::Wait &wait = list.waits[w];
      if (known[wait.thread].size() < wait.position)
        return false;
      EXPECT_TRUE(
          lists.lists[wait.thread].entries[wait.position - 1].isAwaited);
      for (size_t k = 0; k < clock.size(); ++k)
        clock[k] = std::max(clock[k], known[wait.thread][wait.position - 1][k]);
      clock[wait.thread] = std::max(clock[wait.thread], wait.position);
    }
    clock[t] = static_cast<uint32_t>(next);
    known[t].push_back(clock);
    now[t] = clock;
    return true;
  }

  const Lists &lists;
};

/// Where an instruction is.
struct Place {
  uint32_t list, entry;
};

bool isShared(isa::Space space) {
  return space != isa::Space::Psum && space != isa::Space::Shadow &&
         space != isa::Space::Active;
}

/// The first pair of conflicting instructions that nothing orders, or "".
std::string unordered(const container::Program &program,
                      llvm::ArrayRef<isa::Instruction> code,
                      const Lists &lists) {
  const Clocks clocks(lists);
  if (!clocks.complete)
    return "the lists wait for each other";
  std::vector<std::vector<Place>> places(code.size());
  for (uint32_t t = 0; t < lists.lists.size(); ++t)
    for (auto [p, entry] : llvm::enumerate(lists.lists[t].entries))
      places[entry.instruction].push_back({t, static_cast<uint32_t>(p)});
  std::vector<llvm::SmallVector<isa::Access, 16>> accesses(code.size());
  for (uint32_t j = 0; j < code.size(); ++j) {
    isa::footprints(code[j], program.machine, accesses[j]);
    for (uint32_t i = 0; i < j; ++i) {
      const bool conflicts = llvm::any_of(accesses[i], [&](const auto &a) {
        return isShared(a.space) &&
               llvm::any_of(accesses[j], [&](const auto &b) {
                 return a.space == b.space && isa::conflict(a, b);
               });
      });
      for (const Place &earlier : places[i])
        for (const Place &later : places[j])
          if (conflicts &&
              clocks.known[later.list][later.entry][earlier.list] <=
                  earlier.entry)
            return fmt::format("{} in list {} and {} in list {}", i,
                               earlier.list, j, later.list);
    }
  }
  return "";
}

/// Lists for a number of threads, and the program that they belong to.
struct Cut {
  container::Program program;
  std::optional<emulator::LoadedProgram> loaded;
  std::shared_ptr<const Lists> lists;

  Cut(container::Program from, unsigned threads) : program(std::move(from)) {
    emulator::Options options;
    options.checkUndefined = false;
    auto result = emulator::load(program, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return;
    }
    loaded.emplace(std::move(*result));
    lists = emulator::cutIntoLists(program, code(), loaded->impl().engine.reuse,
                                   threads);
  }
  llvm::ArrayRef<isa::Instruction> code() const { return loaded->impl().code; }
};

container::Program programOf(Generator &generator,
                             const std::vector<Instruction> &code) {
  container::Program program;
  program.machine = generator.machine;
  program.dramBytes =
      2 * (generator.machine.sb.bytes() + generator.machine.xmBytes());
  program.code = serialise(code);
  program.semaphores = serialSemaphores;
  return program;
}

} // namespace

TEST(Lists, ConflictsAreOrdered) {
  for (uint64_t seed = 1; seed <= 60; ++seed)
    for (unsigned threads : {2u, 3u, 4u}) {
      Generator generator(seed);
      const Cut cut(programOf(generator, generator.program(40)), threads);
      ASSERT_TRUE(cut.lists) << seed;
      ASSERT_EQ(cut.lists->lists.size(), threads);
      ASSERT_EQ(unordered(cut.program, cut.code(), *cut.lists), "")
          << "seed " << seed << ", " << threads << " threads";
    }
}

TEST(Lists, ConflictsOfWindowsAreOrdered) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Generator generator(seed, "a1");
    const Cut cut(programOf(generator, generator.windows()), 3);
    ASSERT_TRUE(cut.lists) << seed;
    EXPECT_EQ(unordered(cut.program, cut.code(), *cut.lists), "") << seed;
  }
}

TEST(Lists, EachInstructionCountsOnce) {
  Generator generator(7, "a1");
  const Cut cut(programOf(generator, generator.windows()), 3);
  std::vector<unsigned> first(cut.code().size());
  for (const Lists::List &list : cut.lists->lists)
    for (const Lists::Entry &entry : list.entries)
      first[entry.instruction] += entry.isFirst;
  for (auto [count, inst] : llvm::zip(first, cut.code()))
    EXPECT_EQ(count, std::holds_alternative<isa::SemWait>(inst) ||
                             std::holds_alternative<isa::SemSignal>(inst)
                         ? 0u
                         : 1u);
}

TEST(Lists, AMissingWaitIsFound) {
  // What the tests above rely on: without one of its waits, some pair of most
  // programs is in no order.
  unsigned found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Generator generator(seed);
    const Cut cut(programOf(generator, generator.program(40)), 2);
    Lists broken = *cut.lists;
    for (Lists::List &list : broken.lists) {
      if (list.waits.empty())
        continue;
      list.waits.erase(list.waits.begin());
      for (Lists::Entry &entry : list.entries)
        entry.endOfWaits -= entry.endOfWaits > 0;
    }
    found += !unordered(cut.program, cut.code(), broken).empty();
  }
  EXPECT_GE(found, 10u);
}

TEST(Lists, ManyReadersOfOnePlaceAreFollowed) {
  // Each of them is looked at for each later one: as many as in ShuffleNet v2,
  // whose channels are copied one by one.
  std::string text = ".machine name=a1-tiny\n"
                     ".output name=y type=u8 shape=[4] at=4096\n"
                     ".data at=0 hex=01020304\n";
  for (unsigned i = 0; i < 1400; ++i)
    text += fmt::format("dma.copy srcMem=dram srcBase=0 dstMem=sb dstBase={} "
                        "n4=4 srcStride4=1 dstStride4=1\n",
                        8 * (i % 64));
  const Cut cut(assembleText(text, true), 2);
  EXPECT_TRUE(cut.lists);
}

//===- Faults -------------------------------------------------------------===//

namespace {
/// What a run of a text says with a number of threads.
std::string errorWith(const std::string &text, unsigned threads) {
  container::Program program = assembleText(text, true);
  emulator::Options options;
  options.threads = threads;
  options.checkUndefined = false;
  if (threads > 1)
    options.lists = true;
  auto loaded = emulator::load(program, options);
  if (!loaded)
    return "load: " + llvm::toString(loaded.takeError());
  auto result = emulator::run(*loaded, {}, options);
  if (!result)
    return llvm::toString(result.takeError());
  // A second run starts from the same state.
  auto again = emulator::run(*loaded, {}, options);
  if (!again)
    return "again: " + llvm::toString(again.takeError());
  EXPECT_EQ(result->outputs.front().data, again->outputs.front().data);
  return "";
}

/// Gathers with the given indices, each from and to a place of its own.
std::string gathers(llvm::ArrayRef<int> indices) {
  std::string text = ".machine name=a1-tiny\n"
                     ".output name=y type=u8 shape=[4] at=4096\n";
  for (auto [i, index] : llvm::enumerate(indices))
    text += fmt::format(".data at={} hex={:02x}000000\n", 16 * i, index);
  text += ".data at=256 hex=0a0b0c0d\n"
          "dma.copy srcMem=dram srcBase=256 dstMem=sb dstBase=2048 n4=4 "
          "srcStride4=1 dstStride4=1\n";
  for (size_t i = 0; i < indices.size(); ++i)
    text += fmt::format(
        "dma.copy elemBytes=4 srcMem=dram srcBase={0} dstMem=sb dstBase={1} "
        "n4=1 srcStride4=4 dstStride4=4\n"
        "vec.gather size=4 type=u8 srcOffset=2048 axisStride=1 indexType=i32 "
        "indexOffset={1} dstOffset={2}\n",
        16 * i, 64 * i, 3000 + 8 * i);
  return text + "dma.copy srcMem=sb srcBase=3000 dstMem=dram dstBase=4096 "
                "n4=4 srcStride4=8 dstStride4=1\n";
}
} // namespace

TEST(Lists, TheFirstFindingOfTheProgramIsReported) {
  ASSERT_EQ(errorWith(gathers({1, 2, 3, 0}), 1), "");
  const std::string expected = errorWith(gathers({1, 9, 2, 8}), 1);
  EXPECT_NE(expected.find("9"), std::string::npos) << expected;
  for (unsigned threads : {2u, 3u, 4u}) {
    EXPECT_EQ(errorWith(gathers({1, 2, 3, 0}), threads), "") << threads;
    for (int round = 0; round < 20; ++round)
      ASSERT_EQ(errorWith(gathers({1, 9, 2, 8}), threads), expected) << threads;
  }
}
