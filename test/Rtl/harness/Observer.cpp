// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of test/Rtl/rtl/trace.sv.

#include "Chip.h"
#include <fmt/format.h>

using namespace ashlar::rtl;

Observer &ashlar::rtl::observer() {
  static Observer instance;
  return instance;
}

static Record &record() { return *observer().record; }

static Times *timesOf(int instruction) {
  const auto index = static_cast<size_t>(instruction);
  return index < record().times.size() ? &record().times[index] : nullptr;
}

/// The memories as the hardware numbers them: those of the instruction set, and
/// PSUM.
enum Memory { Dram = 0, Sb = 1, Xm = 2, Xr = 5, Psum = 6 };

template <typename T>
static void put(std::vector<T> &memory, size_t at, long long value) {
  if (memory.size() <= at)
    memory.resize(at + 1);
  memory[at] = static_cast<T>(value);
}

extern "C" {

void rtl_start(int instr, int cycle) {
  if (Times *times = timesOf(instr))
    times->start = cycle;
}

void rtl_issued(int instr, int cycle) {
  if (Times *times = timesOf(instr))
    times->issued = cycle;
}

void rtl_complete(int instr, int cycle) {
  if (Times *times = timesOf(instr))
    times->complete = cycle;
  record().cycles = std::max(record().cycles, static_cast<uint64_t>(cycle));
}

void rtl_sb_busy(int instr) {
  if (Times *times = timesOf(instr))
    ++times->sbBusy;
}

static void add(Event::Kind kind, int instr, int step, int column, int entry,
                long long value, int cycle) {
  Event event;
  event.kind = kind;
  event.instruction = instr;
  event.step = step;
  event.column = column;
  event.entry = entry;
  event.value = value;
  event.cycle = static_cast<uint64_t>(cycle);
  record().events.push_back(event);
}

void rtl_enter(int instr, int step, int cycle) {
  add(Event::Enter, instr, step, 0, 0, 0, cycle);
}

void rtl_write(int instr, int step, int column, int entry, long long value,
               int cycle) {
  add(Event::Write, instr, step, column, entry, value, cycle);
}

void rtl_drain(int instr, int step, int column, int entry, long long value,
               int cycle) {
  add(Event::Drain, instr, step, column, entry, value, cycle);
}

void rtl_fail(const char *what, int instr, int cycle) {
  record().failures.push_back(
      fmt::format("instruction {}, cycle {}: {}", instr, cycle, what));
}

void rtl_collision(int cells) {
  record().collisions += static_cast<uint64_t>(cells);
}

unsigned char rtl_dram_image(int at) {
  const auto index = static_cast<size_t>(at);
  return index < observer().dram.size() ? observer().dram[index] : 0;
}

void rtl_dump(int memory, long long at, long long value) {
  const auto index = static_cast<size_t>(at);
  switch (memory) {
  case Dram:
    return put(record().dram, index, value);
  case Sb:
    return put(record().sb, index, value);
  case Xm:
    return put(record().xm, index, value);
  case Xr:
    return put(record().xr, index, value);
  default:
    return put(record().psum, index, value);
  }
}

} // extern "C"
