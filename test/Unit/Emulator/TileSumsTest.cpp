// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What results of the sparse cluster come from, and the lists that follow.

#include "lib/Emulator/Parallel/TileSums.h"
#include "TestSupport.h"
#include "lib/Emulator/Parallel/Lists.h"
#include "lib/Emulator/Parallel/TilePlaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::TileSums;

namespace {

/// Two tiles of four rows each, with a buffer set and accumulators of their
/// own; the second table is written in two steps.
const char *const load = "channels=8 type=u8 kH=3 kW=3 tileH=4 tileW=8 pH=1 "
                         "pW=1 inH=8 inW=8 srcStrideH=8 srcStrideW=1\n";
const char *const run = "channels=8 type=u8 kH=3 kW=3 tileH=4 tileW=8 "
                        "regions=2 regionStride=32 bytes=64";
const char *const drain =
    "psumStride1=8 psumStride2=1 n1=8 n2=8 cols=2 dstType=u8 "
    "dstStride1=8 dstStride2=1 mode=int fromTcu=1 regionStride=32";

std::string twoTiles(const std::string &more = "") {
  return fmt::format(
      ".machine name=a1\n"
      "tcc.tile clear=1 tileH=4 tileW=8 endH=8 endW=8\n"      // 0
      "tcc.tile table=1 clear=1 y0=4 tileH=4 tileW=4 endH=8 " // 1
      "endW=4\n"
      "tcc.tile table=1 unit=1 y0=4 x0=4 tileH=4 tileW=4 " // 2
      "endH=8 endW=8\n"
      "dma.tile {0}"                                         // 3
      "dma.tile table=1 set=1 {0}"                           // 4
      "tcc.init regions=2 regionStride=32 count=32\n"        // 5
      "tcc.init acc=64 regions=2 regionStride=32 count=32\n" // 6
      "tcc.run {1}\n"                                        // 7
      "tcc.run table=1 set=1 acc=64 {1}\n"                   // 8
      "act.drain {2} dstOffset=512\n"                        // 9
      "act.drain table=1 psum=64 {2} dstOffset=512\n"        // 10
      "{3}",
      load, run, drain, more);
}

struct Followed {
  container::Program program;
  std::vector<isa::Instruction> code;
  std::optional<TileSums> sums;
  /// By instruction.
  std::vector<llvm::SmallVector<isa::Access, 16>> accesses;

  explicit Followed(const std::string &text)
      : program(assembleText(text, false)),
        code(llvm::cantFail(isa::decodeAll(program.code))) {
    sums.emplace(program.machine, code);
    emulator::TilePlaces places(program.machine);
    accesses.resize(code.size());
    for (uint32_t i = 0; i < code.size(); ++i) {
      isa::footprints(code[i], program.machine, accesses[i]);
      places.step(code[i], accesses[i]);
      if (!sums->step(i, accesses[i])) {
        sums.reset();
        return;
      }
    }
  }
};

/// Rows of SB that an instruction reads or writes.
std::pair<int64_t, int64_t> rowsOf(llvm::ArrayRef<isa::Access> accesses) {
  std::pair<int64_t, int64_t> rows = {INT64_MAX, 0};
  for (const isa::Access &access : accesses)
    if (access.space == isa::Space::Sb)
      rows = {std::min(rows.first, access.begin),
              std::max(rows.second, access.end)};
  return rows;
}

} // namespace

TEST(TileSums, EachDrainHasItsOwnSources) {
  const Followed followed(twoTiles());
  EXPECT_TRUE(TileSums::areFollowed(followed.code));
  ASSERT_TRUE(followed.sums);
  const auto drains = followed.sums->drains();
  ASSERT_EQ(drains.size(), 2u);
  using Numbers = llvm::SmallVector<uint32_t, 8>;
  EXPECT_EQ(drains[0].index, 9u);
  EXPECT_EQ(drains[0].sums, (Numbers{5, 7}));
  EXPECT_EQ(drains[0].loads, (Numbers{3}));
  EXPECT_EQ(drains[1].index, 10u);
  EXPECT_EQ(drains[1].sums, (Numbers{6, 8}));
  EXPECT_EQ(drains[1].loads, (Numbers{4}));
}

TEST(TileSums, WhatIsOverwrittenIsNoSource) {
  // The first tile's set, sums and table once more, for a third drain.
  const Followed followed(twoTiles(fmt::format(
      "dma.tile {0}tcc.init regions=2 regionStride=32 count=32\n"
      "tcc.run {1}\ntcc.run {1} wm=1024\nact.drain {2} dstOffset=1024\n",
      load, run, drain)));
  ASSERT_TRUE(followed.sums);
  const TileSums::Drain &last = followed.sums->drains().back();
  using Numbers = llvm::SmallVector<uint32_t, 8>;
  EXPECT_EQ(last.sums, (Numbers{12, 13, 14}));
  EXPECT_EQ(last.loads, (Numbers{11}));
}

TEST(TileSums, ThreadsGetAllThatTheyNeed) {
  const Followed followed(twoTiles());
  ASSERT_TRUE(followed.sums);
  std::vector<emulator::ThreadSet> sets(followed.code.size());
  sets[9] = 1;
  sets[10] = 2;
  followed.sums->spread(sets);
  EXPECT_EQ(sets, (std::vector<emulator::ThreadSet>{1, 2, 2, 1, 2, 1, 2, 1, 2,
                                                    1, 2}));
}

TEST(TileSums, TilesReadAndWriteTheirRowsAlone) {
  const Followed followed(twoTiles());
  // With a row around them; results with none.
  EXPECT_EQ(rowsOf(followed.accesses[3]), std::pair(int64_t(0), int64_t(40)));
  EXPECT_EQ(rowsOf(followed.accesses[4]), std::pair(int64_t(24), int64_t(64)));
  EXPECT_EQ(rowsOf(followed.accesses[9]),
            std::pair(int64_t(512), int64_t(544)));
  EXPECT_EQ(rowsOf(followed.accesses[10]),
            std::pair(int64_t(544), int64_t(576)));
}

TEST(TileSums, ListsOfTilesSideBySide) {
  const Followed followed(twoTiles());
  const auto lists =
      emulator::cutIntoLists(followed.program, followed.code, {}, 2);
  ASSERT_TRUE(lists);
  std::vector<std::vector<uint32_t>> found;
  for (const emulator::Lists::List &list : lists->lists) {
    found.emplace_back();
    for (const emulator::Lists::Entry &entry : list.entries)
      found.back().push_back(entry.instruction);
    EXPECT_TRUE(list.waits.empty());
  }
  EXPECT_EQ(found, (std::vector<std::vector<uint32_t>>{{0, 3, 5, 7, 9},
                                                       {1, 2, 4, 6, 8, 10}}));
}

TEST(TileSums, WhatOneEngineKeepsIsNotFollowed) {
  const std::vector<isa::Instruction> code = Followed(twoTiles()).code;
  EXPECT_TRUE(TileSums::areFollowed(code));
  const auto with = [&](size_t at, isa::Instruction inst) {
    std::vector<isa::Instruction> other = code;
    other[at] = std::move(inst);
    return TileSums::areFollowed(other);
  };
  EXPECT_FALSE(with(0, isa::TccPart{}));
  EXPECT_FALSE(with(0, isa::TccOperand{}));
  EXPECT_FALSE(with(0, isa::TccBind{}));
  auto scattering = std::get<isa::TccRun>(code[7]);
  scattering.scatter = true;
  EXPECT_FALSE(with(7, scattering));
  auto opened = std::get<isa::DmaTile>(code[3]);
  opened.drained = true;
  EXPECT_FALSE(with(3, opened));
  auto counted = std::get<isa::ActDrain>(code[9]);
  counted.counted = true;
  EXPECT_FALSE(with(9, counted));
}
