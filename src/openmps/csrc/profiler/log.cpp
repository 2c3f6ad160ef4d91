#include "profiler/log.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <vector>

namespace openmps::profiler {
namespace {

// Copies of up to so many bytes are counted as scalars.
constexpr uint64_t kScalarBytes = sizeof(int64_t);

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string size_text(uint64_t bytes) {
  if (bytes <= 1024) return std::to_string(bytes) + " bytes";
  const auto size = static_cast<double>(bytes);
  if (bytes <= 1ull << 20) return fixed(size / (1 << 10), 2) + " KiB";
  if (bytes <= 1ull << 30) return fixed(size / (1 << 20), 2) + " MiB";
  return fixed(size / (1 << 30), 2) + " GiB";
}

std::string centred(const std::string& text, size_t width, char fill = ' ') {
  if (text.size() >= width) return text;
  const size_t before = (width - text.size()) / 2;
  return std::string(before, fill) + text + std::string(width - text.size() - before, fill);
}

std::string centred(uint64_t number, size_t width) {
  return centred(std::to_string(number), width);
}

std::string times_text(double gpu_ms, double cpu_ms) {
  std::string text;
  if (gpu_ms > 0) text += ", gpu=" + fixed(gpu_ms, 3) + " ms";
  if (cpu_ms > 0) text += ", cpu=" + fixed(cpu_ms, 3) + " ms";
  return text;
}

// A title, the names of the columns, and rules around them.
std::string heading(const std::string& title, size_t width, const std::string& columns) {
  return "\n" + centred(title, width, '-') + "\n" + columns + "\n" + std::string(width, '-') + "\n";
}

const char* direction_text(size_t direction) {
  static constexpr const char* kTexts[] = {"MPS to MPS", "MPS to CPU", "CPU to MPS"};
  return kTexts[direction];
}

}  // namespace

Log::Sum& Log::sum_of(Sums& sums, const std::string& program, const Record& record) {
  auto& sum = sums[program];
  if (sum.id == 0) sum.id = sums.size();
  sum.name = record.kind == Kind::kFallback ? record.name : record.key;
  return sum;
}

void Log::number(Record& record) {
  if (record.kind == Kind::kCopy) {
    record.id = ++copy_count_;
    return;
  }
  if (record.kind == Kind::kKernel) return;
  const bool fallback = record.kind == Kind::kFallback;
  auto& sum = sum_of(fallback ? fallbacks_ : operations_, record.program, record);
  record.id = sum.id;
  record.run = ++sum.runs;
  if (fallback) sum.bytes += record.bytes;
}

void Log::add(const Record& record) {
  if (record.kind == Kind::kOperation) {
    operations_[record.program].ms += record.milliseconds();
  } else if (record.kind == Kind::kFallback) {
    fallbacks_[record.program].ms += record.milliseconds();
  } else if (record.kind == Kind::kCopy) {
    auto& sum = copies_[static_cast<size_t>(record.direction)];
    const bool scalar = record.bytes <= kScalarBytes;
    ++sum.count;
    sum.bytes += record.bytes;
    sum.ms += record.milliseconds();
    sum.scalars += scalar ? 1 : 0;
    sum.scalars_ms += scalar ? record.milliseconds() : 0;
    sum.blocking += record.blocking ? 1 : 0;
  }
}

std::string Log::line(const Record& record, const Options& options, bool finished) {
  // Natively the time to schedule is added to the GPU's unless it is told apart. Here both are the
  // same span, which must not count twice.
  const double ms = finished ? record.milliseconds() : 0;
  const auto times = times_text(ms, options.log & Options::kKernelTime ? ms : 0);
  std::ostringstream text;
  switch (record.kind) {
    case Kind::kOperation:
      text << "aten::" << record.key << " (id=K" << record.id << ", run=" << record.run << times
           << ")";
      break;
    case Kind::kFallback:
      text << "CPU Fallback::" << record.key << " (id=" << record.id << ", run=" << record.run
           << ", CopyOverhead=" << size_text(record.bytes) << times_text(0, ms) << ")";
      break;
    case Kind::kCopy:
      text << "BlitCopy" << (record.blocking ? "Sync" : "") << ": " << record.key << " --> "
           << record.target << " (len=" << size_text(record.bytes) << times << ")";
      break;
    default:
      break;
  }
  return text.str();
}

std::string Log::tables(const Options& options) const {
  std::string text;
  if (options.log & Options::kOperationStatistics) text += operation_table();
  if (options.log & Options::kFallbackStatistics) text += fallback_table();
  if (options.log & Options::kCopyStatistics) text += copy_table();
  return text;
}

std::vector<const Log::Sum*> Log::slowest_first(const Sums& sums) {
  std::vector<const Sum*> rows;
  for (const auto& [program, sum] : sums) rows.push_back(&sum);
  std::sort(rows.begin(), rows.end(), [](const Sum* a, const Sum* b) {
    return a->mean_ms() != b->mean_ms() ? a->mean_ms() > b->mean_ms() : a->id < b->id;
  });
  return rows;
}

std::string Log::operation_table() const {
  if (operations_.empty()) return "There are no MPS operations logged for profiling\n";
  auto text = heading(
      " MPS Operations Profiling: 0 graphs, " + std::to_string(operations_.size()) + " kernels ",
      200,
      centred("ID", 6) + "|" + centred("#Runs", 7) + "|" + centred("Mean KRNL(ms)", 15) + "|" +
          centred("Mean GPU(ms)", 14) + "|" + centred("Total GPU(ms)", 15) + "| Operation Name");
  for (const auto* sum : slowest_first(operations_)) {
    const auto mean = fixed(sum->mean_ms(), 3);
    text += centred("K" + std::to_string(sum->id), 7) + centred(sum->runs, 8) + centred(mean, 16) +
            centred(mean, 15) + centred(fixed(sum->ms, 3), 16) + " " + sum->name + "\n";
  }
  return text;
}

std::string Log::fallback_table() const {
  if (fallbacks_.empty()) return "There are no CPU Fallbacks logged for profiling\n";
  Sum total;
  for (const auto& [program, sum] : fallbacks_) {
    total.runs += sum.runs;
    total.bytes += sum.bytes;
    total.ms += sum.ms;
  }
  auto text = heading(" CPU Fallback Profiling: Total " + std::to_string(total.runs) + " Runs, " +
                          fixed(total.ms, 2) + " ms, " + size_text(total.bytes) + " Copies ",
                      150,
                      centred("ID", 5) + "|" + centred("#Runs", 7) + "|" +
                          centred("Mean CPU(ms)", 14) + "|" + centred("Total CPU(ms)", 15) + "|" +
                          centred("Copy Overhead", 15) + "| Operation Name");
  for (const auto* sum : slowest_first(fallbacks_)) {
    text += centred(sum->id, 6) + centred(sum->runs, 8) + centred(fixed(sum->mean_ms(), 3), 15) +
            centred(fixed(sum->ms, 3), 16) + centred(size_text(sum->bytes), 16) + " " + sum->name +
            "\n";
  }
  return text;
}

std::string Log::copy_table() const {
  CopySum total;
  for (const auto& sum : copies_) {
    total.count += sum.count;
    total.bytes += sum.bytes;
    total.scalars += sum.scalars;
  }
  if (total.count == 0) return "There are no copies logged for profiling\n";
  auto text = heading(
      " MPS Copy Profiling: " + std::to_string(total.count) + " total copies (" +
          size_text(total.bytes) + "), " + std::to_string(total.scalars) + " scalar copies ",
      160,
      centred("Kind", 12) + "|" + centred("Total#", 10) + "|" + centred("Total Size", 17) + "|" +
          centred("Total KRNL(ms)", 16) + "|" + centred("Total GPU(ms)", 15) + "|" +
          centred("Scalars", 9) + "|" + centred("Scalars GPU", 13) + "|" + centred("Blocking", 10) +
          "|" + centred("memcpy", 8));
  // The order in which a Mac's hash table gives them.
  for (size_t direction = copies_.size(); direction-- > 0;) {
    const auto& sum = copies_[direction];
    if (sum.count == 0) continue;
    const double share = sum.ms > 0 ? sum.scalars_ms / sum.ms * 100 : 0;
    text += centred(direction_text(direction), 13) + centred(sum.count, 11) +
            centred(size_text(sum.bytes), 18) + centred(fixed(sum.ms, 3), 17) +
            centred(fixed(sum.ms, 3), 16) + centred(sum.scalars, 10) +
            centred(fixed(share, 2) + " %", 14) + centred(sum.blocking, 11) + centred("0", 9) +
            "\n";
  }
  return text;
}

}  // namespace openmps::profiler
