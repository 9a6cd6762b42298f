"""The tasks. Each module has ``jobs``, what to ask whom, and ``checks``, what must hold among the answers."""
