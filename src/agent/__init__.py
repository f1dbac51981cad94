"""What an agent does: the data plane."""
