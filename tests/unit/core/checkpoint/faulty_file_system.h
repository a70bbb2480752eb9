// SPDX-License-Identifier: BSD-3-Clause
// A file system that fails or loses power at the n-th operation. After a power
// loss every later call throws too, and lose_unsynced() leaves on the device
// only what was synced: file bytes by sync(), names by sync_folder().
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <titan/error.h>

#include "core/checkpoint/storage.h"

enum class Fault { kOneError, kPowerLoss };

class FaultyFileSystem final : public titan::checkpoint::FileSystem {
 public:
  using Path = std::filesystem::path;

  FaultyFileSystem(Fault fault, int operation)
      : fault_(fault), countdown_(operation) {}

  int num_operations() const { return num_operations_; }

  std::unique_ptr<titan::checkpoint::WritableFile> create(
      const Path& path) override {
    step("create");
    auto file = real_.create(path);
    names_.push_back({NameChange::kCreated, {}, path});
    synced_bytes_[path] = 0;
    return std::make_unique<File>(*this, path, std::move(file));
  }

  void make_folder(const Path& path) override {
    step("make_folder");
    if (!real_.exists(path)) names_.push_back({NameChange::kCreated, {}, path});
    real_.make_folder(path);
  }

  void rename(const Path& from, const Path& to) override {
    step("rename");
    real_.rename(from, to);
    names_.push_back({NameChange::kRenamed, from, to});
    rebase(from, to);
  }

  void sync_folder(const Path& path) override {
    step("sync_folder");
    std::erase_if(names_, [&](const NameChange& change) {
      return change.to.parent_path() == path;
    });
  }

  void remove(const Path& path) override {
    step("remove");
    real_.remove(path);  // a removal that is lost again harms nobody
    synced_bytes_.erase(path);
    std::erase_if(names_,
                  [&](const NameChange& change) { return change.to == path; });
  }

  std::vector<titan::checkpoint::FolderEntry> list(
      const Path& path) const override {
    return real_.list(path);
  }
  bool exists(const Path& path) const override { return real_.exists(path); }

  void lose_unsynced() {
    for (const auto& [path, size] : synced_bytes_)
      if (real_.exists(path) && std::filesystem::file_size(path) > size)
        std::filesystem::resize_file(path, size);
    while (!names_.empty()) {
      const NameChange change = names_.back();
      names_.pop_back();
      if (change.kind == NameChange::kRenamed) {
        real_.rename(change.to, change.from);
        rebase(change.to, change.from);
      } else {
        std::filesystem::remove_all(change.to);
      }
    }
  }

 private:
  struct NameChange {
    enum Kind { kCreated, kRenamed } kind;
    Path from;
    Path to;
  };

  class File final : public titan::checkpoint::WritableFile {
   public:
    File(FaultyFileSystem& files, Path path, std::unique_ptr<WritableFile> file)
        : files_(files), path_(std::move(path)), file_(std::move(file)) {}

    void append(std::span<const std::byte> bytes) override {
      const auto half = bytes.first(bytes.size() / 2);
      try {
        files_.step("append");
      } catch (...) {
        file_->append(half);  // a torn write
        throw;
      }
      file_->append(bytes);
      size_bytes_ += bytes.size();
    }
    void sync() override {
      files_.step("sync");
      file_->sync();
      files_.synced_bytes_[path_] = size_bytes_;
    }
    void close() override {
      files_.step("close");
      file_->close();
    }

   private:
    FaultyFileSystem& files_;
    Path path_;
    std::unique_ptr<WritableFile> file_;
    std::uintmax_t size_bytes_ = 0;
  };

  void step(const char* call) {
    ++num_operations_;
    if (is_off_ || --countdown_ == 0) {
      is_off_ = fault_ == Fault::kPowerLoss;
      throw titan::DeviceError(titan::text("[test] ", call, ": injected"));
    }
  }

  // Keeps what we know of the files below a folder that was renamed.
  void rebase(const Path& from, const Path& to) {
    const auto moved = [&](const Path& path) {
      const Path relative = path.lexically_relative(from);
      const bool is_below = !relative.empty() && *relative.begin() != "..";
      return is_below && relative != "." ? to / relative
             : path == from              ? to
                                         : path;
    };
    std::map<Path, std::uintmax_t> rebased;
    for (const auto& [path, size] : synced_bytes_) rebased[moved(path)] = size;
    synced_bytes_ = std::move(rebased);
    for (NameChange& change : names_)
      if (change.kind == NameChange::kCreated) change.to = moved(change.to);
  }

  titan::checkpoint::FileSystem& real_ = titan::checkpoint::real_file_system();
  Fault fault_;
  int countdown_;  // <= 0: never
  int num_operations_ = 0;
  bool is_off_ = false;
  std::vector<NameChange> names_;  // not yet durable, oldest first
  std::map<Path, std::uintmax_t> synced_bytes_;
};
