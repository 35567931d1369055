// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/host_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "backends/codegen/kernel_cache.h"
#include "base/hash.h"
#include "base/system/file.h"

extern char** environ;

namespace egret::backends::codegen {
namespace {

namespace fs = std::filesystem;

// -fassociative-math lets the compiler vectorize sums, and needs the two flags before it.
// -ffinite-math-only is not among them, so NaN and infinities are kept.
constexpr const char* kFlags =
    "-std=c++17 -O3 -march=native -fPIC -shared -fno-math-errno -fno-trapping-math "
    "-fno-signed-zeros -fassociative-math -w";
constexpr std::int64_t kMostOutput = 1 << 20;

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Runs a program of the PATH; its two output streams go to the file.
bool run(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A private temporary folder, removed with its contents.
class Workplace {
 public:
  static base::Result<Workplace> make(const std::string& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string name = parent + "/.build-XXXXXX";
    if (error || ::mkdtemp(name.data()) == nullptr)
      return base::unavailable("the kernel cache '" + parent + "' cannot be written");
    return Workplace(name);
  }
  Workplace(Workplace&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Workplace& operator=(Workplace&&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  std::string file(const char* name) const { return folder_ + "/" + name; }

 private:
  explicit Workplace(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

std::string text_of(const std::string& path) {
  auto text = base::read_file(path, kMostOutput);
  return text.ok() ? *std::move(text) : std::string();
}

struct Compiler {
  std::string command;
  std::string version;    // empty: there is none
  std::string problem{};  // why there is none
};

// Found once per process: the first of the usual names that runs.
const Compiler& compiler() {
  static const Compiler found = [] {
    std::vector<std::string> names{"c++", "g++", "clang++"};
    const char* chosen = std::getenv("EGRET_HOST_COMPILER");
    if (chosen != nullptr && *chosen != 0) names = {chosen};
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    if (error) {
      return Compiler{"", "",
                      "TMPDIR names no folder (" + error.message() + "), which compiling needs"};
    }
    const auto place = Workplace::make(temporary.string());
    if (!place.ok())
      return Compiler{"", "", "'" + temporary.string() + "' cannot be written; set TMPDIR"};
    for (const std::string& name : names) {
      if (!run({name, "--version"}, place->file("version"))) continue;
      const std::string text = text_of(place->file("version"));
      return Compiler{name, text.substr(0, text.find('\n'))};
    }
    return Compiler{"", "",
                    "no C++ compiler runs here; install g++, or name one in EGRET_HOST_COMPILER"};
  }();
  return found;
}

// Part of the cache key: -march=native depends on the processor.
const std::string& processor() {
  static const std::string found = [] {
    std::ifstream file("/proc/cpuinfo");
    std::string line, text;
    while (std::getline(file, line) && !line.empty()) {
      if (line.starts_with("model name") || line.starts_with("flags")) text += line + "\n";
    }
    return text;
  }();
  return found;
}

// The object's path in the cache.
std::string library_of(const std::string& source, const std::string& flags) {
  // All that decides the object's code. A '\0' separates the parts, so two different lists of parts
  // never give one key.
  const std::string key =
      source + '\0' + kFlags + flags + '\0' + compiler().version + '\0' + processor();
  return kernel_cache_folder() + "/" + base::content_hash(key).to_hex() + ".so";
}

base::Status build(const std::string& source, const std::string& flags, const std::string& folder,
                   const std::string& library) {
  // The workplace lies in the cache's folder, because a rename is atomic only within one file
  // system.
  EGRET_ASSIGN_OR_RETURN(const Workplace place, Workplace::make(folder));
  EGRET_RETURN_IF_ERROR(base::write_file(place.file("kernels.cc"), source));
  std::vector<std::string> command{compiler().command};
  for (const std::string& word : words(kFlags + (" " + flags))) command.push_back(word);
  command.insert(command.end(), {place.file("kernels.cc"), "-o", place.file("kernels.so")});
  if (!run(command, place.file("messages")))
    return base::internal_error("the compiler refuses emitted source: " +
                                text_of(place.file("messages")).substr(0, 2000));
  std::error_code error;
  // Rename is atomic: concurrent processes build the same file and never see a part of it.
  fs::rename(place.file("kernels.so"), library, error);
  if (error) return base::unavailable("'" + library + "' cannot be written: " + error.message());
  return base::ok();
}

}  // namespace

HostLibrary::~HostLibrary() { ::dlclose(handle_); }

void* HostLibrary::find(const std::string& function) const {
  return ::dlsym(handle_, function.c_str());
}

std::string host_key() {
  return base::content_hash(std::string(kFlags) + '\0' + compiler().version + '\0' + processor())
      .to_hex()
      .substr(0, 8);
}

base::Result<std::string> host_compiler_version() {
  if (!compiler().version.empty()) return compiler().version;
  return base::unavailable(compiler().problem);
}

bool is_compiled_for_host(const std::string& source) {
  std::error_code error;  // an empty cache spares the search for a compiler
  return !fs::is_empty(kernel_cache_folder(), error) && !error && host_compiler_version().ok() &&
         fs::exists(library_of(source, ""), error);
}

// Compiled once per machine: an object in the cache is loaded without a compiler run.
base::Result<std::shared_ptr<const HostLibrary>> compile_for_host(const std::string& source,
                                                                  const std::string& flags) {
  EGRET_RETURN_IF_ERROR(host_compiler_version().status());
  if (kernel_cache_folder().empty()) {
    return base::unavailable(
        "no folder for compiled kernels: set HOME, XDG_CACHE_HOME or EGRET_KERNEL_CACHE");
  }
  const std::string library = library_of(source, flags);
  if (std::error_code error; !fs::exists(library, error))
    EGRET_RETURN_IF_ERROR(build(source, flags, kernel_cache_folder(), library));
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return base::internal_error(std::string("a compiled kernel does not load: ") + ::dlerror());
  return std::shared_ptr<const HostLibrary>(new HostLibrary(handle));
}

}  // namespace egret::backends::codegen
