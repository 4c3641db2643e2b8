// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of vector instructions reach every element of the result once and
// find each operand's element by the broadcasting rule.

#include "ashlar/Analysis/Cost/VectorLoops.h"
#include "TestSupport.h"
#include "ashlar/Machine/Transfers.h"
#include "gtest/gtest.h"
#include <map>

using namespace ashlar;
using namespace ashlar::analysis;
using namespace ashlar::test;

namespace {

class VectorLoopsTest : public ::testing::Test {
protected:
  VectorLoopsTest() : machine(smallMachine(16384)) {}

  using Addresses = std::vector<int64_t>;

  /// Addresses of the operands by address of the result, as the vector unit
  /// computes them (docs/Machine.md, memories and layout).
  std::map<int64_t, Addresses> walk(llvm::ArrayRef<VectorOperand> operands,
                                    const View &result, unsigned maxDims) {
    std::map<int64_t, Addresses> seen;
    int64_t partitions = machine.sb.partitions;
    int64_t bytes = machine.sb.bytesPerPartition;
    forEachVectorLoop(
        operands, result, machine, maxDims, [&](const VectorLoop &loop) {
          EXPECT_EQ(loop.count.size(), maxDims);
          for (int64_t c = 0; c < loop.channels; ++c)
            forEachIndex(
                Shape(loop.count.begin(), loop.count.end()),
                [&](const Shape &at) {
                  Addresses addresses;
                  for (const VectorAddress &a : loop.addresses) {
                    int64_t position = a.part + (a.broadcast ? 0 : c);
                    int64_t offset =
                        a.offset + position / partitions * a.tileStride;
                    for (size_t d = 0; d < at.size(); ++d)
                      offset += at[d] * a.stride[d];
                    addresses.push_back(position % partitions * bytes + offset);
                  }
                  int64_t key = addresses.back();
                  EXPECT_TRUE(seen.emplace(key, addresses).second)
                      << "written twice";
                });
        });
    return seen;
  }

  /// The same from the definition of broadcasting.
  std::map<int64_t, Addresses> expected(llvm::ArrayRef<VectorOperand> operands,
                                        const View &result) {
    std::map<int64_t, Addresses> wanted;
    forEachIndex(result.shape, [&](const Shape &index) {
      Addresses addresses;
      for (const VectorOperand &operand : operands) {
        const View &view = *operand.view;
        Shape own(index.end() - view.rank(), index.end());
        for (int64_t i = 0; i < view.rank(); ++i)
          if (view.shape[i] == 1)
            own[i] = 0;
        addresses.push_back(elementAddress(view, own, machine).address);
      }
      wanted.emplace(addresses.back(), addresses);
    });
    return wanted;
  }

  machine::Description machine;
};

TEST_F(VectorLoopsTest, LoopsLongerThanAFieldAreCut) {
  // A partition as large as offsets allow holds more than a loop counts, and
  // so do its channel tiles.
  machine.sb.bytesPerPartition = 1 << 24;
  const int64_t most = machine::mostIterations, channels = 3 * most;
  for (const Shape &shape : {Shape{1, 2 * most + 3}, Shape{channels, 1}}) {
    View view = analysis::denseBufferView(plainType(1), shape, 0, 0, machine);
    VectorOperand operands[] = {{&view}};
    int64_t elements = 0, next = 0;
    forEachVectorLoop(operands, view, machine, 3, [&](const VectorLoop &loop) {
      EXPECT_LE(loop.channels, most);
      int64_t own = loop.channels;
      for (int64_t count : loop.count) {
        EXPECT_LE(count, most);
        own *= count;
      }
      if (shape[0] == 1) {
        EXPECT_EQ(loop.addresses[0].offset, next);
        next += own;
      }
      elements += own;
    });
    EXPECT_EQ(elements, shape[0] * shape[1]);
  }
}

} // namespace

TEST_F(VectorLoopsTest, RandomBroadcasts) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    int64_t rank = random.between(1, 5), axis = random.between(0, rank - 1);
    Shape shape;
    for (int64_t i = 0; i < rank; ++i)
      shape.push_back(i == axis ? random.between(1, 50) : random.between(1, 4));
    auto view = [&](Shape own, int64_t base) {
      int64_t ownAxis = axis - (rank - static_cast<int64_t>(own.size()));
      View made = analysis::denseBufferView(
          plainType(4), own, ownAxis < 0 ? -1 : ownAxis, base, machine);
      int64_t room = machine.sb.partitions - made.channels();
      if (room > 0 && random.chance(50))
        made.part = random.between(0, room);
      return made;
    };
    View result = view(shape, 0);
    Shape other(shape.begin() + random.between(0, rank - 1), shape.end());
    for (int64_t &extent : other)
      if (random.chance(30))
        extent = 1;
    View first = view(shape, 8192), second = view(other, 12000);
    VectorOperand operands[] = {{&first}, {&second}, {&result}};
    unsigned maxDims = random.between(2, 4);
    ASSERT_EQ(walk(operands, result, maxDims), expected(operands, result))
        << "seed " << seed;
  }
}

TEST_F(VectorLoopsTest, DenseTensorsAreOneInstruction) {
  View view =
      analysis::denseBufferView(plainType(4), {2, 64, 3, 4}, 1, 0, machine);
  VectorOperand operands[] = {{&view}};
  int loops = 0;
  forEachVectorLoop(operands, view, machine, 3, [&](const VectorLoop &loop) {
    ++loops;
    EXPECT_EQ(loop.channels, 64);
    EXPECT_EQ(loop.count, (llvm::SmallVector<int64_t, 4>{1, 1, 24}));
  });
  EXPECT_EQ(loops, 1);
}
