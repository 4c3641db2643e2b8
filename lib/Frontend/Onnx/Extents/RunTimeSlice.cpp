// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices whose starts or ends are known at run time: reads at computed indices,
// with room for the most and a count.

#include "RunTimeSlice.h"
#include "ShapeEntries.h"

#include "lib/Frontend/Onnx/Registry.h"

#include "dialects/NN/NNOps.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// One axis of a slice; numbers are one i64 each.
struct Cut {
  int64_t size, step;
  Value start, end;
};

class Numbers {
public:
  explicit Numbers(Node &n)
      : n(n), type(mlir::IntegerType::get(n.context(), 64)) {}
  Value of(int64_t value) { return n.integers({value}, {1}, type); }
  Value clamp(Value x, int64_t low, int64_t high) {
    return n.binary<MinOp>(n.binary<MaxOp>(x, of(low)), of(high));
  }
  /// Counted from the end if negative.
  Value wrapped(Value x, int64_t size) {
    return n.where(n.compare(CompareKind::Less, x, of(0)),
                   n.binary<AddOp>(x, of(size)), x);
  }

  Node &n;
  const Type type;
};

/// How many elements the cut takes; its start is made an index.
Value countOf(Numbers &k, Cut &cut) {
  Node &n = k.n;
  const bool forward = cut.step > 0;
  const int64_t low = forward ? 0 : -1,
                high = forward ? cut.size : cut.size - 1;
  cut.start = k.clamp(k.wrapped(cut.start, cut.size), 0, high);
  // What is still negative is before the first element: it ends nothing that
  // goes backwards.
  cut.end = k.clamp(k.wrapped(cut.end, cut.size), low, high);
  Value span = forward ? n.binary<SubOp>(cut.end, cut.start)
                       : n.binary<SubOp>(cut.start, cut.end);
  const int64_t step = forward ? cut.step : -cut.step;
  span = n.binary<MaxOp>(span, k.of(0));
  return n.binary<DivOp>(n.binary<AddOp>(span, k.of(step - 1)), k.of(step));
}

/// The most elements that a cut takes: a constant number of steps if the end is
/// the start and a constant, as exporters write it.
int64_t capacityOf(const Cut &cut) {
  const int64_t step = cut.step > 0 ? cut.step : -cut.step;
  int64_t capacity = (cut.size + step - 1) / step;
  if (auto sum = cut.end ? cut.end.getDefiningOp<AddOp>() : AddOp())
    for (auto [one, other] :
         {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())})
      if (auto length = integersOf(other); one == cut.start && length &&
                                           length->size() == 1 &&
                                           cut.step > 0 && length->front() > 0)
        capacity = std::min(capacity, (length->front() + step - 1) / step);
  return std::max<int64_t>(capacity, 1);
}

} // namespace

Value ashlar::frontend::sliceAtRunTime(Node &n, Value x, int64_t axis,
                                       int64_t step, Value starts, Value ends,
                                       int64_t entry, RunTimeExtent &extent) {
  Cut cut{shapeOf(x)[axis], step, entryOf(n, starts, entry),
          entryOf(n, ends, entry)};
  if (cut.size == 0)
    return n.unsupported("{} has no elements", typeText(x));
  // A step beyond the size takes the first element, whatever it is.
  cut.step = std::clamp<int64_t>(step, -cut.size, cut.size);
  const int64_t capacity = capacityOf(cut);
  Numbers k(n);
  Value count = countOf(k, cut);
  Value places =
      n.binary<MulOp>(n.iota(capacity, 0, 1, k.type), k.of(cut.step));
  places = n.binary<AddOp>(places, cut.start);
  extent = {axis, count};
  return takeRows(n, x, axis, k.clamp(places, 0, cut.size - 1));
}
