"""Survey files before there is a survey: `hearsay init`, `hearsay validate`, `hearsay schema`."""
