// PyTorch's own words about records: a line for each, and the tables at the end.
#pragma once

#include <array>
#include <string>
#include <unordered_map>

#include "profiler/options.h"
#include "profiler/record.h"

namespace openmps::profiler {

// Numbers operators, copies and fallbacks, and sums them up. Not for several threads at once.
class Log {
 public:
  // Gives the record its number and the count of its runs. Before it runs, if it is a fallback:
  // the copies it makes come after its line.
  void number(Record& record);
  void add(const Record& record);

  // "" for what natively is not logged: Metal kernels of compile_shader.
  static std::string line(const Record& record, const Options& options, bool finished);
  std::string tables(const Options& options) const;

 private:
  struct Sum {
    std::string name;  // the last run's
    uint64_t id = 0;
    uint64_t runs = 0;
    uint64_t bytes = 0;
    double ms = 0;

    double mean_ms() const { return runs == 0 ? 0 : ms / static_cast<double>(runs); }
  };
  struct CopySum {
    uint64_t count = 0;
    uint64_t bytes = 0;
    uint64_t scalars = 0;
    uint64_t blocking = 0;
    double ms = 0;
    double scalars_ms = 0;
  };
  using Sums = std::unordered_map<std::string, Sum>;

  static Sum& sum_of(Sums& sums, const std::string& program, const Record& record);
  static std::vector<const Sum*> slowest_first(const Sums& sums);
  std::string operation_table() const;
  std::string fallback_table() const;
  std::string copy_table() const;

  Sums operations_;
  Sums fallbacks_;
  std::array<CopySum, 3> copies_;
  uint64_t copy_count_ = 0;
};

}  // namespace openmps::profiler
