// Checks on a GPU, ahead of an operator. PyTorch's CUDA kernels stop the whole process at an index
// out of range. These look first: what is wrong is reported, as by a Mac's kernels, and something
// that works takes its place. Nothing waits for them.
#include <c10/metal/error.h>

using namespace metal;
using c10::metal::ErrorMessages;

// What a report says: before, place, between, number, after. csrc/engine/cuda/index_guards.cpp has the same structure.
struct Words {
  char before[80];
  char between[40];  // where the number stands, if that is told
  char after[100];
  uint with_number;
  uint with_place;
};

struct Line {
  device char* at;
  device char* last;

  void add(constant const char* text) thread {
    while (*text != 0 && at < last) *at++ = *text++;
  }
  void add(long number) thread {
    ulong rest = number < 0 ? ulong(0) - ulong(number) : ulong(number);
    if (number < 0 && at < last) *at++ = '-';
    char digits[20];
    int count = 0;
    do {
      digits[count++] = char('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count > 0 && at < last) *at++ = digits[--count];
  }
};

// A place for one more report; none once the list is full. All threads may ask: they stop adding to
// the count when they see that.
device c10::metal::ErrorMessage* place_in(device ErrorMessages* errors) {
  constexpr uint most = c10::metal::error_message_count;
  if (atomic_load_explicit(&errors->count, memory_order_relaxed) >= most) return nullptr;
  const uint place = atomic_fetch_add_explicit(&errors->count, 1, memory_order_relaxed);
  if (place >= most) return nullptr;
  device c10::metal::ErrorMessage* message = &errors->msg[place];
  message->file[0] = 0;
  message->func[0] = 0;
  message->line = 0;
  return message;
}

Line line_of(device c10::metal::ErrorMessage* message) {
  return {message->message, message->message + sizeof(message->message) - 1};
}

void report(device ErrorMessages* errors, constant Words& words, long number, uint where) {
  device c10::metal::ErrorMessage* message = place_in(errors);
  if (message == nullptr) return;
  Line line = line_of(message);
  line.add(words.before);
  if (words.with_place != 0) line.add(long(where));
  line.add(words.between);
  if (words.with_number != 0) line.add(number);
  line.add(words.after);
  *line.at = 0;
}

// An index is fine in [low, high), and where it is `exempt`; another one becomes the nearest that
// is fine, and is reported if it lies outside [quiet_low, quiet_high).
struct Bounds {
  long low;
  long high;
  long exempt;
  long quiet_low;
  long quiet_high;
};

template <typename T>
kernel void guard_index(
    device const T* index [[buffer(0)]],
    device T* checked [[buffer(1)]],
    constant Bounds& bounds [[buffer(2)]],
    constant Words& words [[buffer(3)]],
    device uint* misfit [[buffer(4)]],
    device ErrorMessages* errors [[buffer(5)]],
    uint i [[thread_position_in_grid]]) {
  const long value = long(index[i]);
  const bool fine = (value >= bounds.low && value < bounds.high) || value == bounds.exempt;
  checked[i] = fine ? index[i] : T(clamp(value, bounds.low, bounds.high - 1));
  if (!fine) *misfit = 1;
  if (fine || (value >= bounds.quiet_low && value < bounds.quiet_high)) return;
  report(errors, words, value, i);
}

template [[host_name("guard_index_int")]] kernel void guard_index<int>(
    device const int*, device int*, constant Bounds&, constant Words&, device uint*,
    device ErrorMessages*, uint);
template [[host_name("guard_index_long")]] kernel void guard_index<long>(
    device const long*, device long*, constant Bounds&, constant Words&, device uint*,
    device ErrorMessages*, uint);

// Numbers from 0 to 1; any other, NaN too, becomes the nearest.
kernel void guard_probability(
    device const float* values [[buffer(0)]],
    device float* checked [[buffer(1)]],
    constant Words& words [[buffer(2)]],
    device ErrorMessages* errors [[buffer(3)]],
    uint i [[thread_position_in_grid]]) {
  const float value = values[i];
  const bool fine = value >= 0.0f && value <= 1.0f;
  checked[i] = fine ? value : clamp(isnan(value) ? 0.0f : value, 0.0f, 1.0f);
  if (!fine) report(errors, words, 0, i);
}

// The text of an assertion that does not hold, which may be as long as a report.
struct Assertion {
  char text[250];
};

kernel void guard_assertion(
    device const bool* holds [[buffer(0)]],
    constant Assertion& assertion [[buffer(1)]],
    device ErrorMessages* errors [[buffer(2)]],
    uint i [[thread_position_in_grid]]) {
  if (holds[i]) return;
  device c10::metal::ErrorMessage* message = place_in(errors);
  if (message == nullptr) return;
  Line line = line_of(message);
  line.add(assertion.text);
  *line.at = 0;
}
