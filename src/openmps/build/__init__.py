"""Source text in, loadable file out, once. Knows nothing about tensors or Metal."""
