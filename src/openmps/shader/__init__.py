"""What torch.mps.compile_shader returns."""
