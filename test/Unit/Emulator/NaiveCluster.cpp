// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sparse cluster of the naive machine: units keep the input pixels of
// their tiles by coordinate, so that no phase, halo or shift exists here.

#include "NaiveMachine.h"
#include "ashlar/Isa/CoefficientStream.h"
#include <algorithm>
#include <cstring>
#include <set>

using namespace ashlar;
using namespace ashlar::test;

void NaiveMachine::run(const isa::TccTile &op) {
  std::vector<Tile> &table = tables[op.table];
  table.resize(machine.sparse.tcus);
  if (op.clear)
    table.assign(machine.sparse.tcus, {});
  uint64_t unit = op.unit;
  for (int64_t g = 0; g < op.copies; ++g)
    for (int64_t a = 0; a < op.gridN; ++a)
      for (int64_t i = 0; i < op.gridH; ++i)
        for (int64_t j = 0; j < op.gridW; ++j) {
          Tile tile;
          tile.group = g;
          tile.first[0] = op.n0 + a * op.images;
          tile.first[1] = op.y0 + i * op.tileH;
          tile.first[2] = op.x0 + j * op.tileW;
          const int64_t size[3] = {op.images, op.tileH, op.tileW};
          const int64_t end[3] = {op.endN, op.endH, op.endW};
          bool any = true;
          for (int d = 0; d < 3; ++d) {
            tile.count[d] = std::min(size[d], end[d] - tile.first[d]);
            any &= tile.count[d] > 0;
          }
          table[unit++] = any ? tile : Tile();
        }
}

/// Elements along an axis of a slot, from the definition of phases.
static int64_t axisElements(int64_t kernel, int64_t stride, int64_t dilation,
                            int64_t results) {
  std::set<int64_t> phases;
  for (int64_t k = 0; k < kernel; ++k)
    phases.insert(k * dilation % stride);
  int64_t sum = 0;
  for (int64_t phase : phases) {
    int64_t halo = 0;
    for (int64_t k = 0; k < kernel; ++k)
      if (k * dilation % stride == phase)
        halo = std::max(halo, k * dilation / stride);
    sum += results + halo;
  }
  return sum;
}

template <typename Op>
static int64_t slotElements(const Op &op) {
  return op.images * axisElements(op.kH, op.sH, op.dH, op.tileH) *
         axisElements(op.kW, op.sW, op.dW, op.tileW);
}

void NaiveMachine::run(const isa::DmaTile &op) {
  const int64_t bytes =
      op.type == isa::ElemType::Bfp && op.mantissa <= 8              ? 1
      : op.type == isa::ElemType::Bfp                                ? 2
      : op.type == isa::ElemType::I8 || op.type == isa::ElemType::U8 ? 1
                                                                     : 2;
  const std::vector<Tile> &table = tables[op.table];
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const Tile &tile = table[unit];
    if (tile.count[0] * tile.count[1] * tile.count[2] == 0)
      continue;
    for (int64_t i = 0; i < op.channels; ++i) {
      const int64_t channel = op.part + tile.group * op.groupStep + i;
      const auto partitions = static_cast<int64_t>(machine.sb.partitions);
      Slot slot;
      for (int64_t n = 0; n < op.inN; ++n)
        for (int64_t y = 0; y < op.inH; ++y)
          for (int64_t x = 0; x < op.inW; ++x) {
            const int64_t offset =
                op.offset + channel / partitions * op.srcTileStride +
                n * op.srcStrideN + y * op.srcStrideH + x * op.srcStrideW;
            if (tile.partial && (y < tile.own[0] || y >= tile.ownEnd[0] ||
                                 x < tile.own[1] || x >= tile.ownEnd[1]))
              continue;
            if (offset < 0 ||
                offset + bytes >
                    static_cast<int64_t>(machine.sb.bytesPerPartition))
              continue;
            const auto partition = static_cast<uint64_t>(channel % partitions);
            slot.pixels[{n, y, x}] = {
                rawElement(partition, offset, static_cast<unsigned>(bytes)),
                xm[partition / machine.xmGroup * machine.sb.bytesPerPartition +
                   static_cast<uint64_t>(offset)]};
          }
      slot.padH = op.pH;
      slot.padW = op.pW;
      const auto place =
          static_cast<uint64_t>(op.mantissas + i * slotElements(op) * bytes);
      slots[{tile.memory < 0 ? unit : static_cast<uint64_t>(tile.memory),
             op.set, place}] = slot;
    }
  }
}

void NaiveMachine::run(const isa::TccInit &op) {
  const std::vector<Tile> &table = tables[op.table];
  for (uint64_t unit = 0; unit < machine.sparse.tcus; ++unit)
    for (uint64_t z = 0; z < op.regions; ++z)
      for (uint64_t k = 0; k < op.count; ++k) {
        int64_t value = 0;
        if (op.fromMemory && unit < table.size() && table[unit].count[0] > 0)
          std::memcpy(
              &value,
              &wm[op.wm + static_cast<uint64_t>(table[unit].group) * op.wmStep +
                  8 * z],
              sizeof(value));
        sums[unit][op.acc + z * op.regionStride + k] = value;
      }
}

namespace {
struct Collect : isa::StreamVisitor {
  void coefficient(uint32_t channel, const isa::Coefficient &c) override {
    all.push_back({channel, c});
  }
  std::vector<std::pair<uint32_t, isa::Coefficient>> all;
};
} // namespace

void NaiveMachine::run(const isa::TccRun &op) {
  const std::vector<Tile> &table = tables[op.table];
  const int64_t bytes = (op.type == isa::ElemType::Bfp && op.mantissa > 8) ||
                                op.type == isa::ElemType::I16 ||
                                op.type == isa::ElemType::U16
                            ? 2
                            : 1;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const Tile &tile = table[unit];
    if (tile.count[0] == 0)
      continue;
    Collect stream;
    const uint64_t at = op.wm + static_cast<uint64_t>(tile.group) * op.wmStep;
    llvm::cantFail(
        isa::decodeStream(llvm::ArrayRef<uint8_t>(wm).slice(
                              at, std::min<uint64_t>(op.bytes, wm.size() - at)),
                          stream));
    for (const auto &[channel, c] : stream.all) {
      const Slot &slot = slots[{
          tile.memory < 0 ? unit : static_cast<uint64_t>(tile.memory), op.set,
          static_cast<uint64_t>(op.mantissas +
                                channel * slotElements(op) * bytes)}];
      for (int64_t n = 0; n < tile.count[0]; ++n)
        for (int64_t y = 0; y < tile.count[1]; ++y)
          for (int64_t x = 0; x < tile.count[2]; ++x) {
            auto pixel = slot.pixels.find(
                {tile.first[0] + n,
                 (tile.first[1] + y) * op.sH + c.ky * op.dH - slot.padH,
                 (tile.first[2] + x) * op.sW + c.kx * op.dW - slot.padW});
            if (pixel == slot.pixels.end())
              continue;
            const int64_t value =
                alignedWord(op.mode, op.type, op.mantissa, op.range, op.xr,
                            pixel->second.first, pixel->second.second);
            sums[unit]
                [op.acc + c.z * op.regionStride +
                 static_cast<uint64_t>((n * op.tileH + y) * op.tileW + x)] +=
                value * c.value();
          }
    }
  }
}

void NaiveMachine::drainTiles(const isa::ActDrain &op) {
  const std::vector<Tile> &table = tables[op.table];
  if (std::any_of(table.begin(), table.end(),
                  [](const Tile &tile) { return tile.partial; }))
    return drainPartial(op);
  bool clear = op.dstXrClear;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const Tile &tile = table[unit];
    if (tile.count[0] == 0 || tile.group != op.group)
      continue;
    isa::ActDrain part = op;
    part.n0 = static_cast<uint32_t>(tile.count[0]);
    part.n1 = static_cast<uint32_t>(tile.count[1]);
    part.n2 = static_cast<uint32_t>(tile.count[2]);
    part.dstXrClear = clear;
    clear = false;
    part.dstOffset += static_cast<uint32_t>(tile.first[0] * op.dstStride0 +
                                            tile.first[1] * op.dstStride1 +
                                            tile.first[2] * op.dstStride2);
    part.resOffset += static_cast<uint32_t>(tile.first[0] * op.resStride0 +
                                            tile.first[1] * op.resStride1 +
                                            tile.first[2] * op.resStride2);
    if (op.groupLanes == 0) {
      drained = &sums[unit];
      drainPart(part);
      drained = nullptr;
      continue;
    }
    // The regions of all groups' units with this tile, one behind another.
    std::vector<int64_t> all;
    const int64_t reach = int64_t(tile.count[0]) * op.psumStride0 +
                          tile.count[1] * op.psumStride1 +
                          tile.count[2] * op.psumStride2;
    for (uint64_t lane = 0; lane < op.cols; ++lane) {
      auto other =
          std::find_if(table.begin(), table.end(), [&](const Tile &candidate) {
            return candidate.group ==
                       int64_t(op.group + lane / op.groupLanes) &&
                   std::equal(candidate.first, candidate.first + 3,
                              tile.first) &&
                   std::equal(candidate.count, candidate.count + 3, tile.count);
          });
      const auto &own = sums[static_cast<size_t>(other - table.begin())];
      for (int64_t entry = 0; entry < reach; ++entry) {
        const uint64_t at = op.psum + lane % op.groupLanes * op.regionStride +
                            static_cast<uint64_t>(entry);
        all.push_back(at < own.size() ? own[at] : 0);
      }
    }
    part.psum = 0;
    part.regionStride = static_cast<uint32_t>(reach);
    drained = &all;
    drainPart(part);
    drained = nullptr;
  }
}
