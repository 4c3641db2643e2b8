// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What vec.pool streams of its source: every position of every window that lies
// in the feature map, and for a maximum that is taken one axis after the other,
// the windows of the first of them.

#include "SbStreams.h"

#include "ashlar/Machine/PoolVisits.h"

#include <algorithm>

namespace ashlar::isa {

namespace {

/// Places of one axis, from coordinate `first` on: results side by side, for
/// one tap after the other.
struct Places {
  int64_t first = 0;
  AccessDim taps, results; ///< Strides are steps of the coordinate.
};

/// More pieces than this are not told apart.
constexpr size_t mostPieces = 4096;

struct Axis {
  int64_t in, out, kernel, step, dilation, pad;

  int64_t lowest() const { return std::max<int64_t>(0, -pad); }
  int64_t highest() const {
    return std::min(in - 1, (out - 1) * step - pad + (kernel - 1) * dilation);
  }

  /// Every coordinate that some window reads, once.
  llvm::SmallVector<Places, 4> once() const {
    if (highest() < lowest())
      return {};
    return {{lowest(), {}, {extent(), 1}}};
  }

  /// The positions of all windows; of windows that leave the feature map, tap
  /// by tap.
  llvm::SmallVector<Places, 4> windows() const {
    const int64_t last = (out - 1) * step - pad + (kernel - 1) * dilation;
    if (pad <= 0 && last < in)
      return {{-pad,
               {static_cast<uint64_t>(kernel), dilation},
               {static_cast<uint64_t>(out), step}}};
    llvm::SmallVector<Places, 4> taps;
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t shift = k * dilation - pad; // 0 <= o*step + shift < in
      const int64_t begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
      const int64_t end =
          in - shift <= 0 ? 0 : std::min(out, (in - shift - 1) / step + 1);
      if (begin < end)
        taps.push_back({begin * step + shift,
                        {},
                        {static_cast<uint64_t>(end - begin), step}});
    }
    return taps;
  }

  /// At least as much as windows(), in one piece: whole feature maps.
  llvm::SmallVector<Places, 4> atMost() const {
    llvm::SmallVector<Places, 4> all = once();
    for (Places &places : all)
      places.taps.count =
          (static_cast<uint64_t>(out * kernel) + extent() - 1) / extent();
    return all;
  }

private:
  uint64_t extent() const {
    return static_cast<uint64_t>(highest() - lowest() + 1);
  }
};

} // namespace

void StreamCollector::pooled(const VecPool &op, const TensorOperand &o) {
  const Axis axes[3] = {{op.inD, op.outD, op.kD, op.sD, op.dD, op.pD},
                        {op.inH, op.outH, op.kH, op.sH, op.dH, op.pH},
                        {op.inW, op.outW, op.kW, op.sW, op.dW, op.pW}};
  machine::PoolShape shape;
  for (int i = 0; i < 3; ++i) {
    shape.in[i] = static_cast<uint64_t>(axes[i].in);
    shape.out[i] = static_cast<uint64_t>(axes[i].out);
    shape.kernel[i] = static_cast<uint64_t>(axes[i].kernel);
  }
  const bool separated =
      machine::vecPoolVisits(static_cast<machine::PoolKind>(op.kind), shape)
          .firstPass >= 0;
  llvm::SmallVector<Places, 4> pieces[3];
  size_t count = 1;
  bool windowed = false; // the first axis with windows has been met
  for (int i = 2; i >= 0; --i) {
    // Outside of the first axis with a window all lines are read.
    pieces[i] = separated && windowed ? axes[i].once() : axes[i].windows();
    windowed |= axes[i].kernel > 1;
    count *= pieces[i].size();
  }
  if (count > mostPieces)
    for (int i = 0; i < 3; ++i)
      pieces[i] = axes[i].atMost();
  for (const Places &d : pieces[0])
    for (const Places &h : pieces[1])
      for (const Places &w : pieces[2]) {
        const Places *places[3] = {&d, &h, &w};
        TensorOperand read = o;
        read.loops.assign(6, {});
        for (int i = 0; i < 3; ++i) {
          const int64_t stride = o.loops[i].stride;
          auto at = [&](const AccessDim &step) {
            return AccessDim{step.count, step.stride * stride};
          };
          read.offset += static_cast<uint64_t>(places[i]->first * stride);
          read.loops[i] = at(places[i]->taps);
          read.loops[3 + i] = at(places[i]->results);
        }
        tensor(read);
      }
}

} // namespace ashlar::isa
