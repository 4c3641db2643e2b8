// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where proofs lie, whose they are, and what they are found by.

#include "ProofCache.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ThreadPool.h"
#include "ashlar/Support/Version.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <fmt/format.h>
#include <system_error>
#if defined(__unix__)
#include <unistd.h>
#endif

using namespace ashlar;
using namespace ashlar::emulator;
namespace fs = llvm::sys::fs;

namespace {
using Hash = llvm::BLAKE3;

constexpr char magic[] = "ashlar proof 2";
constexpr size_t digestBytes = 32;
} // namespace

template <typename T>
static void add(Hash &hash, const T &number) {
  hash.update(llvm::ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(&number), sizeof(number)));
}

/// The tool's version, and its file: two builds of a version may differ in what
/// they prove. False if the file is unknown.
static bool addTool(Hash &hash) {
  hash.update(llvm::StringRef(magic, sizeof(magic)));
  hash.update(support::versionString());
  static int anchor = 0;
  fs::file_status status;
  const std::string file = fs::getMainExecutable("", &anchor);
  if (file.empty() || fs::status(file, status))
    return false;
  add(hash, status.getSize());
  add(hash, status.getLastModificationTime().time_since_epoch().count());
  return true;
}

/// Adds the constants piece by piece, on all threads: the same for any number
/// of them.
static void addConstants(Hash &hash,
                         llvm::ArrayRef<container::Segment> constants,
                         unsigned threads) {
  constexpr size_t pieceBytes = 1 << 20;
  std::vector<llvm::ArrayRef<uint8_t>> pieces;
  for (const container::Segment &segment : constants) {
    add(hash, segment.dramOffset);
    add(hash, uint64_t(segment.bytes.size()));
    for (size_t at = 0; at < segment.bytes.size(); at += pieceBytes)
      pieces.push_back(segment.bytes.drop_front(at).take_front(pieceBytes));
  }
  std::vector<llvm::BLAKE3Result<digestBytes>> digests(pieces.size());
  auto digest = [&](uint64_t i) { digests[i] = Hash::hash(pieces[i]); };
  if (threads > 1 && pieces.size() > 1) {
    support::ThreadPool pool(threads);
    pool.parallelFor(pieces.size(), digest);
  } else {
    for (size_t i = 0; i < pieces.size(); ++i)
      digest(i);
  }
  for (const auto &one : digests)
    hash.update(one);
}

/// All that the container of the program would hold, machine included.
static bool addProgram(Hash &hash, const container::Program &program,
                       unsigned threads) {
  container::Program tables = program;
  tables.constants.clear();
  llvm::Expected<std::vector<uint8_t>> bytes = container::serialize(tables);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return false;
  }
  add(hash, uint64_t(bytes->size()));
  hash.update(*bytes);
  addConstants(hash, program.constants, threads);
  return true;
}

/// Whether nobody but this user may have written a file or a folder.
static bool isOwn(const fs::file_status &status) {
#if defined(__unix__)
  return status.getUser() == geteuid() &&
         (status.permissions() & (fs::group_write | fs::others_write)) ==
             fs::no_perms;
#else
  (void)status;
  return false;
#endif
}

static std::vector<uint8_t> makeKey(const container::Program &program,
                                    unsigned threads) {
  Hash hash;
  if (!addTool(hash) || !addProgram(hash, program, threads))
    return {};
  const auto digest = hash.final();
  return {digest.begin(), digest.end()};
}

/// The name of a file is cheap to find, so that a program without a kept proof
/// loses no time: only the key inside tells that the proof is the program's.
ProofCache::ProofCache(const container::Program &program,
                       size_t numInstructions, llvm::StringRef folder,
                       unsigned threads)
    : folder(folder), threads(threads) {
  if (folder.empty() || numInstructions < leastProvedInstructions)
    return;
  const uint64_t code = llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(program.code.data()),
      program.code.size() * sizeof(uint64_t)));
  llvm::SmallString<128> name(folder);
  llvm::sys::path::append(name, fmt::format("{:016x}.proof", code));
  path = std::string(name);
  if (threads < 2 || !fs::exists(path))
    return;
  try {
    // The caller decodes and prepares the program meanwhile: one thread.
    keyThread = std::thread([this, &program] { key = makeKey(program, 1); });
  } catch (const std::system_error &) {
    // No thread: then in restore().
  }
}

ProofCache::~ProofCache() { finishKey(); }

void ProofCache::finishKey() {
  if (keyThread.joinable())
    keyThread.join();
}

llvm::ArrayRef<uint8_t> ProofCache::keyOf(const container::Program &program) {
  finishKey();
  if (!key)
    key = makeKey(program, threads);
  return *key;
}

bool ProofCache::restore(LoadedProgram::Impl &impl) {
  const llvm::scope_exit finish([&] { finishKey(); });
  fs::file_status status, place;
  if (path.empty() || fs::status(path, status) || fs::status(folder, place))
    return false;
  if (!fs::is_regular_file(status) || !isOwn(status) || !isOwn(place)) {
    note = fmt::format("'{}' is ignored: expected a file in a folder that "
                       "nobody else may write to",
                       path);
    path.clear(); // It is not replaced either.
    return false;
  }
  auto file = support::readFile(path);
  if (!file) {
    note = fmt::format("'{}' is ignored: {}", path,
                       llvm::toString(file.takeError()));
    return false;
  }
  llvm::ArrayRef<uint8_t> bytes = support::contents(**file);
  const bool whole =
      bytes.size() >= 2 * digestBytes &&
      llvm::ArrayRef<uint8_t>(Hash::hash(bytes.drop_front(digestBytes))) ==
          bytes.take_front(digestBytes);
  // Another version's proof, or that of a program with the same code and other
  // constants, is no mistake.
  if (whole && keyOf(impl.program) != bytes.slice(digestBytes, digestBytes))
    return false;
  if (whole && decodeProof(bytes.drop_front(2 * digestBytes), impl)) {
    restoredAccount = impl.account.has_value();
    restoredLists = impl.listThreads;
    impl.proofWasKept = true;
    return restored = true;
  }
  note = fmt::format("'{}' is damaged: the program is proved again", path);
  return false;
}

/// Removes the oldest proofs until there is room for one more.
static void makeRoom(const std::string &folder) {
  std::vector<std::pair<llvm::sys::TimePoint<>, std::string>> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    llvm::ErrorOr<fs::basic_file_status> status = entry->status();
    if (status && llvm::sys::path::extension(entry->path()) == ".proof")
      files.emplace_back(status->getLastModificationTime(), entry->path());
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + mostProofs <= files.size(); ++i)
    (void)fs::remove(files[i].second);
}

void ProofCache::store(const LoadedProgram::Impl &impl) {
  // What has been restored is only written again to add something.
  const bool more =
      (impl.account && !restoredAccount) || impl.listThreads != restoredLists;
  if (path.empty() || (restored && !more))
    return;
  std::vector<uint8_t> bytes = keyOf(impl.program).vec();
  if (bytes.empty())
    return;
  fs::file_status status;
  std::error_code error = fs::create_directories(folder, true, fs::owner_all);
  if (!error)
    error = fs::status(folder, status);
  if (error || !isOwn(status)) {
    note = fmt::format("no proof is kept in '{}': {}", folder,
                       error ? error.message()
                             : "expected a folder that nobody else may write "
                               "to");
    return;
  }
  makeRoom(folder);
  const std::vector<uint8_t> proof = encodeProof(impl);
  bytes.insert(bytes.end(), proof.begin(), proof.end());
  const auto digest = Hash::hash(llvm::ArrayRef<uint8_t>(bytes));
  bytes.insert(bytes.begin(), digest.begin(), digest.end());
  if (llvm::Error failure =
          support::writeFileAtomically(path, llvm::ArrayRef<uint8_t>(bytes)))
    note = fmt::format("the proof is not kept: {}",
                       llvm::toString(std::move(failure)));
  else
    (void)fs::setPermissions(path, fs::owner_read | fs::owner_write);
}
