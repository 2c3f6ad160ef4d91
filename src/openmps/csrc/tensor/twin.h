// Every mps storage has a twin: a storage of the backing device over the same bytes. The twin owns
// the bytes; the mps storage's DataPtr owns the twin (its context). So an operator that wants the
// bytes on the backing device pays for one tensor header, never for a copy or a new storage.
#pragma once

#include <c10/core/Storage.h>

namespace openmps {

// Who frees and resizes mps storages (allocator.cpp). Read for every result.
extern c10::Allocator* g_mps_allocator;

// A DataPtr on mps over fresh backing memory, twin included.
c10::DataPtr allocate_with_twin(size_t bytes);

// The same over memory that is there.
c10::DataPtr with_twin(c10::DataPtr backing, size_t bytes);

// The twin, or nullptr for bytes that came from elsewhere (from_blob, DLPack).
c10::StorageImpl* twin_of(const c10::StorageImpl& mps) noexcept;

// Lets PyTorch share the bytes until somebody writes (copy-on-write), for which it wants a DataPtr
// whose context is its address. False if that cannot be had.
bool make_shareable(c10::StorageImpl& mps);

// A backing storage over the bytes of `mps`: its twin, or a borrowed view that keeps `mps` alive.
// If it is written to, what shares its bytes has its own from then on.
c10::Storage backing_storage(const c10::Storage& mps, bool written = true);

// Before somebody writes who does not say so: what shares its bytes keeps them.
void give_own_bytes(const c10::Storage& mps);

// A new mps storage whose twin is `twin`.
c10::Storage mps_storage(c10::Storage twin);

// `backing` becomes the twin of a new mps storage, which takes its place.
void make_twin(c10::Storage& backing);

// After the twin was resized in place: makes the mps storage point at the twin's bytes again.
// Throws a Mac's error if bytes that nobody counted before do not fit.
void follow_twin(c10::StorageImpl& mps);

}  // namespace openmps
