// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file under two names is seen, whatever makes it one.

#include "ashlar/Support/FileUse.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

class FileUseTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fileuse", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string at(const std::string &name) {
    return (folder.str() + "/" + name).str();
  }
  void make(const std::string &name) {
    EXPECT_FALSE(writeFileAtomically(at(name), llvm::StringRef("x")));
  }
  /// The message about -i FILE (\p first) and -o FILE; empty if they may be.
  std::string problem(const std::string &a, const std::string &b,
                      FileUse first = FileUse::Reads,
                      FileUse second = FileUse::Writes) {
    llvm::Error error = checkFiles({{"-i", a, first}, {"-o", b, second}});
    if (error) {
      EXPECT_EQ(classify(error), ErrorClass::Usage);
    }
    return error ? llvm::toString(std::move(error)) : "";
  }

  llvm::SmallString<128> folder;
};

} // namespace

TEST_F(FileUseTest, SpellingsAndLinks) {
  make("a");
  make("b");
  ASSERT_EQ(symlink("a", at("soft").c_str()), 0);
  ASSERT_EQ(link(at("a").c_str(), at("hard").c_str()), 0);
  for (const char *other : {"a", "./a", "../", "soft", "hard"}) {
    const std::string name =
        llvm::StringRef(other) == "../"
            ? "../" + llvm::StringRef(folder).rsplit('/').second.str() + "/a"
            : std::string(other);
    EXPECT_NE(problem(at("a"), at(name)), "") << name;
  }
  EXPECT_EQ(problem(at("a"), at("b")), "");
  EXPECT_EQ(problem(at("a"), at("a"), FileUse::Reads, FileUse::Reads), "");
  EXPECT_EQ(problem(at("a"), at("a")),
            "-i reads '" + at("a") + "' and -o writes '" + at("a") +
                "', which is the same file; expected another path");
}

TEST_F(FileUseTest, FilesThatAreNotThereYet) {
  ASSERT_EQ(symlink("new", at("soft").c_str()), 0);
  const FileUse writes = FileUse::Writes;
  EXPECT_NE(problem(at("new"), at("./new"), writes), "");
  EXPECT_NE(problem(at("new"), at("soft"), writes), "");
  EXPECT_EQ(problem(at("new"), at("other"), writes), "");
  EXPECT_EQ(problem("/dev/null", "/dev/null", writes), "");
}

TEST_F(FileUseTest, StandardOutputHoldsOneFile) {
  EXPECT_EQ(problem("-", "-", FileUse::Writes),
            "-i and -o both write to standard output, expected another path "
            "for one of them");
  EXPECT_NE(problem("x", "-", FileUse::Reads, FileUse::WritesDump), "");
}

TEST_F(FileUseTest, FilesOfADump) {
  const FileUse dump = FileUse::WritesDump;
  EXPECT_NE(problem(at("d"), at("d/plan.json"), dump), "");
  EXPECT_NE(problem(at("d"), at("./d/x.npy"), dump), "");
  EXPECT_NE(problem(at("d"), at("d"), dump), "");
  EXPECT_EQ(problem(at("d"), at("d/p.ash"), dump), "");
  EXPECT_NE(problem(at("d"), at("d/index.json"), FileUse::ReadsDump), "");
}
