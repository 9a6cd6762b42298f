"""The paper's tables and figures, computed again and set beside the published ones."""
