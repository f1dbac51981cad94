"""History integrity: whatever a thread holds, what a model is sent is valid for the strictest endpoint."""
