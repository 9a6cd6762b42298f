"""How a number's place inside its bin follows the places of its parents, and the states of its children."""
