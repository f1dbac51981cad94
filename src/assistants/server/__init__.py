"""What runs inside LangGraph Server: authentication, the door, the routes."""
