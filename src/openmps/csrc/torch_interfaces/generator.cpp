#include "torch_interfaces/generator.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/PhiloxRNGEngine.h>

#include <cstring>

#include "engine/engine.h"

namespace openmps {
namespace {

// The state as a Mac's generator writes it: seven 32-bit words, the seed, the offset, no padding.
constexpr size_t kSeedAt = 28;
constexpr size_t kOffsetAt = 36;
constexpr int64_t kStateBytes = 44;

// splitmix64's finaliser: neighbouring (seed, offset) pairs get unrelated streams.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Generator::Generator(uint64_t seed)
    : c10::GeneratorImpl(kMpsDevice, c10::DispatchKeySet(c10::DispatchKey::MPS)),
      state_{{1, 0, 0, 0, 0, 0, 0}, seed, 0} {}

void Generator::set_current_seed(uint64_t seed) {
  state_ = {
      {1, 1, 1, 1, 1, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, seed, 0};
}

uint64_t Generator::seed() {
  const auto random = c10::detail::getNonDeterministicRandom();
  set_current_seed(random);
  return random;
}

void Generator::set_state(const c10::TensorImpl& new_state) {
  at::detail::check_rng_state(new_state);
  TORCH_CHECK(new_state.numel() == kStateBytes, "RNG state is wrong size");
  const auto* bytes = static_cast<const uint8_t*>(new_state.data());
  std::memcpy(state_.words.data(), bytes, kSeedAt);
  std::memcpy(&state_.seed, bytes + kSeedAt, sizeof(uint64_t));
  std::memcpy(&state_.offset, bytes + kOffsetAt, sizeof(uint64_t));
}

c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const {
  auto tensor = at::detail::empty_cpu({kStateBytes}, at::kByte);
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_data_ptr());
  std::memcpy(bytes, state_.words.data(), kSeedAt);
  std::memcpy(bytes + kSeedAt, &state_.seed, sizeof(uint64_t));
  std::memcpy(bytes + kOffsetAt, &state_.offset, sizeof(uint64_t));
  return tensor.getIntrusivePtr();
}

Blocks Generator::reserve(int64_t blocks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto first = state_.offset;
  state_.offset += static_cast<uint64_t>(blocks);
  return {static_cast<int64_t>(state_.seed), static_cast<int64_t>(first)};
}

Blocks Generator::reserve_words() {
  const std::lock_guard<std::mutex> lock(mutex_);
  at::Philox4_32 engine(state_.seed, /*subsequence=*/0, state_.offset);
  for (int i = 1; i <= 4; ++i) state_.words[i] = engine();
  state_.offset += 1;
  const auto join = [](uint64_t high, uint64_t low) {
    return static_cast<int64_t>(high << 32 | low);
  };
  return {join(state_.words[1], state_.words[2]), join(state_.words[3], state_.words[4])};
}

Generator* Generator::clone_impl() const {
  auto* copy = new Generator();
  copy->state_ = state_;
  return copy;
}

const at::Generator& default_generator() {
  static const at::Generator generator = [] {
    auto g = at::make_generator<Generator>();
    g.seed();
    return g;
  }();
  return generator;
}

namespace {
thread_local at::Generator in_place_of_default;
}

Generator& generator_for(const std::optional<at::Generator>& given) {
  const auto& otherwise = in_place_of_default.defined() ? in_place_of_default : default_generator();
  return *at::get_generator_or_default<Generator>(given, otherwise);
}

DrawFrom::DrawFrom(Blocks blocks) : before_(in_place_of_default) {
  auto generator = at::make_generator<Generator>(static_cast<uint64_t>(blocks.seed));
  generator.set_offset(static_cast<uint64_t>(blocks.first));
  in_place_of_default = std::move(generator);
}

DrawFrom::~DrawFrom() { in_place_of_default = std::move(before_); }

std::unique_lock<std::mutex> seed_backing_default() {
  static std::mutex mutex;
  std::unique_lock<std::mutex> alone(mutex);
  const auto blocks = generator_for(std::nullopt).reserve_words();
  auto generator = at::globalContext().defaultGenerator(backing().device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(static_cast<uint64_t>(blocks.seed));
  return alone;
}

at::Generator backing_generator(const std::optional<at::Generator>& given, int64_t elements) {
  const auto blocks = generator_for(given).reserve((elements + 3) / 4);
  const auto seed = static_cast<uint64_t>(blocks.seed);
  const auto first = static_cast<uint64_t>(blocks.first);

  thread_local at::Generator continued = engine().new_generator();
  continued.set_current_seed(first == 0 ? seed : mix(seed ^ mix(first)));
  return continued;
}

}  // namespace openmps
