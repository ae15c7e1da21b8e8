"""One module a change, in the order of their numbers; a published one is never edited."""
