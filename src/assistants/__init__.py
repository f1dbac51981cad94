"""Who gets which agent, from when: the control plane."""
