"""What the application does, step by step, over the ports of the domain."""
