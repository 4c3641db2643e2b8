// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a fuzz target once over every file of the folders given: replays the
// seed corpus in builds without a fuzzer. With --mutations=N it continues with
// N random changes of those files (--seed=S): blind, but in the build that
// users have. An input that takes more than 20 seconds ends it by SIGALRM; the
// input that is being run lies in the file of --keep=FILE.

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

class Mutator {
public:
  Mutator(const std::vector<Bytes> &seeds, uint64_t seed)
      : seeds(seeds), draw(seed) {}

  Bytes next() {
    Bytes bytes = pick(seeds);
    // What moves bytes is mostly refused at once where a format has offsets.
    const bool inPlace = below(2) == 0;
    for (uint64_t n = 1 + below(4); n-- > 0;)
      change(bytes, inPlace);
    return bytes;
  }

private:
  uint64_t below(uint64_t n) { return n ? draw() % n : 0; }
  const Bytes &pick(const std::vector<Bytes> &from) {
    return from[below(from.size())];
  }
  void change(Bytes &bytes, bool inPlace);
  void replaceNumber(Bytes &bytes);

  const std::vector<Bytes> &seeds;
  std::mt19937_64 draw;
};

/// A number of a text becomes one at a limit.
void Mutator::replaceNumber(Bytes &bytes) {
  static const char *const numbers[] = {
      "0",          "-1",    "1e400", "4294967296", "9223372036854775807",
      "2147483647", "65536", "255",   "1e-320",     "18446744073709551616",
      "[]",         "{}",    "null",  "nan",        "-9223372036854775808"};
  auto isDigit = [](uint8_t c) { return c >= '0' && c <= '9'; };
  const auto from = bytes.begin() + static_cast<ptrdiff_t>(below(bytes.size()));
  const auto begin = std::find_if(from, bytes.end(), isDigit);
  const auto end = std::find_if_not(begin, bytes.end(), isDigit);
  const llvm::StringRef number = numbers[below(std::size(numbers))];
  const auto at = bytes.erase(begin, end);
  bytes.insert(at, number.begin(), number.end());
}

void Mutator::change(Bytes &bytes, bool inPlace) {
  static constexpr uint8_t limits[] = {0, 1, 0x7f, 0x80, 0xff};
  if (bytes.empty())
    return bytes.push_back(static_cast<uint8_t>(draw()));
  const size_t at = below(bytes.size());
  const size_t length = 1 + below(std::min<size_t>(bytes.size() - at, 64));
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
  const auto end = begin + static_cast<ptrdiff_t>(length);
  switch (below(inPlace ? 4 : 8)) {
  case 0:
    bytes[at] ^= static_cast<uint8_t>(1u << below(8));
    return;
  case 1:
    bytes[at] = limits[below(std::size(limits))];
    return;
  case 2:
    bytes[at] = static_cast<uint8_t>(draw());
    return;
  case 3:
    std::fill(begin,
              begin + static_cast<ptrdiff_t>(std::min<size_t>(length, 8)),
              limits[below(std::size(limits))]);
    return;
  case 4:
    bytes.erase(begin, end);
    return;
  case 5: {
    const Bytes copy(begin, end);
    bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(below(bytes.size())),
                 copy.begin(), copy.end());
    return;
  }
  case 6: { // of another seed, in place
    const Bytes &other = pick(seeds);
    for (size_t i = 0; i < length && at + i < other.size(); ++i)
      bytes[at + i] = other[at + i];
    return;
  }
  default:
    return replaceNumber(bytes);
  }
}

void runOne(const Bytes &bytes, const std::string &keep) {
  if (!keep.empty())
    if (std::FILE *file = std::fopen(keep.c_str(), "wb")) {
      std::fwrite(bytes.data(), 1, bytes.size(), file);
      std::fclose(file);
    }
  ::alarm(20);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ::alarm(0);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<Bytes> seeds;
  uint64_t mutations = 0, seed = 1;
  std::string keep;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument.consume_front("--mutations=")) {
      if (argument.getAsInteger(10, mutations))
        return 2;
      continue;
    }
    if (argument.consume_front("--seed=")) {
      if (argument.getAsInteger(10, seed))
        return 2;
      continue;
    }
    if (argument.consume_front("--keep=")) {
      keep = argument.str();
      continue;
    }
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(argument, error), end;
         !error && it != end; it.increment(error))
      if (auto buffer = llvm::MemoryBuffer::getFile(it->path()))
        seeds.emplace_back((*buffer)->getBufferStart(),
                           (*buffer)->getBufferEnd());
  }
  for (const Bytes &bytes : seeds)
    runOne(bytes, keep);
  std::printf("replayed %zu inputs\n", seeds.size());
  if (seeds.empty() || mutations == 0)
    return seeds.empty() ? 1 : 0;
  Mutator mutator(seeds, seed);
  for (uint64_t i = 0; i < mutations; ++i)
    runOne(mutator.next(), keep);
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%llu mutations, %ld MB at most\n",
              static_cast<unsigned long long>(mutations),
              usage.ru_maxrss / 1024);
  return 0;
}
