"""One resource a module; `serving.app` puts them together."""
