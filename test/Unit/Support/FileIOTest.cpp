// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole-or-nothing writing.

#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdio>
#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

class FileIO : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ashlar", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string at(const char *name) { return (folder + "/" + name).str(); }

  unsigned countFiles() {
    unsigned count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator i(folder, code), end;
         !code && i != end; i.increment(code))
      ++count;
    return count;
  }

  std::string slurp(const std::string &path) {
    auto buffer = readFile(path);
    return buffer ? (*buffer)->getBuffer().str()
                  : llvm::toString(buffer.takeError());
  }

  llvm::SmallString<128> folder;
};

ErrorClass classOf(llvm::Error error) {
  const ErrorClass kind = classify(error);
  llvm::consumeError(std::move(error));
  return kind;
}

} // namespace

TEST_F(FileIO, WritesAndReplaces) {
  EXPECT_FALSE(writeFileAtomically(at("f"), llvm::StringRef("one")));
  EXPECT_FALSE(writeFileAtomically(at("f"), llvm::StringRef("second")));
  EXPECT_EQ(slurp(at("f")), "second");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(FileIO, MissingFolderIsUsage) {
  EXPECT_EQ(classOf(writeFileAtomically(at("no/f"), llvm::StringRef("x"))),
            ErrorClass::Usage);
  EXPECT_EQ(classOf(writeFileAtomically(folder, llvm::StringRef("x"))),
            ErrorClass::Usage);
}

TEST_F(FileIO, FullDeviceIsCapacity) {
  EXPECT_EQ(classOf(writeFileAtomically("/dev/full", llvm::StringRef("x"))),
            ErrorClass::Capacity);
}

TEST_F(FileIO, FailedWriteLeavesOldFileAndNothingElse) {
  ASSERT_FALSE(writeFileAtomically(at("f"), llvm::StringRef("old")));
  // A file-size limit fails a write half way, like a full disk.
  struct rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  struct rlimit small = {65536, old.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string big(1 << 20, 'x');
  llvm::Error error = writeFileAtomically(at("f"), llvm::StringRef(big));
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(classOf(std::move(error)), ErrorClass::Capacity);
  EXPECT_EQ(slurp(at("f")), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(FileIO, LongestNames) {
  const std::string name(255, 'n');
  EXPECT_FALSE(writeFileAtomically(at(name.c_str()), llvm::StringRef("one")));
  EXPECT_FALSE(writeFileAtomically(at(name.c_str()), llvm::StringRef("two")));
  EXPECT_EQ(slurp(at(name.c_str())), "two");
  EXPECT_EQ(classOf(writeFileAtomically(at((name + "n").c_str()),
                                        llvm::StringRef("x"))),
            ErrorClass::Usage);
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(FileIO, KeepsModeAndLinks) {
  ASSERT_FALSE(writeFileAtomically(at("f"), llvm::StringRef("old")));
  ASSERT_EQ(chmod(at("f").c_str(), 0640), 0);
  ASSERT_EQ(symlink("f", at("link").c_str()), 0);
  ASSERT_EQ(symlink("new", at("early").c_str()), 0);
  EXPECT_FALSE(writeFileAtomically(at("link"), llvm::StringRef("new")));
  EXPECT_FALSE(writeFileAtomically(at("early"), llvm::StringRef("later")));
  struct stat status;
  ASSERT_EQ(lstat(at("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(slurp(at("f")), "new");
  EXPECT_EQ(slurp(at("new")), "later");
  EXPECT_EQ(countFiles(), 4u);
}

TEST_F(FileIO, FolderAppearsWhole) {
  {
    auto writer = FolderWriter::create(at("a/b/dump/"));
    ASSERT_TRUE(!!writer);
    EXPECT_FALSE(writer->add("one", llvm::StringRef("1")));
    EXPECT_FALSE(writer->add("two", llvm::StringRef("2")));
    EXPECT_EQ(countFiles(), 0u);
    EXPECT_FALSE(writer->publish());
  }
  EXPECT_EQ(countFiles(), 1u);
  EXPECT_EQ(slurp(at("a/b/dump/one")), "1");
  {
    auto writer = FolderWriter::create(at("a/b/dump"));
    ASSERT_TRUE(!!writer);
    EXPECT_FALSE(writer->add("two", llvm::StringRef("3")));
    EXPECT_EQ(slurp(at("a/b/dump/two")), "2");
    EXPECT_FALSE(writer->publish());
  }
  EXPECT_EQ(slurp(at("a/b/dump/one")), "1");
  EXPECT_EQ(slurp(at("a/b/dump/two")), "3");
}

TEST_F(FileIO, FolderWithoutPublishLeavesNothing) {
  {
    auto writer = FolderWriter::create(at("dump"));
    ASSERT_TRUE(!!writer);
    EXPECT_FALSE(writer->add("one", llvm::StringRef("1")));
  }
  EXPECT_EQ(countFiles(), 0u);
  EXPECT_EQ(classOf(FolderWriter::create("/dev/null/dump").takeError()),
            ErrorClass::Usage);
}

TEST_F(FileIO, FolderOfMoreFilesThanMayBeOpen) {
  struct rlimit old;
  getrlimit(RLIMIT_NOFILE, &old);
  struct rlimit few = {64, 64};
  // The hard limit comes back only for a process that may raise it.
  if (setrlimit(RLIMIT_NOFILE, &few) != 0)
    GTEST_SKIP();
  {
    auto writer = FolderWriter::create(at("a/dump"));
    ASSERT_TRUE(!!writer);
    for (unsigned i = 0; i < 100; ++i)
      EXPECT_FALSE(writer->add(std::to_string(i), llvm::StringRef("x")));
    EXPECT_FALSE(writer->publish());
  }
  setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(slurp(at("a/dump/0")), "x");
  EXPECT_EQ(slurp(at("a/dump/99")), "x");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(FileIO, ReadsHalvesSideBySide) {
  // Each 32-bit number says where it is; the size is odd.
  std::string text;
  for (uint32_t i = 0; text.size() < (9u << 20); ++i)
    text.append(reinterpret_cast<const char *>(&i), sizeof(i));
  text += "end";
  EXPECT_FALSE(writeFileAtomically(at("f"), llvm::StringRef(text)));
  for (unsigned threads : {1, 2, 8}) {
    auto buffer = readFile(at("f"), threads);
    ASSERT_TRUE(static_cast<bool>(buffer));
    EXPECT_TRUE((*buffer)->getBuffer() == text) << threads;
    EXPECT_EQ((*buffer)->getBufferEnd()[0], 0);
  }
}

TEST_F(FileIO, StatesOfFiles) {
  const auto stateOf = [&](unsigned threads = 1) {
    std::optional<FileState> state;
    llvm::consumeError(readFile(at("f"), threads, &state).takeError());
    return state;
  };
  EXPECT_FALSE(stateOf()) << "a file that is missing";
  EXPECT_FALSE(
      writeFileAtomically(at("f"), llvm::StringRef(std::string(9 << 20, 'x'))));
  const std::optional<FileState> first = stateOf();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, uint64_t(9 << 20));
  EXPECT_TRUE(first->isOwn);
  EXPECT_FALSE(first->isReliable()) << "somebody may still write to it";
  EXPECT_TRUE(first->isSame(*stateOf(2)));
  FileState later = *first;
  later.read = later.changed + 2'000'000'000;
  EXPECT_TRUE(later.isReliable());
  later.isOwn = false;
  EXPECT_FALSE(later.isReliable());

  // The same bytes in another file, and a file that others may write to.
  EXPECT_EQ(::rename(at("f").c_str(), at("g").c_str()), 0);
  EXPECT_FALSE(
      writeFileAtomically(at("f"), llvm::StringRef(std::string(9 << 20, 'x'))));
  EXPECT_FALSE(first->isSame(*stateOf()));
  EXPECT_EQ(::chmod(at("f").c_str(), 0622), 0);
  EXPECT_FALSE(stateOf()->isOwn);

  // What is no regular file has none.
  EXPECT_EQ(::unlink(at("f").c_str()), 0);
  EXPECT_EQ(::symlink("/dev/null", at("f").c_str()), 0);
  EXPECT_FALSE(stateOf());
}

TEST_F(FileIO, ReadErrors) {
  auto missing = readFile(at("none"));
  ASSERT_FALSE(static_cast<bool>(missing));
  EXPECT_EQ(classOf(missing.takeError()), ErrorClass::Malformed);
  auto directory = readFile(folder);
  ASSERT_FALSE(static_cast<bool>(directory));
  EXPECT_EQ(classOf(directory.takeError()), ErrorClass::Malformed);
}
