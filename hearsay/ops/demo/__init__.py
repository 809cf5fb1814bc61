"""`hearsay demo`: the whole pipeline on simulated devices, its answers beside the truth."""
