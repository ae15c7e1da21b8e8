"""What goes over the wire, by resource; problems."""
