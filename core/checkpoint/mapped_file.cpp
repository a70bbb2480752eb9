// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>     // open
#include <sys/mman.h>  // mmap
#include <sys/stat.h>  // fstat
#include <unistd.h>    // close

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

class Descriptor {
 public:
  // Non-blocking: opening a pipe that nobody writes would wait for ever.
  explicit Descriptor(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::string reason() {
  return std::generic_category().message(errno);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(path);
  TITAN_USER_CHECK(file.number() >= 0,
                   "[checkpoint ",
                   path.string(),
                   "] open: expected a readable file, got ",
                   reason());
  struct stat status = {};
  TITAN_USER_CHECK(
      ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode),
      "[checkpoint ",
      path.string(),
      "] kind of file: expected a regular file, got another kind");
  if (status.st_size == 0) return;  // mmap refuses a length of 0
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED)
    throw DeviceError(titan::text("[checkpoint ",
                                  path.string(),
                                  "] mmap: expected a mapping of ",
                                  size,
                                  " bytes, got ",
                                  reason()));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void drop_pages(std::span<const std::byte> mapped) {
  if (mapped.empty()) return;
  static const auto kPageBytes =
      static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(mapped.data());
  const std::uintptr_t begin = first / kPageBytes * kPageBytes;
  // A hint: where it is refused, the pages stay until memory is short.
  ::madvise(reinterpret_cast<void*>(begin),
            first + mapped.size() - begin,
            MADV_DONTNEED);
}

}  // namespace titan::checkpoint
