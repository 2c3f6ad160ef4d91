#include "engine/engine.h"

#include <c10/core/TensorOptions.h>

#include <map>
#include <mutex>

namespace openmps {

Backing g_backing;
Engine* g_engine = nullptr;
bool g_engine_started = false;
FindDriver g_find_driver = nullptr;

namespace {

std::map<std::string, Engine*>& engines() {
  static auto& all = *new std::map<std::string, Engine*>();  // filled while libraries are loaded
  return all;
}

Backing backing_of(c10::Device device) {
  const auto key = c10::computeDispatchKey(c10::kFloat, c10::kStrided, device);
  const auto component = c10::toBackendComponent(key);
  const auto mps_component = c10::BackendComponent::MPSBit;
  Backing b;
  b.device = device;
  b.key = key;
  b.keys = c10::DispatchKeySet(b.key);
  const auto mps =
      c10::DispatchKeySet(mps_component) | c10::getAutocastRelatedKeySetFromBackend(mps_component);
  b.mps_bits = mps.raw_repr();
  b.backing_bits = c10::DispatchKeySet(component).raw_repr();
  b.foreign_bits = b.backing_bits | c10::getAutocastRelatedKeySetFromBackend(component).raw_repr();
  const auto plain = mps | c10::DispatchKeySet(c10::DispatchKey::MPS) |
                     c10::getAutogradRelatedKeySetFromBackend(mps_component);
  b.plain_bits = plain.raw_repr();
  return b;
}

}  // namespace

bool register_engine(Engine* engine) {
  engines()[engine->name()] = engine;
  return true;
}

void choose_engine(const std::string& name) {
  const auto found = engines().find(name);
  if (found == engines().end()) {
    std::string known;
    for (const auto& [other, _] : engines()) known += (known.empty() ? "" : ", ") + other;
    TORCH_CHECK(false, "openmps has no engine '", name, "'; the engines are ", known);
  }
  g_engine = found->second;
  g_backing = backing_of(g_engine->device());
  g_engine_started = !g_engine->starts_at_first_use();
}

void start_engine() {
  static std::once_flag once;
  std::call_once(once, [] {
    engine().start();
    g_engine_started = true;
  });
}

void synchronize_engine() {
  if (g_engine_started) engine().synchronize();
}

}  // namespace openmps

// For engines that come with another library.
extern "C" __attribute__((visibility("default"))) void openmps_register_engine(
    openmps::Engine* engine) {
  openmps::register_engine(engine);
}
