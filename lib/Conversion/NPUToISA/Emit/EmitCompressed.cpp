// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compressed maps: regions of whole cells between DRAM and the state buffer.
// Assumption: choose-map-form gives a form only where every region that is
// written or read has whole rows and whole cells.

#include "../Generator.h"

#include "llvm/Support/MathExtras.h"

namespace ashlar::codegen {

using analysis::MapForm;

namespace {

/// Some groups of equally many channels of one image's rows.
struct CellRun {
  int64_t image, group, groups, channels;
  int64_t row, rows;
};

class CellEmitter {
public:
  CellEmitter(ProgramBuilder &builder, const MapForm &form, const View &home,
              const Region &region, const View &view, bool store)
      : builder(builder), form(form), home(home), region(region), view(view),
        store(store) {}

  void emit() {
    const int64_t channels = region.size[1];
    const int64_t whole = channels / form.cellChannels;
    const int64_t first = region.start[1] / form.cellChannels;
    for (int64_t n = 0; n < region.size[0]; ++n) {
      if (whole > 0)
        emitRows({n, first, whole, form.cellChannels, 0, 0});
      if (int64_t tail = channels % form.cellChannels)
        emitRows({n, first + whole, 1, tail, 0, 0});
    }
  }

private:
  /// Shares the rows out among as many queues as gain by it.
  void emitRows(CellRun run) {
    Region part = region;
    part.size[0] = 1;
    part.size[1] = run.groups * run.channels;
    const int64_t rows = analysis::rowsOf(region.size);
    const int64_t parts = compressedTransfer(form, part, home.type.bytes(),
                                             store, builder.machine)
                              .parts;
    const int64_t share = llvm::divideCeil(rows, parts);
    for (int64_t row = 0; row < rows; row += share) {
      run.row = row;
      run.rows = std::min(share, rows - row);
      emitRun(run);
    }
  }

  /// Address of channel `channel` of the region in the state buffer.
  int64_t addressOf(int64_t image, int64_t channel, int64_t row) const {
    const machine::Description &machine = builder.machine;
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    const int64_t position = view.part + channel;
    return position % partitions *
               static_cast<int64_t>(machine.sb.bytesPerPartition) +
           position / partitions * view.tileStride + view.base +
           image * view.strides[0] + row * rowStride();
  }
  int64_t rowStride() const { return view.rank() < 4 ? 0 : view.strides[2]; }

  template <typename Op>
  Op common(const CellRun &run) {
    Op op{};
    op.queue = builder.nextMovementQueue();
    op.elemBytes = home.type.bytes();
    op.cellBytes = form.cellBytes;
    op.typicalBytes = form.typical;
    const auto partitions = static_cast<int64_t>(builder.machine.sb.partitions);
    op.n0 = run.groups;
    op.n1 = run.rows;
    op.n2 = llvm::divideCeil(run.channels, partitions);
    op.n3 = std::min(run.channels, partitions);
    op.n4 = region.size.back();
    return op;
  }

  void emitRun(const CellRun &run) {
    const machine::Description &machine = builder.machine;
    const int64_t height = analysis::rowsOf(home.shape);
    const int64_t firstRow = (home.rank() < 4 ? 0 : region.start[2]) + run.row;
    const int64_t image = region.start[0] + run.image;
    const int64_t cell =
        home.base +
        ((image * form.groups(home.shape) + run.group) * height + firstRow) *
            form.pitch;
    const int64_t channel = run.group * form.cellChannels - region.start[1];
    const int64_t inside = addressOf(run.image, channel, run.row);
    // Strides of loops that run once are not addresses of anything.
    const int64_t nextGroup =
        run.groups > 1
            ? addressOf(run.image, channel + run.channels, run.row) - inside
            : 0;
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    const int64_t nextTile = run.channels > partitions ? view.tileStride : 0;
    const auto nextChannel = static_cast<int64_t>(machine.sb.bytesPerPartition);
    if (store) {
      auto op = common<isa::DmaCompress>(run);
      op.form = static_cast<isa::MapForm>(form.form);
      op.levels = form.levels;
      op.srcBase = inside, op.dstBase = cell;
      op.srcStride0 = nextGroup, op.srcStride1 = rowStride();
      op.srcStride2 = nextTile, op.srcStride3 = nextChannel;
      op.srcStride4 = view.strides.back();
      op.dstStride0 = height * form.pitch, op.dstStride1 = form.pitch;
      return builder.emit(op);
    }
    auto op = common<isa::DmaExpand>(run);
    op.srcBase = cell, op.dstBase = inside;
    op.dstStride0 = nextGroup, op.dstStride1 = rowStride();
    op.dstStride2 = nextTile, op.dstStride3 = nextChannel;
    op.dstStride4 = view.strides.back();
    op.srcStride0 = height * form.pitch, op.srcStride1 = form.pitch;
    builder.emit(op);
  }

  ProgramBuilder &builder;
  const MapForm &form;
  const View &home;
  const Region &region;
  const View &view;
  bool store;
};

} // namespace

void emitStore(Generator &generator, const MapForm *form, const View &view,
               const View &home, const Region &region) {
  ProgramBuilder &builder = generator.builder;
  const View target = home.slice(region, generator.machine);
  if (!form)
    return emitCopy(builder, view, target);
  CellEmitter(builder, *form, home, region, view, /*store=*/true).emit();
  emitExponents(builder, view, target);
}

void emitLoad(Generator &generator, const MapForm *form, const View &home,
              const Region &region, const View &view) {
  ProgramBuilder &builder = generator.builder;
  const View source = home.slice(region, generator.machine);
  if (!form)
    return emitCopy(builder, source, view);
  CellEmitter(builder, *form, home, region, view, /*store=*/false).emit();
  emitExponents(builder, source, view);
}

} // namespace ashlar::codegen
