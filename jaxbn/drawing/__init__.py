"""Pictures, pages and notebook displays."""
