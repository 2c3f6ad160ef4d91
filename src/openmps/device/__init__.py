"""Makes torch believe in `mps`: builds and loads the core, patches torch, activates."""
