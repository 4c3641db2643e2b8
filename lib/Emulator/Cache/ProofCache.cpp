// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where proofs lie, whose they are, and what they are found by.

#include "ProofCache.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ThreadPool.h"
#include "ashlar/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <system_error>
#if defined(__unix__)
#include <unistd.h>
#endif

using namespace ashlar;
using namespace ashlar::emulator;
namespace fs = llvm::sys::fs;

namespace {
using Hash = llvm::BLAKE3;

constexpr char magic[] = "ashlar proof 3";
constexpr size_t digestBytes = 32;
/// In front of a proof: the digest of the rest, of the program, of its source.
constexpr size_t headBytes = 3 * digestBytes;
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

/// All that the container of the program would hold but constants, machine
/// included.
static bool addTables(Hash &hash, const container::Program &program) {
  container::Program tables = program;
  tables.constants.clear();
  llvm::Expected<std::vector<uint8_t>> bytes = container::serialize(tables);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return false;
  }
  add(hash, uint64_t(bytes->size()));
  hash.update(*bytes);
  return true;
}

/// Adds the state of the program's file and the places of the constants in it.
/// False if they are elsewhere, or if somebody else may write to the file. It
/// has to be in the file system of the proofs, \p device: whoever makes up the
/// states of files there can make up proofs as well.
static bool addSource(Hash &hash, const container::Program &program,
                      uint64_t device) {
  if (!program.source)
    return false;
  const support::FileState &state = program.source->state;
  if (!state.isOwn || state.device != device)
    return false;
  hash.update("source");
  for (const uint64_t number : {state.device, state.number, state.bytes,
                                static_cast<uint64_t>(state.modified),
                                static_cast<uint64_t>(state.changed)})
    add(hash, number);
  const llvm::ArrayRef<uint8_t> file = program.source->bytes;
  for (const container::Segment &segment : program.constants) {
    const std::less_equal<const uint8_t *> isUpTo;
    if (!isUpTo(file.begin(), segment.bytes.begin()) ||
        !isUpTo(segment.bytes.end(), file.end()))
      return false;
    add(hash, uint64_t(segment.bytes.begin() - file.begin()));
    add(hash, uint64_t(segment.bytes.size()));
    add(hash, segment.dramOffset);
  }
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

/// Of all that a proof depends on; none if the tables cannot be told.
static std::optional<std::array<uint8_t, digestBytes>>
programDigest(const std::optional<std::array<uint8_t, digestBytes>> &tables,
              const container::Program &program, unsigned threads) {
  if (!tables)
    return std::nullopt;
  Hash hash;
  hash.update(*tables);
  addConstants(hash, program.constants, threads);
  return hash.final();
}

/// Whether a part of a file is a digest; one of zeros stands for none.
template <typename Digest>
static bool holds(llvm::ArrayRef<uint8_t> part,
                  const std::optional<Digest> &digest) {
  return digest && llvm::ArrayRef<uint8_t>(*digest) == part;
}

static std::string damagedNote(const std::string &path) {
  return fmt::format("'{}' is damaged: the program is proved again", path);
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
    lookThread = std::thread([this, &program] { seen = look(program, 1); });
  } catch (const std::system_error &) {
    // No thread: then in restore().
  }
}

ProofCache::~ProofCache() { finishLook(); }

void ProofCache::finishLook() {
  if (lookThread.joinable())
    lookThread.join();
}

ProofCache::Look ProofCache::look(const container::Program &program,
                                  unsigned ownThreads) const {
  Look result;
  Hash tables;
  if (addTool(tables) && addTables(tables, program))
    result.tables = tables.final();
  fs::file_status place, status;
  if (!result.tables || fs::status(folder, place))
    return result;
  Hash source;
  source.update(*result.tables);
  if (addSource(source, program, place.getUniqueID().getDevice()))
    result.source = source.final();
  if (fs::status(path, status))
    return result;
  result.isForeign =
      !fs::is_regular_file(status) || !isOwn(status) || !isOwn(place);
  if (result.isForeign) {
    result.note = fmt::format("'{}' is ignored: expected a file in a folder "
                              "that nobody else may write to",
                              path);
    return result;
  }
  auto file = support::readFile(path);
  if (!file) {
    result.note = fmt::format("'{}' is ignored: {}", path,
                              llvm::toString(file.takeError()));
    return result;
  }
  const llvm::ArrayRef<uint8_t> bytes = support::contents(**file);
  if (bytes.size() < headBytes ||
      llvm::ArrayRef<uint8_t>(Hash::hash(bytes.drop_front(digestBytes))) !=
          bytes.take_front(digestBytes)) {
    result.note = damagedNote(path);
    return result;
  }
  const llvm::ArrayRef<uint8_t> whole = bytes.slice(digestBytes, digestBytes);
  result.hasSource =
      holds(bytes.slice(2 * digestBytes, digestBytes), result.source);
  if (result.hasSource)
    llvm::copy(whole, result.program.emplace().begin());
  else
    result.program = programDigest(result.tables, program, ownThreads);
  // Another version's proof, or that of a program with the same code and other
  // constants, is no mistake.
  if (holds(whole, result.program))
    result.file = std::move(*file);
  return result;
}

bool ProofCache::restore(LoadedProgram::Impl &impl) {
  finishLook();
  if (path.empty() || (!seen && !fs::exists(path)))
    return false;
  if (!seen)
    seen = look(impl.program, threads);
  note = seen->note;
  if (seen->isForeign)
    path.clear(); // It is not replaced either.
  const std::unique_ptr<llvm::MemoryBuffer> file = std::move(seen->file);
  if (!file)
    return false;
  if (decodeProof(support::contents(*file).drop_front(headBytes), impl)) {
    restoredAccount = impl.account.has_value();
    restoredLists = impl.listThreads;
    restoredSource = seen->hasSource;
    impl.proofWasKept = true;
    return restored = true;
  }
  note = damagedNote(path);
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
  const bool isReliable =
      impl.program.source && impl.program.source->state.isReliable();
  const bool more = (impl.account && !restoredAccount) ||
                    impl.listThreads != restoredLists ||
                    (isReliable && seen && seen->source && !restoredSource);
  if (path.empty() || (restored && !more))
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
  if (!seen)
    seen = look(impl.program, threads);
  if (!seen->program)
    seen->program = programDigest(seen->tables, impl.program, threads);
  if (!seen->program)
    return;
  makeRoom(folder);
  std::vector<uint8_t> bytes(seen->program->begin(), seen->program->end());
  const Digest source = isReliable ? seen->source.value_or(Digest()) : Digest();
  bytes.insert(bytes.end(), source.begin(), source.end());
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
