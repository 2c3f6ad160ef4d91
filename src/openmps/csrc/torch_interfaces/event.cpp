#include "torch_interfaces/event.h"

#include <atomic>

#include "engine/reports.h"

namespace openmps {
namespace {

std::atomic<uint64_t> g_records{0};

}  // namespace

void Event::record() {
  if (event_ == nullptr) event_ = engine().new_event(timing_);
  event_->record();
  order_ = ++g_records;
}

void Event::wait() const {
  if (event_ != nullptr) event_->wait();
}

void Event::synchronize() const {
  if (event_ != nullptr) event_->synchronize();
}

bool Event::finished() const { return event_ == nullptr || event_->finished(); }

double Event::milliseconds_since(const Event& start) const {
  TORCH_CHECK(event_ != nullptr && start.event_ != nullptr, "an event was never recorded");
  finish();  // natively this waits for the whole stream; an event's synchronize() does not
  return event_->milliseconds_since(*start.event_);
}

EventPool& EventPool::instance() {
  static auto* pool = new EventPool();  // outlives every Python event
  return *pool;
}

uint32_t EventPool::acquire(bool timing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint32_t id = 0;
  if (free_.empty()) {
    id = ++last_;
  } else {
    id = free_.back();
    free_.pop_back();
  }
  live_[id] = std::make_shared<Event>(timing);
  return id;
}

void EventPool::release(uint32_t id) {
  find(id);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (live_.erase(id) != 0) free_.push_back(id);
}

std::shared_ptr<Event> EventPool::find(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(id);
  TORCH_CHECK(found != live_.end(), "Invalid Event ID: ", id);
  return found->second;
}

double elapsed_milliseconds(uint32_t start_id, uint32_t end_id) {
  const auto start = EventPool::instance().find(start_id);
  const auto end = EventPool::instance().find(end_id);
  TORCH_CHECK(start->timing() && end->timing(),
              "Events were not created with argument 'enable_timing=True'");
  TORCH_CHECK(start->recorded() && end->recorded_after(*start), "End event ", end_id,
              " was not recorded after start event ", start_id);
  return end->milliseconds_since(*start);
}

}  // namespace openmps
