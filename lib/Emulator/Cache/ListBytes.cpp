// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writer and reader visit the same fields in the same order.

#include "ListBytes.h"
#include "llvm/ADT/STLExtras.h"
#include <type_traits>
#include <utility>

using namespace ashlar;
using namespace ashlar::emulator;

static_assert(std::has_unique_object_representations_v<Lists::Wait>);

/// The two flags of an entry.
enum : uint8_t { isFirstFlag = 1, isAwaitedFlag = 2 };

static void writeList(const Lists::List &list, Writer &out) {
  std::vector<uint32_t> instructions, ends;
  std::vector<uint8_t> flags;
  for (const Lists::Entry &entry : list.entries) {
    instructions.push_back(entry.instruction);
    ends.push_back(entry.endOfWaits);
    flags.push_back(
        static_cast<uint8_t>((entry.isFirst ? isFirstFlag : 0) |
                             (entry.isAwaited ? isAwaitedFlag : 0)));
  }
  out.list(llvm::ArrayRef<uint32_t>(instructions));
  out.list(llvm::ArrayRef<uint32_t>(ends));
  out.list(llvm::ArrayRef<uint8_t>(flags));
  out.list(llvm::ArrayRef<Lists::Wait>(list.waits));
  out.list(llvm::ArrayRef<uint32_t>(list.uses));
}

static Lists::List readList(Reader &in) {
  Lists::List list;
  const auto instructions = in.list<uint32_t>();
  const auto ends = in.list<uint32_t>();
  const auto flags = in.list<uint8_t>();
  list.waits = in.list<Lists::Wait>();
  list.uses = in.list<uint32_t>();
  if (ends.size() != instructions.size() || flags.size() != ends.size()) {
    in.good = false;
    return list;
  }
  for (size_t i = 0; i < ends.size(); ++i)
    list.entries.push_back({instructions[i], ends[i],
                            (flags[i] & isFirstFlag) != 0,
                            (flags[i] & isAwaitedFlag) != 0});
  return list;
}

void emulator::writeLists(const Lists &lists, Writer &out) {
  out.number(lists.alone);
  out.number(lists.together);
  out.number(uint32_t(lists.lists.size()));
  for (const Lists::List &list : lists.lists)
    writeList(list, out);
}

std::shared_ptr<const Lists>
emulator::readLists(Reader &in, size_t instructions, size_t operands) {
  auto lists = std::make_shared<Lists>();
  lists->alone = in.number<float>();
  lists->together = in.number<float>();
  const auto count = in.number<uint32_t>();
  for (uint32_t i = 0; in.good && i < count; ++i)
    lists->lists.push_back(readList(in));
  const auto fits = [&](const Lists::List &list) {
    uint32_t waits = 0;
    for (const Lists::Entry &entry : list.entries)
      if (entry.instruction >= instructions ||
          std::exchange(waits, entry.endOfWaits) > entry.endOfWaits)
        return false;
    return waits <= list.waits.size() && list.uses.size() == operands &&
           llvm::all_of(list.waits, [&](const Lists::Wait &wait) {
             return wait.thread < count &&
                    wait.position <= lists->lists[wait.thread].entries.size();
           });
  };
  in.good = in.good && count > 1 && count <= Lists::mostThreads &&
            llvm::all_of(lists->lists, fits);
  return in.good ? std::move(lists) : nullptr;
}
