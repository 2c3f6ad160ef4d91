#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>

#include <cstring>

#include "backing.h"

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

at::Generator new_backing_generator() {
  return backing().is_cpu() ? at::detail::createCPUGenerator()
                            : at::globalContext()
                                  .getAcceleratorHooksInterface(backing().device.type())
                                  .getNewGenerator(backing().device.index());
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

std::pair<uint64_t, uint64_t> Generator::reserve(uint64_t blocks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto begin = state_.offset;
  state_.offset += blocks;
  return {state_.seed, begin};
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

at::Generator backing_generator(const std::optional<at::Generator>& given, int64_t elements) {
  const auto& mps = given.has_value() && given->defined() ? *given : default_generator();
  TORCH_CHECK(mps.device().is_mps(), "Expected a 'mps' device type for generator but found '",
              mps.device().type(), "'");
  const auto blocks = static_cast<uint64_t>(elements + 3) / 4;
  const auto [seed, offset] = mps.get<Generator>()->reserve(blocks);

  thread_local at::Generator stream = new_backing_generator();
  stream.set_current_seed(offset == 0 ? seed : mix(seed ^ mix(offset)));
  return stream;
}

}  // namespace openmps
