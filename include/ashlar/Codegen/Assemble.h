// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the `isa` dialect to a program for the container.

#ifndef ASHLAR_CODEGEN_ASSEMBLE_H
#define ASHLAR_CODEGEN_ASSEMBLE_H

#include "ashlar/Container/Container.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <memory>

namespace ashlar::codegen {

/// The owner of the bytes of a program's constants.
enum class ConstantBytes {
  Copied, ///< Its own.
  Shared, ///< The module's: the program must not outlive the context.
  Taken,  ///< The module's, which has none from then on.
};

/// Constants of the programs that are compared: equal ones are in memory once.
/// Knows those that a program still has.
class ConstantPool {
public:
  struct Entry {
    std::shared_ptr<const void> owner;
    llvm::ArrayRef<uint8_t> bytes;
  };

  /// Equal bytes of an earlier program; no owner if there are none.
  Entry find(llvm::ArrayRef<uint8_t> bytes) const;
  void add(const Entry &entry);

private:
  struct Known {
    std::weak_ptr<const void> owner;
    llvm::ArrayRef<uint8_t> bytes;
  };
  std::multimap<uint64_t, Known> byHash;
};

/// Encodes the only `isa.program` of `module` with its tables. The caller adds
/// the plan and the decisions. Bytes that are taken come from \p pool if it has
/// them. A value that does not fit its field is an error that names node,
/// instruction and field.
llvm::Expected<container::Program>
assemble(mlir::ModuleOp module, ConstantBytes constants = ConstantBytes::Copied,
         ConstantPool *pool = nullptr);

} // namespace ashlar::codegen

#endif // ASHLAR_CODEGEN_ASSEMBLE_H
