// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits of written memory.

#include "WrittenBits.h"
#include <algorithm>

using namespace ashlar::emulator;

//===- Planes -------------------------------------------------------------===//

/// Lanes [begin, end) as a mask of word `word`.
static uint64_t laneMask(uint32_t begin, uint32_t end, uint64_t word) {
  uint64_t low = std::max<uint64_t>(begin, word * 64);
  uint64_t high = std::min<uint64_t>(end, word * 64 + 64);
  if (low >= high)
    return 0;
  uint64_t ones = ~uint64_t(0) >> (64 - (high - low));
  return ones << (low - word * 64);
}

bool BitPlane::allocate(uint64_t units, uint64_t lanes) {
  words = (lanes + 63) / 64;
  grouped = false;
  for (unsigned level = 0; level < numLevels; ++level) {
    const uint64_t groups = (units >> (groupBits * level)) + 1;
    if (!levels[level].allocate(groups * words * sizeof(uint64_t)))
      return false;
  }
  return true;
}

void BitPlane::set(uint64_t begin, uint64_t end, uint32_t laneBegin,
                   uint32_t laneEnd, uint64_t &steps) {
  constexpr uint64_t group = uint64_t(1) << groupBits;
  constexpr uint64_t most = group << groupBits;
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    const uint64_t mask = laneMask(laneBegin, laneEnd, w);
    for (uint64_t u = begin; u < end; ++steps) {
      unsigned level = 0;
      if (u % group == 0 && end - u >= group)
        level = u % most == 0 && end - u >= most ? 2 : 1;
      grouped |= level > 0;
      at(level, u >> (groupBits * level), w) |= mask;
      u += uint64_t(1) << (groupBits * level);
    }
  }
}

void BitPlane::pushDown(uint64_t begin, uint64_t end, uint64_t word,
                        uint64_t mask, uint64_t &steps) {
  for (unsigned level = numLevels - 1; grouped && level > 0; --level) {
    const unsigned shift = groupBits * level;
    for (uint64_t g = begin >> shift; g << shift < end; ++g, ++steps) {
      uint64_t &full = at(level, g, word);
      const uint64_t down = full & mask;
      if (down == 0)
        continue;
      full &= ~mask;
      const uint64_t first = g << groupBits;
      for (uint64_t i = 0; i < uint64_t(1) << groupBits; ++i, ++steps)
        // The last group may be longer than the memory.
        if ((first + i) << (shift - groupBits) <
            levels[0].size() / (words * sizeof(uint64_t)))
          at(level - 1, first + i, word) |= down;
    }
  }
}

void BitPlane::clear(uint64_t begin, uint64_t end, uint32_t laneBegin,
                     uint32_t laneEnd, uint64_t &steps) {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    const uint64_t mask = laneMask(laneBegin, laneEnd, w);
    pushDown(begin, end, w, mask, steps);
    for (uint64_t u = begin; u < end; ++u, ++steps)
      at(0, u, w) &= ~mask;
  }
}

std::optional<uint64_t> BitPlane::firstUnset(unsigned level, uint64_t begin,
                                             uint64_t end, uint64_t word,
                                             uint64_t mask, uint64_t &steps) {
  // The bits of level - 1 in [begin, end), which no group of `level` spans.
  const unsigned shift = groupBits * level;
  for (uint64_t u = begin; u < end;) {
    const uint64_t next = std::min(end, ((u >> shift) + 1) << shift);
    steps += 3;
    uint64_t &full = at(level, u >> shift, word);
    const uint64_t missing = mask & ~full;
    if (missing == 0) {
      u = next;
      continue;
    }
    if (level == 0)
      return u;
    if (std::optional<uint64_t> found =
            firstUnset(level - 1, u, next, word, missing, steps))
      return found;
    if (next - u == uint64_t(1) << shift) {
      full |= missing;
      grouped = true;
    }
    u = next;
  }
  return std::nullopt;
}

std::optional<uint64_t> BitPlane::firstUnset(uint64_t begin, uint64_t end,
                                             uint32_t laneBegin,
                                             uint32_t laneEnd,
                                             uint64_t &steps) {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w)
    if (std::optional<uint64_t> found =
            firstUnset(numLevels - 1, begin, end, w,
                       laneMask(laneBegin, laneEnd, w), steps))
      return found;
  return std::nullopt;
}

std::optional<uint64_t> BitPlane::firstSet(uint64_t begin, uint64_t end,
                                           uint32_t laneBegin, uint32_t laneEnd,
                                           uint64_t &steps) {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    const uint64_t mask = laneMask(laneBegin, laneEnd, w);
    for (uint64_t u = begin; u < end; ++u, ++steps) {
      uint64_t bits = at(0, u, w);
      for (unsigned level = 1; grouped && level < numLevels; ++level)
        bits |= at(level, u >> (groupBits * level), w);
      if (bits & mask)
        return u;
    }
  }
  return std::nullopt;
}

//===- Lines --------------------------------------------------------------===//

/// Bits [begin, end) of a word; 0 <= begin < end <= 64.
static uint64_t bitsOf(uint64_t begin, uint64_t end) {
  return (~uint64_t(0) >> (64 - (end - begin))) << begin;
}

bool BitLine::allocate(uint64_t units) {
  for (unsigned k = 0; k < numLevels; ++k)
    if (!levels[k].allocate(((units >> (groupBits * k)) / 64 + 1) *
                            sizeof(uint64_t)))
      return false;
  return true;
}

void BitLine::set(uint64_t begin, uint64_t end, uint64_t &steps) {
  for (unsigned k = 0; begin < end; ++k) {
    auto setBits = [&](uint64_t from, uint64_t to) {
      for (uint64_t w = from / 64; w * 64 < to; ++w, ++steps) {
        const uint64_t low = std::max(from, w * 64) - w * 64;
        level(k)[w] |= bitsOf(low, std::min(to - w * 64, uint64_t(64)));
      }
    };
    const uint64_t head = (begin + 63) / 64, tail = end / 64;
    if (k + 1 == numLevels || head >= tail)
      return setBits(begin, end);
    setBits(begin, head * 64);
    setBits(tail * 64, end);
    begin = head;
    end = tail;
  }
}

std::optional<uint64_t> BitLine::firstUnset(uint64_t begin, uint64_t end,
                                            uint64_t &steps) {
  for (uint64_t at = begin; at < end; ++steps) {
    // The largest full group that `at` lies in.
    unsigned full = numLevels - 1;
    while (full > 0 && !holds(full, at >> (groupBits * full)))
      --full;
    if (full > 0) {
      const uint64_t group = at >> (groupBits * full);
      // A word of full groups is a full group of the next level.
      if (group % 64 == 0 && full + 1 < numLevels &&
          level(full)[group / 64] == ~uint64_t(0))
        level(full + 1)[group / 64 / 64] |= uint64_t(1) << (group / 64 % 64);
      else
        at = (group + 1) << (groupBits * full);
      continue;
    }
    const uint64_t word = at / 64;
    const uint64_t wanted =
        bitsOf(at % 64, std::min(end - word * 64, uint64_t(64)));
    const uint64_t missing = wanted & ~level(0)[word];
    if (missing)
      return word * 64 + static_cast<uint64_t>(__builtin_ctzll(missing));
    if (level(0)[word] == ~uint64_t(0))
      level(1)[word / 64] |= uint64_t(1) << (word % 64);
    at = (word + 1) * 64;
  }
  return std::nullopt;
}
