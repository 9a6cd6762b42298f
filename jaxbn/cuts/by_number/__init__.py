"""The best number of bins under a charge for it: prices, the hull that they show, and layers where doubt is left."""
