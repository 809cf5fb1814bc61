"""`hearsay doctor`: what may be wrong with an installation, one line each."""
