"""The experiments of Acharya et al., "Context-Aware Local Differential Privacy"."""
