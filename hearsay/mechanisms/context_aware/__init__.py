"""Context-aware privacy: some values need more protection than others."""
